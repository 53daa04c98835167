/** The tools overwrite only what the model knows: work of the person between a read and a write is never lost. */
import { existsSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { languageOf } from '../../../../lib/agent/code/languages.ts'
import { runTools } from '../../../../lib/agent/run-tools.ts'
import { executeCode } from '../../../../lib/agent/tools/execute-code.ts'
import { toolbox } from '../../../../lib/agent/tools/toolbox.ts'
import type { AgentRequest } from '../../../../lib/agent/types.ts'
import { type Bench, createBench } from './_context.ts'

const test = suite('files that the model knows')

let bench: Bench
test.before.each(() => {
  bench = createBench('/var/tmp')
  bench.ctx.chatMemo = new Map()
})
test.after.each(() => bench.close())

const text = () => readFileSync(join(bench.workspace, 'f'), 'utf8')
const read = () => bench.json('read_file', { path: 'f' })
const page = (offset: number, limit: number) =>
  bench.json('read_file', { path: 'f', offset, limit })
const overwrite = () => bench.json('write_file', { path: 'f', content: 'new\n' })
const edit = (old: string, fresh: string) =>
  bench.json('patch', { path: 'f', old_string: old, new_string: fresh })
const nextTurn = () => {
  bench.ctx.memo = new Map()
}

const put = (text: string | Buffer) => void bench.write('f', text)
const at = (seconds: number) => utimesSync(join(bench.workspace, 'f'), seconds, seconds)

/** What the agent, and others, do with the file. */
const STEPS: Readonly<Record<string, () => unknown>> = {
  read: () => read().catch(() => null),
  page1: () => page(1, 1),
  page2: () => page(2, 1),
  'page2-3': () => page(2, 2),
  page4: () => page(4, 1),
  search: () => bench.json('search_files', { pattern: 'old' }),
  patch: () => edit('old', 'patched'),
  overwrite: () => overwrite(),
  readLink() {
    symlinkSync('f', join(bench.workspace, 'link'))
    return bench.json('read_file', { path: 'link' })
  },
  nextTurn: () => nextTurn(),
  restart() {
    bench.ctx.chatMemo = new Map()
  },
  delete: () => rmSync(join(bench.workspace, 'f')),
  empty: () => put(''),
  save: () => put('two hours of work\n'),
  saveOLD: () => put('OLD\n'),
  grow: () => put('old\nmine\n'),
  twoLines: () => put('old\n2\n'),
  otherTwoLines: () => put('mine\n2\n'),
  fourLines: () => put('1\n2\n3\n4\n'),
  longLine: () => put(`a\n${'x'.repeat(5_000)}\n`),
  manyLines: () => put('line\n'.repeat(2_200_000)),
  large: () => put(Buffer.alloc(11 * 1024 * 1024, 'a')),
  binary: () => put(Buffer.from([1, 0, 2])),
  touch: () => at(1),
  touchAgain: () => at(1_700_000_000),
}

type Code = 'file_changed' | 'file_not_read' | 'file_partly_read' | null

const CASES: [steps: string, code: Code][] = [
  ['delete', null],
  ['empty', null],
  ['', 'file_not_read'],
  ['search', 'file_not_read'],
  ['read', null],
  ['read nextTurn', null],
  ['read restart', 'file_not_read'],
  ['twoLines page1', 'file_partly_read'],
  ['fourLines page4 page1 page2 page2-3', null],
  ['twoLines page1 otherTwoLines page2', 'file_partly_read'],
  ['longLine read', 'file_partly_read'],
  ['twoLines page1 patch page2', 'file_partly_read'],
  ['twoLines page1 patch read', null],
  ['manyLines page1', 'file_partly_read'],
  ['read save', 'file_changed'],
  ['read nextTurn save', 'file_changed'],
  ['touchAgain read saveOLD touchAgain', 'file_changed'],
  ['read touch', null],
  ['read empty', null],
  ['delete overwrite', null],
  ['delete overwrite save', 'file_changed'],
  ['read patch', null],
  ['patch', 'file_not_read'],
  ['read grow patch', 'file_changed'],
  ['read save read', null],
  ['read delete save', 'file_changed'],
  ['binary read', null],
  ['binary', 'file_not_read'],
  ['large', 'file_not_read'],
  ['readLink', null],
]
for (const [steps, code] of CASES)
  test(`write_file after: ${steps}`, async () => {
    bench.write('f', 'old\n')
    for (const step of steps.split(' ').filter(Boolean)) await STEPS[step]?.()
    const before = existsSync(join(bench.workspace, 'f')) ? text() : null
    const result = await bench.use('write_file', { path: 'f', content: 'new\n' })
    const { code: found = null } = JSON.parse(result.content)
    assert.equal([found, result.isError ?? false], [code, code !== null])
    assert.is(text(), code === null ? 'new\n' : before)
  })

test('a refused write asks for no approval and records no change', async () => {
  writeFileSync(join(bench.root, 'outside.txt'), 'mine')
  let recorded = 0
  bench.ctx.beforeChange = async () => void recorded++
  await bench.use('write_file', { path: '../outside.txt', content: 'x' })
  assert.equal([bench.asked.length, recorded], [0, 0])
})

test('a file that the person saves while the approval is open is kept', async () => {
  const path = join(bench.root, 'outside.txt')
  writeFileSync(path, 'old')
  await bench.json('read_file', { path })
  bench.ctx.approve = async () => {
    writeFileSync(path, 'mine')
    return 'once'
  }
  assert.is((await bench.json('write_file', { path, content: 'x' })).code, 'file_changed')
  assert.is(readFileSync(path, 'utf8'), 'mine')
  const fresh = join(bench.root, 'fresh.txt')
  bench.ctx.approve = async () => {
    writeFileSync(fresh, 'mine')
    return 'once'
  }
  assert.is((await bench.json('write_file', { path: fresh, content: 'x' })).code, 'file_not_read')
  assert.is(readFileSync(fresh, 'utf8'), 'mine')
})

test('a patch of a file that is saved meanwhile writes nothing', async () => {
  bench.write('f', 'old\n')
  bench.ctx.beforeChange = async () => void bench.write('f', 'old\nmine\n')
  assert.is((await edit('old', 'new')).code, 'file_changed')
  assert.is(text(), 'old\nmine\n')
})

test('a patch keeps what others changed, and says so', async () => {
  bench.write('f', 'old\nend\n')
  await read()
  bench.write('f', 'old\nmine\nend\n')
  assert.ok((await edit('old', 'new')).warning)
  assert.is(text(), 'new\nmine\nend\n')
})

test('a patch deletes no file that changed since it was read', async () => {
  const patch = '*** Begin Patch\n*** Delete File: f\n*** End Patch'
  bench.write('f', 'old\n')
  await read()
  bench.write('f', 'mine\n')
  assert.is((await bench.json('patch', { mode: 'patch', patch })).code, 'file_changed')
  assert.is(text(), 'mine\n')
  await read()
  assert.is((await bench.json('patch', { mode: 'patch', patch })).success, true)
})

test('a moved file is as known as it was', async () => {
  const patch = '*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-old\n+new\n*** End Patch'
  for (const [first, code] of [
    [read, undefined],
    [() => null, 'file_not_read'],
  ] as const) {
    bench.ctx.chatMemo = new Map()
    bench.write('f', 'old\n')
    rmSync(join(bench.workspace, 'g'), { force: true })
    await first()
    await bench.json('patch', { mode: 'patch', patch })
    assert.is((await bench.json('write_file', { path: 'g', content: 'x' })).code, code)
  }
})

test('unsaved changes of an editor are not overwritten either', async () => {
  bench.write('f', 'old\n')
  let unsaved: string | null = null
  bench.ctx.turn.editor = { read: async () => unsaved, write: async () => undefined }
  await read()
  unsaved = 'typed\n'
  assert.is((await overwrite()).code, 'file_changed')
  await read()
  assert.is((await overwrite()).code, undefined)
})

test('a script is refused too, and its result says what was not written', async () => {
  const language = languageOf(process.env.PATH ?? '')
  if (!language) {
    console.log('skipped: there is neither Python nor Node')
    return
  }
  bench.write('f', 'mine\n')
  bench.say('once')
  bench.ctx.toolNames = ['write_file']
  bench.ctx.call = (name, args) => bench.use(name, args)
  const tool = executeCode(language, { timeoutMs: 30_000, maxCalls: 10 })
  const code = language.name === 'Python' ? 'write_file("f", "x")' : 'await write_file("f", "x")'
  const { content } = await tool.run(bench.ctx, { code })
  assert.is(text(), 'mine\n')
  assert.equal(JSON.parse(content).not_written?.length, 1, content)
})

test('a file is not known whose text did not fit among the results of a message', async () => {
  const calls = ['a', 'b', 'c'].map(id => {
    bench.write(id, `${'x'.repeat(80)}\n`.repeat(800))
    const written = JSON.stringify({ path: id, limit: 800 })
    return { id, type: 'function', function: { name: 'read_file', arguments: written } } as const
  })
  const lengths: number[] = []
  const request = { ...bench.ctx.turn, tools: toolbox() } as unknown as AgentRequest
  const {
    signal,
    memo,
    chatMemo = memo,
    turn: { clock },
  } = bench.ctx
  await runTools(
    calls,
    { request, emit: () => undefined, signal, memo, chatMemo, clock },
    (_, { content }) => void lengths.push(content.length),
  )
  const codes = []
  for (const { id } of calls)
    codes.push((await bench.json('write_file', { path: id, content: 'new\n' })).code)
  assert.equal(
    lengths.map(length => length > 60_000),
    [true, true, false],
  )
  assert.equal(codes, [undefined, undefined, 'file_partly_read'])
})

test.run()
