/** The files at an earlier step: rejections, steps of tools and commands, changes since, lost versions, a kill. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { pastStateOf, type Point } from '../../../lib/workspaces/checkpoints/past-files.ts'
import { DEFAULT_LIMITS } from '../../../lib/workspaces/checkpoints/scan-workspace.ts'
import type { TurnRecord } from '../../../lib/workspaces/checkpoints/records.ts'
import { createTurns } from '../../lib/workspaces/checkpoints/_turns.ts'

const test = suite('checkpoints: files at a step')

const SESSION = 'aaaaaaaaaaaa'
const start = (stepMs = Infinity) =>
  createTurns({ clock: systemClock, limits: { ...DEFAULT_LIMITS, stepMs } })
type Turns = ReturnType<typeof start>

/** Runs one tool call. */
const step = async (
  recorder: ReturnType<Turns['open']>['recorder'],
  id: string,
  target: readonly string[] | 'workspace' | null,
  work: () => void,
) => {
  recorder.callStarted(id)
  if (target) await recorder.beforeChange(target)
  work()
  recorder.callEnded(id)
}

const reader = (turns: Turns, checkpoint: string) => ({
  list: async (point: Point) => {
    const { files } = await turns.service.now.filesAt(turns.home, SESSION, checkpoint, point)
    return Object.fromEntries(files.map(({ path, state }) => [path, state]))
  },
  read: (point: Point, path: string) =>
    turns.service.now.fileAt(turns.home, SESSION, checkpoint, point, path),
})

/** A file tool, a command, both again, and calls that change nothing. */
const fourSteps = async (turns: Turns) => {
  turns.write('a.txt', 'one\n')
  turns.write('still.txt', 'still\n')
  const { recorder, streamId } = turns.open()
  const a = [turns.at('a.txt')]
  await step(recorder, 'c0', null, () => undefined)
  await step(recorder, 'c1', a, () => turns.write('a.txt', 'two\n'))
  await step(recorder, 'c2', 'workspace', () =>
    turns.shell('echo b > b.txt; mkdir -p sub; echo c > sub/c'),
  )
  await step(recorder, 'c3', 'workspace', () => undefined)
  await step(recorder, 'c4', a, () => turns.write('a.txt', 'three\n'))
  await step(recorder, 'c5', 'workspace', () => turns.shell('rm b.txt; echo d >> sub/c'))
  await recorder.end()
  return streamId
}

const rejects = async (work: () => Promise<unknown>, message: RegExp) => {
  const error = await work().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.match(String((error as Error | null)?.message), message)
}

test('rejects unknown steps, other sessions, paths outside, and lost versions', async () => {
  const turns = start()
  const id = await fourSteps(turns)
  writeFileSync(join(turns.root, 'secret'), 'secret')
  turns.write('hidden.txt', 'secret')
  const { list, read } = reader(turns, id)
  await rejects(() => list({ call: 'c9' }), /Step not found/)
  await rejects(() => list({ call: 'c0' }), /Step not found/)
  await rejects(() => read({ call: '__proto__' }, 'a.txt'), /Step not found/)
  await rejects(() => reader(turns, 'f'.repeat(32)).list('after'), /Checkpoint not found/)
  const other = turns.service.now.filesAt(turns.home, 'bbbbbbbbbbbb', id, 'after')
  await rejects(() => other, /Checkpoint not found/)
  for (const path of [
    '../secret',
    join(turns.root, 'secret'),
    'sub/../../secret',
    'hidden.txt',
    '.git/config',
    '.',
    'sub',
    'none',
  ])
    await rejects(() => read('before', path), /not found/)
  const dir = join(turns.home.dir, 'checkpoints')
  turns.shell(`rm -r ${dir}/*/webui/blobs/*`)
  await rejects(() => read({ call: 'c1' }, 'a.txt'), /no longer exists/)
  await turns.close()
})

test('shows the files after each call, in comparison with now', async () => {
  const turns = start()
  const id = await fourSteps(turns)
  const { list, read } = reader(turns, id)
  const [turn] = await turns.list()
  assert.equal(
    turn?.steps?.map(({ calls, files }) => [calls, files?.map(([path]) => path)]),
    [
      [['c1'], ['a.txt']],
      [['c2'], ['b.txt', 'sub/c']],
      [['c4'], ['a.txt']],
      [['c5'], ['b.txt', 'sub/c']],
    ],
  )
  const same = { 'still.txt': 'same' }
  assert.equal(await list('before'), { 'a.txt': 'changed', 'sub/c': 'later', ...same })
  assert.equal(await list({ call: 'c1' }), { 'a.txt': 'changed', 'sub/c': 'later', ...same })
  const two = { 'a.txt': 'changed', 'b.txt': 'gone', 'sub/c': 'changed', ...same }
  assert.equal(await list({ call: 'c2' }), two)
  assert.equal(await list({ call: 'c4' }), { ...two, 'a.txt': 'same' })
  assert.equal(await list('after'), { 'a.txt': 'same', 'sub/c': 'same', ...same })
  assert.is((await read('before', 'a.txt')).text, 'one\n')
  const after = await read({ call: 'c1' }, 'a.txt')
  assert.is(after.text, 'two\n')
  assert.match(after.diff, '-two\n+three\n')
  assert.is((await read({ call: 'c2' }, 'sub/c')).text, 'c\n')
  assert.is((await read('after', 'sub/c')).text, 'c\nd\n')
  assert.equal((await read({ call: 'c1' }, 'sub/c')).text, null)
  assert.is((await read({ call: 'c1' }, 'still.txt')).text, 'still\n')
  await turns.close()
})

