/** Parts of a file are restored exactly, in any order, beside other changes, or not at all. */
import { chmodSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createTwoFilesPatch } from 'diff'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { hunksTakenBack, withoutHunks } from '../../../lib/workspaces/checkpoints/hunks.ts'
import { UserError } from '../../../lib/errors.ts'
import { createRandom } from '../../_random.ts'
import { createTurns, snapshot } from '../../lib/workspaces/checkpoints/_turns.ts'

type State = { turns: ReturnType<typeof createTurns> }
const test = suite<State>('undo of hunks')
test.before.each(state => {
  state.turns = createTurns()
})
test.after.each(({ turns }) => turns.close())

const refusal = async (work: Promise<unknown>): Promise<UserError> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.instance(error, UserError)
  return error as UserError
}

const headersIn = (diff: string): string[] => diff.match(/^@@ .*$/gm) ?? []

/** 30 numbered lines; the changed ones get this ending. */
const numbered = (changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: 30 }, (_, at) => `line ${at + 1}${changed[at + 1] ?? ''}\n`).join('')

/** One turn that changes lines 3, 15, and 28 of a file. */
const change = async (turns: State['turns']) => {
  turns.write('a.txt', numbered())
  const { id } = await turns.turn(['a.txt'], () =>
    turns.write('a.txt', numbered({ 3: ' new', 15: ' new\nmore', 28: ' new' })),
  )
  const headers = headersIn((await turns.diff(id, 'a.txt')).diff)
  assert.is(headers.length, 3)
  return {
    id,
    headers,
    text: () => readFileSync(turns.at('a.txt'), 'utf8'),
    undo: (...hunks: string[]) => turns.restore(id, { paths: ['a.txt'], hunks }),
  }
}

test('rejects unknown hunks, hunks without one file, and a running turn in a folder around it', async ({
  turns,
}) => {
  const { id, headers, undo, text } = await change(turns)
  const before = text()
  assert.is((await refusal(undo('@@ -1,2 +1,2 @@'))).kind, 'missing')
  assert.is((await refusal(undo(headers[0]!, 'x'))).kind, 'missing')
  const several = { paths: ['a.txt', 'b.txt'], hunks: headers }
  assert.is((await refusal(turns.restore(id, several))).kind, 'invalid')
  assert.is((await refusal(turns.restore(id, { hunks: headers }))).kind, 'invalid')
  for (const workspace of [turns.root, turns.workspace]) {
    const { recorder } = turns.open({ workspace })
    const error = await refusal(undo(headers[0]!))
    assert.is(error.kind, 'conflict')
    assert.match(error.message, 'A turn is running')
    await recorder.end()
  }
  assert.is(text(), before)
  await undo(headers[0]!)
  assert.not(text() === before)
})

test('restores one hunk, keeps later changes beside it, and reports those in it as a conflict', async ({
  turns,
}) => {
  const { headers, undo, text } = await change(turns)
  const [first = '', second = '', third = ''] = headers
  const edited = numbered({ 3: ' new', 15: ' new\nmore', 28: ' mine' }).replace('line 9\n', '')
  turns.write('a.txt', edited)
  const error = await refusal(undo(third))
  assert.equal([error.kind, error.extra.conflicts], ['conflict', ['a.txt']])
  assert.is(text(), edited)
  await undo(second)
  assert.is(text(), numbered({ 3: ' new', 28: ' mine' }).replace('line 9\n', ''))
  await undo(first)
  assert.is(text(), numbered({ 28: ' mine' }).replace('line 9\n', ''))
})

test('the undo of a hunk can be undone after others were undone, and its record says that it is a part', async ({
  turns,
}) => {
  const { headers, undo, text } = await change(turns)
  const [first = '', second = ''] = headers
  const one = await undo(first)
  assert.equal([one.announced?.partial, one.announced?.redone], [true, false])
  await undo(second)
  assert.is(text(), numbered({ 28: ' new' }))
  const back = await turns.restore(one.checkpoint!)
  assert.equal([back.announced?.partial, back.announced?.redone], [true, true])
  assert.is(text(), numbered({ 3: ' new', 28: ' new' }))
  const again = await turns.restore(back.checkpoint!)
  assert.is(again.announced?.redone, false)
  assert.is(text(), numbered({ 28: ' new' }))
  assert.is((await turns.list()).filter(each => each.is_partial).length, 4)
})

