/** Diagnostics after an edit: servers that fail in every way, then what is new, with a fake server and TypeScript's own. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { CommandRunner } from '../../../lib/agent/tool-services.ts'
import { createLanguageServers } from '../../../lib/workspaces/diagnostics/diagnostics.ts'
import { isAlive, until } from '../../_wait.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite<{ bench: Bench }>('diagnostics after an edit')
type Bench = ReturnType<typeof createBench>

const FAKE = join(import.meta.dirname, '../../lib/workspaces/diagnostics/_server.mjs')
const NEVER = new AbortController().signal

const createBench = (clock: Clock = systemClock) => {
  const root = mkdtempSync(join(tmpdir(), 'agent-diagnostics-'))
  const workspace = join(root, 'workspace')
  mkdirSync(workspace)
  const record = join(root, 'record')
  const warnings: unknown[] = []
  const servers = createLanguageServers({
    warn: (_, fields) => warnings.push(fields.reason),
    clock,
  })
  return {
    root,
    workspace,
    record,
    warnings,
    close() {
      servers.close()
      rmSync(root, { recursive: true, force: true })
    },
    recorded: () => (existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : []),
    /** An editor of files that a server of config.yaml reads. */
    editor({
      fault = 'none',
      wait = 60,
      servers: given,
      path = process.env.PATH ?? '',
      runner,
      owner = 'session',
    }: {
      fault?: string
      wait?: number
      servers?: Record<string, unknown>
      path?: string
      runner?: CommandRunner
      owner?: string
    } = {}) {
      const check = servers.checkFor({
        owner,
        workspace,
        env: { PATH: path, HOME: root },
        runner,
        settings: {
          wait_timeout: wait,
          idle_timeout: 600,
          servers: given ?? {
            fake: {
              command: [process.execPath, FAKE, fault, record],
              extensions: ['.fake'],
              initialization_options: { fake: { deep: 7 } },
            },
          },
        },
      })
      return (name: string, before: string | null, after: string | null, signal = NEVER) => {
        const fullPath = join(workspace, name)
        mkdirSync(dirname(fullPath), { recursive: true })
        if (after === null) rmSync(fullPath, { force: true })
        else writeFileSync(fullPath, after)
        return check([{ fullPath, before, after }], signal)
      }
    },
  }
}

test.before.each(state => {
  state.bench = createBench()
})
test.after.each(({ bench }) => bench.close())

const pidsOf = (bench: Bench): number[] =>
  bench.recorded().flatMap(line => (line.startsWith('pid ') ? [Number(line.slice(4))] : []))

test('a server that never answers costs one wait, then nothing', async () => {
  const clock = createTestClock()
  const bench = createBench(clock)
  try {
    const edit = bench.editor({ fault: 'silent', wait: 60 })
    const first = edit('a.fake', null, 'bad')
    await clock.advance(60_000)
    assert.equal(await first, {})
    assert.equal(await edit('a.fake', 'bad', 'bad bad'), {})
  } finally {
    bench.close()
  }
})

test('a server that stops answering is ended, with one note', async () => {
  const clock = createTestClock()
  const bench = createBench(clock)
  try {
    const edit = bench.editor({ fault: 'stuck', wait: 20 })
    const first = edit('a.fake', null, 'bad')
    // Its answer is waited for in the background.
    await until(() => clock.waiting().includes(60_000))
    await clock.advance(20_000)
    assert.equal(await first, {})
    await clock.advance(40_000)
    assert.is(bench.warnings.length, 1)
    const { diagnostics_note: note } = await edit('a.fake', null, 'bad')
    assert.match(note ?? '', 'fake cannot be used: it does not answer')
    assert.equal(await edit('a.fake', null, 'bad'), {})
    assert.is(pidsOf(bench).length, 1)
    await until(() => !pidsOf(bench).some(isAlive))
  } finally {
    bench.close()
  }
})

for (const [fault, reason] of [
  ['crash', 'it exited (3): out of luck'],
  ['exit', 'it exited (1)'],
  ['deaf', 'it closed its input'],
  ['flood', 'it sent too much'],
  ['garbage', 'it sent something that is not a message'],
] as const)
  test(`a server with the fault "${fault}" is off for the session, with one note`, async ({
    bench,
  }) => {
    const edit = bench.editor({ fault })
    const first = await edit('a.fake', 'good', 'bad')
    assert.ok(!('diagnostics' in first))
    assert.ok(first.diagnostics_note?.includes(reason), first.diagnostics_note)
    assert.equal(await edit('a.fake', 'bad', 'worse'), {})
    assert.is(pidsOf(bench).length, 1)
    assert.is(bench.warnings.length, 1)
    await until(() => !pidsOf(bench).some(isAlive))
  })

test('the end of the service ends a server, also while it starts', async ({ bench }) => {
  const started = bench.editor()
  await started('a.fake', null, 'good')
  void bench.editor({ fault: 'silent', owner: 'other' })('a.fake', null, 'good')
  await until(() => pidsOf(bench).length === 2)
  const pids = pidsOf(bench)
  bench.close()
  await until(() => !pids.some(isAlive))
})

test('a stopped turn does not wait', async ({ bench }) => {
  const controller = new AbortController()
  const found = bench.editor({ fault: 'silent' })('a.fake', null, 'bad', controller.signal)
  controller.abort()
  assert.equal(await found, {})
})

test('publications for another version are ignored', async ({ bench }) => {
  const edit = bench.editor({ fault: 'versions' })
  assert.equal(await edit('a.fake', 'good', 'good\nbad'), {
    diagnostics: ['a.fake:2:1 error: bad word [fake 1]'],
  })
})