test('says that it cannot know a file that changed outside of turns, and finds later turns', async () => {
  const turns = start()
  const id = await fourSteps(turns)
  await turns.turn(['still.txt'], () => turns.write('still.txt', 'moved\n'))
  turns.write('mine.txt', 'mine\n')
  turns.write('a.txt', 'by hand\n')
  const { list, read } = reader(turns, id)
  const states = await list({ call: 'c4' })
  assert.equal(
    [states['still.txt'], states['mine.txt'], states['a.txt']],
    ['changed', 'unknown', 'changed'],
  )
  assert.is((await read({ call: 'c4' }, 'still.txt')).text, 'still\n')
  assert.equal(await read({ call: 'c4' }, 'mine.txt'), {
    path: 'mine.txt',
    text: null,
    diff: '',
    binary: false,
    truncated: false,
    state: 'unknown',
  })
  await turns.close()
})

test('records calls that ran together as one step, and keeps steps after a kill', async () => {
  const turns = start()
  turns.write('a.txt', 'one\n')
  const { recorder, streamId } = turns.open()
  recorder.callStarted('p1')
  recorder.callStarted('p2')
  await recorder.beforeChange([turns.at('a.txt')])
  turns.write('a.txt', 'two\n')
  recorder.callEnded('p1')
  turns.write('a.txt', 'three\n')
  recorder.callEnded('p2')
  await step(recorder, 'c2', [turns.at('a.txt')], () => turns.write('a.txt', 'four\n'))
  await turns.service.now.close()
  turns.restart()
  await turns.service.now.recover([turns.home])
  const [turn] = await turns.list()
  assert.equal(
    [turn?.interrupted, turn?.steps?.map(({ calls }) => calls)],
    [true, [['p1', 'p2'], ['c2']]],
  )
  assert.is((await reader(turns, streamId).read({ call: 'p1' }, 'a.txt')).text, 'three\n')
  await turns.close()
})

test('after a slow scan, the files after later commands are unknown, and the turn is undone as a whole', async () => {
  const turns = start(0)
  const id = await fourSteps(turns)
  const { list } = reader(turns, id)
  assert.is((await list({ call: 'c2' }))['b.txt'], 'gone')
  assert.is((await list({ call: 'c5' }))['b.txt'], 'unknown')
  await turns.restore(id)
  assert.is(readFileSync(turns.at('a.txt'), 'utf8'), 'one\n')
  await turns.close()
})

test('the end of another turn deletes no version that a running turn will need', async () => {
  const turns = start()
  turns.write('a.txt', 'one\n')
  turns.write('b.txt', 'one\n')
  const { recorder, streamId } = turns.open()
  const a = [turns.at('a.txt')]
  await step(recorder, 'c1', a, () => turns.write('a.txt', 'two\n'))
  await step(recorder, 'c2', 'workspace', () => turns.shell('echo two > b.txt'))
  await step(recorder, 'c3', 'workspace', () => turns.shell('echo three > b.txt'))
  await step(recorder, 'c4', a, () => turns.write('a.txt', 'three\n'))
  await turns.turn(['c.txt'], () => turns.write('c.txt', 'c'), { maxTurns: 1 })
  await recorder.end()
  const { read } = reader(turns, streamId)
  const texts = ['c1', 'c2', 'c3', 'c4'].flatMap(call =>
    ['a.txt', 'b.txt'].map(async path => (await read({ call }, path)).text),
  )
  const expected = ['two one', 'two two', 'two three', 'three three'].join(' ').split(' ')
  assert.equal(
    await Promise.all(texts),
    expected.map(text => `${text}\n`),
  )
  await turns.restore(streamId)
  assert.equal(
    [...'ab'].map(name => readFileSync(turns.at(`${name}.txt`), 'utf8')),
    ['one\n', 'one\n'],
  )
  await turns.close()
})

test('an unrecorded step makes the files of the turn unknown until they are recorded', () => {
  const version = (id: string) => ({
    kind: 'file' as const,
    perm: 0o644,
    id,
  })
  const turn: TurnRecord = {
    ...{
      id: 'a'.repeat(32),
      session_id: SESSION,
      message_id: 'm1',
      title: '',
      workspace: '/w',
      at: 10,
    },
    ...{
      undo_of: null,
      ended_at: 20,
      folders_made: [],
      folders_gone: [],
      notes: [],
      interrupted: false,
    },
    changes: ['a', 'b'].map(path => ({
      path,
      before: version('1'),
      after: version('9'),
      added: 1,
      removed: 1,
    })),
    steps: [
      {
        calls: ['c1'],
        at: 11,
        files: [
          ['a', version('2')],
          ['temporary', version('3')],
        ],
      },
      { calls: ['c2'], at: 12, files: null },
      {
        calls: ['c3'],
        at: 13,
        files: [
          ['a', version('4')],
          ['temporary', null],
        ],
      },
    ],
  }
  const at = (call: string) => {
    const { files, unknown } = pastStateOf([turn], turn, { call })
    return [files.get('a')?.id, files.get('temporary')?.id, [...unknown]]
  }
  assert.equal(at('c1'), ['2', '3', []])
  assert.equal(at('c2'), ['2', '3', ['a', 'temporary', 'b']])
  assert.equal(at('c3'), ['4', undefined, ['b']])
})

test.run()
