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

type Code = 'file_changed' | 'file_not_read' | 'file_partly_read' | null
type Case = [name: string, prepare: () => unknown, code: Code]

const CASES: Case[] = [
  ['a new file', () => rmSync(join(bench.workspace, 'f')), null],
  ['an empty file', () => bench.write('f', ''), null],
  ['a file that was not read', () => null, 'file_not_read'],
  [
    'a file that was only searched',
    () => bench.json('search_files', { pattern: 'old' }),
    'file_not_read',
  ],
  ['a file that was read', read, null],
  [
    'a file that was read in an earlier turn',
    async () => {
      await read()
      nextTurn()
    },
    null,
  ],
  [
    'a file that was read before a restart',
    async () => {
      await read()
      bench.ctx.chatMemo = new Map()
    },
    'file_not_read',
  ],
  [
    'a file of which a part was read',
    async () => {
      bench.write('f', 'old\nmore\n')
      await page(1, 1)
    },
    'file_partly_read',
  ],
  [
    'a file that was read in parts, in any order',
    async () => {
      bench.write('f', '1\n2\n3\n4\n')
      for (const at of [4, 1, 2]) await page(at, 1)
      await page(2, 2)
    },
    null,
  ],
  [
    'a file that was read in parts, one of which changed',
    async () => {
      bench.write('f', '1\n2\n')
      await page(1, 1)
      bench.write('f', 'mine\n2\n')
      await page(2, 1)
    },
    'file_partly_read',
  ],
  [
    'a file with a line that was shown in part',
    async () => {
      bench.write('f', `a\n${'x'.repeat(5_000)}\n`)
      await read()
    },
    'file_partly_read',
  ],
  [
    'a file that was read in part and patched',
    async () => {
      bench.write('f', 'old\n2\n')
      await page(1, 1)
      await edit('old', 'patched')
      await page(2, 1)
    },
    'file_partly_read',
  ],
  [
    'a file that was read in part, patched, and read',
    async () => {
      bench.write('f', 'old\n2\n')
      await page(1, 1)
      await edit('old', 'patched')
      await read()
    },
    null,
  ],
  [
    'a large file of which a page was read',
    async () => {
      bench.write('f', 'line\n'.repeat(2_200_000))
      await page(1, 500)
    },
    'file_partly_read',
  ],
  [
    'a file that was saved since',
    async () => {
      await read()
      bench.write('f', 'two hours of work\n')
    },
    'file_changed',
  ],
  [
    'a file that was saved since, in an earlier turn',
    async () => {
      await read()
      nextTurn()
      bench.write('f', 'two hours of work\n')
    },
    'file_changed',
  ],
  [
    'a file saved with the same size and time',
    async () => {
      const at = new Date(1_700_000_000_000)
      utimesSync(join(bench.workspace, 'f'), at, at)
      await read()
      bench.write('f', 'OLD\n')
      utimesSync(join(bench.workspace, 'f'), at, at)
    },
    'file_changed',
  ],
  [
    'a file that was touched only',
    async () => {
      await read()
      utimesSync(join(bench.workspace, 'f'), 1, 1)
    },
    null,
  ],
  [
    'a file that was emptied by someone',
    async () => {
      await read()
      bench.write('f', '')
    },
    null,
  ],
  [
    'its own file',
    async () => {
      rmSync(join(bench.workspace, 'f'))
      await overwrite()
    },
    null,
  ],
  [
    'its own file, changed since',
    async () => {
      rmSync(join(bench.workspace, 'f'))
      await overwrite()
      bench.write('f', 'mine\n')
    },
    'file_changed',
  ],
  [
    'a file that it read and patched',
    async () => {
      await read()
      await edit('old', 'patched')
    },
    null,
  ],
  ['a file that it patched without reading it', () => edit('old', 'patched'), 'file_not_read'],
  [
    'a file that changed and was patched',
    async () => {
      await read()
      bench.write('f', 'old\nmine\n')
      await edit('old', 'patched')
    },
    'file_changed',
  ],
  [
    'a file that changed and was read again',
    async () => {
      await read()
      bench.write('f', 'mine\n')
      await read()
    },
    null,
  ],
  [
    'a file that was deleted and made again by someone',
    async () => {
      await read()
      rmSync(join(bench.workspace, 'f'))
      bench.write('f', 'mine\n')
    },
    'file_changed',
  ],
  [
    'a binary file that was looked at',
    async () => {
      bench.write('f', Buffer.from([1, 0, 2]))
      await read().catch(() => null)
    },
    null,
  ],
  ['a binary file', () => bench.write('f', Buffer.from([1, 0, 2])), 'file_not_read'],
  ['a large file', () => bench.write('f', Buffer.alloc(11 * 1024 * 1024, 'a')), 'file_not_read'],
  [
    'a file read by another name',
    async () => {
      symlinkSync('f', join(bench.workspace, 'link'))
      await bench.json('read_file', { path: 'link' })
    },
    null,
  ],
]
for (const [name, prepare, code] of CASES)
  test(`write_file over ${name}`, async () => {
    bench.write('f', 'old\n')
    await prepare()
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