test('requests of the server are answered, and its edits refused', async ({ bench }) => {
  assert.equal(await bench.editor({ fault: 'asks' })('a.fake', null, 'good'), { diagnostics: [] })
  await until(() => bench.recorded().filter(line => line.startsWith('answer')).length === 4)
  assert.equal(
    bench.recorded().filter(line => line.startsWith('answer')),
    ['answer 0 [7,null]', 'answer 1 null', 'answer 2 {"applied":false}', 'answer 3 -32601'],
  )
})

test('a program of the workspace runs only inside a runner', async ({ bench }) => {
  const bin = join(bench.workspace, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  const proof = join(bench.workspace, 'proof')
  for (const name of ['tsc', 'tsgo', 'typescript-language-server', 'pyright-langserver', 'gopls']) {
    writeFileSync(join(bin, name), `#!/bin/sh\ntouch ${proof}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const elsewhere = join(bench.root, 'bin')
  mkdirSync(elsewhere)
  symlinkSync(join(bin, 'tsc'), join(elsewhere, 'tsc'))
  // One that runs code of the project, outside the workspace.
  symlinkSync('/bin/true', join(elsewhere, 'rust-analyzer'))
  const path = [bin, 'node_modules/.bin', elsewhere, '/bin'].join(':')
  const edit = bench.editor({ servers: {}, path })
  for (const name of ['a.ts', 'a.py', 'a.go', 'a.rs']) assert.equal(await edit(name, null, 'x'), {})
  assert.not.ok(existsSync(proof))
  const placed: string[] = []
  const runner = {
    kind: 'docker',
    problem: async () => null,
    place: async ({ program, cwd, env }) => {
      placed.push(program.args.slice(3).join(' '))
      return { ...program, cwd, env }
    },
  } as Partial<CommandRunner> as CommandRunner
  await bench.editor({ servers: {}, path: '/bin', runner })('a.ts', null, 'x')
  assert.ok(existsSync(proof))
  assert.is(placed[0], `${join(bin, 'tsc')} --lsp --stdio`)
})

test('a runner that cannot run starts nothing', async ({ bench }) => {
  const runner = { kind: 'docker', problem: async () => 'No daemon.' } as Partial<CommandRunner>
  const { diagnostics_note: note } = await bench.editor({ runner: runner as CommandRunner })(
    'a.fake',
    null,
    'bad',
  )
  assert.match(note ?? '', 'No daemon.')
  assert.equal(bench.recorded(), [])
})

test('a language without an installed server has no fields', async ({ bench }) => {
  const edit = bench.editor({ servers: { pyright: { disabled: true } }, path: '/nowhere' })
  for (const name of ['a.ts', 'a.py', 'a.txt']) assert.equal(await edit(name, null, 'bad'), {})
  assert.equal(bench.warnings, [])
})

for (const fault of ['none', 'push', 'unversioned'])
  test(`only what the edit caused is reported (${fault})`, async ({ bench }) => {
    const edit = bench.editor({ fault })
    const old = 'bad old\npoor\ngood\n'
    assert.equal(await edit('a.fake', old, `\n\n${old}`), { diagnostics: [] })
    assert.equal(await edit('a.fake', old, `bad new\n${old}hint\npoor`), {
      diagnostics: ['a.fake:1:1 error: bad word [fake 1]', 'a.fake:6:1 warning: poor word [fake]'],
    })
    assert.equal(await edit('a.fake', old, null), { diagnostics: [] })
  })

test('at most twenty lines, errors first', async ({ bench }) => {
  const { diagnostics = [] } = await bench.editor()('a.fake', null, `${'poor\n'.repeat(30)}bad`)
  assert.is(diagnostics.length, 21)
  assert.match(diagnostics[0] ?? '', 'a.fake:31:1 error')
  assert.is(diagnostics.at(-1), 'and 11 more')
})

test('changes by commands reach the server before the next check', async ({ bench }) => {
  const edit = bench.editor()
  writeFileSync(join(bench.workspace, 'gone.fake'), 'x')
  await edit('a.fake', null, 'good')
  writeFileSync(join(bench.workspace, 'b.fake'), 'new')
  rmSync(join(bench.workspace, 'gone.fake'))
  await edit('a.fake', 'good', 'good')
  const events = bench.recorded().filter(line => line.startsWith('event'))
  assert.ok(events.includes('event 1 b.fake'))
  assert.ok(events.includes('event 3 gone.fake'))
})

test("TypeScript's own server reports new errors, in other edited files as well", async ({
  bench,
}) => {
  writeFileSync(join(bench.workspace, 'tsconfig.json'), '{"compilerOptions":{"strict":true}}')
  const bin = resolve('node_modules/.bin')
  const path = `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`
  const edit = bench.editor({ servers: {}, path, wait: 20 })
  const user = 'import { n } from "./a"\nexport const m: number = n\n'
  assert.equal(await edit('a.ts', null, 'export const n: number = 1\n'), { diagnostics: [] })
  assert.equal(await edit('b.ts', null, user), { diagnostics: [] })
  assert.equal(await edit('b.ts', user, `${user}missing()\n`), {
    diagnostics: ["b.ts:3:1 error: Cannot find name 'missing'. [ts 2304]"],
  })
  assert.equal(await edit('a.ts', 'export const n: number = 1\n', 'export const n = "1"\n'), {
    diagnostics: ["b.ts:2:14 error: Type 'string' is not assignable to type 'number'. [ts 2322]"],
  })
})

test.run()