test('permissions come back with the last hunk; binary files, links, and new files are restored as a whole', async ({
  turns,
}) => {
  const { write, at } = turns
  write('run.sh', numbered())
  write('data.bin', Buffer.from([0, 1, 2]))
  write('plain', 'text\n')
  const { id } = await turns.turn('workspace', () => {
    write('run.sh', numbered({ 3: ' new', 28: ' new' }))
    chmodSync(at('run.sh'), 0o755)
    write('data.bin', Buffer.from([0, 9, 2]))
    write('new.txt', 'a\nb\n')
    writeFileSync(at('latin1.txt'), Buffer.from('caf\xe9\n', 'latin1'))
    symlinkSync('plain', at('link'))
  })
  const mode = () => (lstatSync(at('run.sh')).mode & 0o777).toString(8)
  const hunks = headersIn((await turns.diff(id, 'run.sh')).diff)
  await turns.restore(id, { paths: ['run.sh'], hunks: hunks.slice(0, 1) })
  assert.is(mode(), '755')
  await turns.restore(id, { paths: ['run.sh'], hunks: hunks.slice(1) })
  assert.is(mode(), '644')
  assert.is((await refusal(turns.restore(id, { paths: ['data.bin'], hunks }))).kind, 'invalid')
  for (const path of ['new.txt', 'link', 'latin1.txt'])
    assert.equal((await turns.restore(id, { paths: [path], hunks })).restored, [path])
  await turns.restore(id, { paths: ['data.bin'] })
  assert.equal(Object.keys(snapshot(turns.workspace)), ['data.bin', 'plain', 'run.sh'])
})

test('undoing all hunks of files, one after the other in any order, equals undoing the files; redoing all restores each byte', async ({
  turns,
}) => {
  const random = createRandom(11)
  const versions = Array.from({ length: 4 }, (_, at) => ({ path: `${at}.txt`, ...pairOf(random) }))
  for (const { path, before } of versions) turns.write(path, before)
  const start = snapshot(turns.workspace)
  const { id } = await turns.turn(
    versions.map(({ path }) => path),
    () => {
      for (const { path, after } of versions) turns.write(path, after)
    },
  )
  const end = snapshot(turns.workspace)
  const undone: string[] = []
  for (const { path } of versions) {
    const headers = headersIn((await turns.diff(id, path)).diff)
    for (const header of shuffled(headers, random)) {
      const done = await turns.restore(id, { paths: [path], hunks: [header] })
      if (done.checkpoint) undone.push(done.checkpoint)
    }
  }
  assert.ok(undone.length > 4)
  assert.equal(snapshot(turns.workspace), start)
  for (const checkpoint of shuffled(undone, random)) await turns.restore(checkpoint)
  assert.equal(snapshot(turns.workspace), end)
  await turns.restore(id)
  assert.equal(snapshot(turns.workspace), start)
})

type Random = ReturnType<typeof createRandom>

const shuffled = <T>(items: readonly T[], { below }: Random): T[] => {
  const left = [...items]
  return items.map(() => left.splice(below(left.length), 1)[0]!)
}

/** Two versions with mixed line endings, repeated lines, and sometimes no line feed at the end. */
const pairOf = (random: Random): { before: string; after: string } => {
  const { below, pick } = random
  const ending = () => pick(['\n', '\n', '\n', '\r\n'])
  const isRepeated = below(2) === 0
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const text = pick(['a', 'b', '', '}', '  x', 'é', '\r', '@@ -1,1 +1,1 @@', '-- x'])
      return (isRepeated ? text : `${at} ${text}`) + ending()
    })
  const before = lines(20 + below(50))
  const after = [...before]
  for (let edits = 1 + below(5); edits > 0; edits--)
    after.splice(below(after.length + 1), below(3), ...lines(below(3)))
  const join = (all: readonly string[]) =>
    below(3) === 0 ? all.join('').replace(/\r?\n$/, '') : all.join('')
  return { before: join(before), after: join(after) }
}

const headersOf = (before: string, after: string): string[] =>
  headersIn(createTwoFilesPatch('a', 'b', before, after, '', '', { context: 3 }))

test('a hunk is known to be taken back where other lines have changed since', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `${at}`)
  const textOf = (changed: Record<number, string>) =>
    lines.map((line, at) => `${changed[at] ?? line}\n`).join('')
  const before = textOf({})
  const after = textOf({ 3: 'x', 20: 'y' })
  const [first, second] = headersOf(before, after)
  const known = (now: Record<number, string>) => hunksTakenBack({ before, after, now: textOf(now) })
  assert.equal(known({ 3: 'x', 20: 'other', 28: 'more' }), [])
  assert.equal(known({ 20: 'other' }), [first])
  assert.equal(known({ 3: 'x', 10: 'more' }), [second])
  assert.equal(known({ 10: 'more' }), [first, second])
})

test('for 600 random changes, hunks in any order give the earlier text, and each step can be taken back', () => {
  const random = createRandom(7)
  for (let round = 0; round < 600; round++) {
    const { before, after } = pairOf(random)
    const whole = withoutHunks({ before, after, now: after }, 'all')
    assert.equal(whole, { text: before }, `round ${round}: all at once`)
    let now = after
    const taken: string[] = []
    assert.equal(hunksTakenBack({ before, after, now }), [])
    for (const header of shuffled(headersOf(before, after), random)) {
      const next = withoutHunks({ before, after, now }, [header])
      if (typeof next === 'string') throw new Error(`round ${round}: ${next} at ${header}`)
      const back = withoutHunks({ before: now, after: next.text, now: next.text }, 'all')
      assert.equal(back, { text: now }, `round ${round}: back`)
      now = next.text
      taken.push(header)
      const known = hunksTakenBack({ before, after, now })
      assert.equal(known.toSorted(), taken.toSorted(), `round ${round}: taken back`)
    }
    assert.is(now, before, `round ${round}`)
  }
})

test.run()
