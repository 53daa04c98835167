/** The directory of commands lasts for the chat by default, also over a restart; variables do not. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { restoreDirectory, shellStateOf } from '../../../../lib/agent/tools/shell-state.ts'
import type { CommandRunner } from '../../../../lib/agent/tool-services.ts'
import { callContext } from '../../../_call.ts'
import type { WireMessage } from '../../../../lib/agent/types.ts'
import { systemClock } from '../../../../lib/base/clock.ts'
import { ProcessRegistry } from '../../../../lib/commands/processes.ts'
import { terminalTool } from '../../../../lib/agent/tools/terminal.ts'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('the directory of commands')

let bench: Bench
test.before.each(() => {
  bench = createBench()
  bench.ctx.chatMemo = new Map()
  bench.say('once')
  mkdirSync(join(bench.workspace, 'sub/deep'), { recursive: true })
})
test.after.each(() => bench.close())

const run = (command: string, more: object = {}) => bench.json('terminal', { command, ...more })
const pwd = async () => (await run('pwd')).output.trim().slice(bench.workspace.length)

const CASES: [name: string, prepare: () => unknown, directory: string][] = [
  ['nothing', () => null, ''],
  ['cd', () => run('cd sub'), '/sub'],
  [
    'cd twice',
    async () => {
      await run('cd sub')
      await run('cd deep')
    },
    '/sub/deep',
  ],
  ['cd and a failure', () => run('cd sub && false'), '/sub'],
  ['cd in a subshell', () => run('(cd sub; true)'), ''],
  ['cd with && at the end', () => run('true && cd sub && pwd'), '/sub'],
  [
    'a workdir, for one call',
    async () => {
      await run('cd sub')
      await run('cd deep', { workdir: '.' })
    },
    '/sub',
  ],
  [
    'an earlier turn',
    async () => {
      await run('cd sub')
      bench.ctx.memo = new Map()
    },
    '/sub',
  ],
  [
    'another chat',
    async () => {
      await run('cd sub')
      bench.ctx.chatMemo = new Map()
    },
    '',
  ],
  [
    'a command that moved to the background',
    async () => {
      await run('cd sub')
      await run('cd deep; sleep 5', { timeout: 1 })
    },
    '/sub',
  ],
]
for (const [name, prepare, directory] of CASES)
  test(`after ${name}`, async () => {
    await prepare()
    assert.is(await pwd(), directory)
  })

test('variables do not last, and that is no news', async () => {
  const set = await run('export A=1; cd sub')
  assert.not('note' in set)
  assert.is((await run('echo "[$A]"')).output, '[]\n')
})

test('a deleted directory is left', async () => {
  await run('cd sub/deep')
  rmSync(join(bench.workspace, 'sub'), { recursive: true })
  assert.match(await refused(run('pwd')), 'deleted')
  assert.is(await pwd(), '')
})

const result = (id: string, name: string, content: object): WireMessage[] => [
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content: JSON.stringify(content) },
]
const HISTORIES: [name: string, history: WireMessage[], cwd: string][] = [
  ['no commands', [{ role: 'user', content: '"cwd":"/w/x"' }], '/w'],
  [
    'a command in a directory',
    result('a', 'terminal', { output: '', cwd: '/w/a "b"' }),
    '/w/a "b"',
  ],
  [
    'a command that went back',
    [
      ...result('a', 'terminal', { output: '', cwd: '/w/a' }),
      ...result('b', 'terminal', { output: '', cwd: '/w' }),
    ],
    '/w',
  ],
  [
    'a command that was refused',
    [
      ...result('a', 'terminal', { output: '', cwd: '/w/a' }),
      ...result('b', 'terminal', { status: 'blocked', error: 'The user denied it.' }),
    ],
    '/w/a',
  ],
  [
    'a command in the background',
    [
      ...result('a', 'terminal', { output: '', cwd: '/w/a' }),
      ...result('b', 'terminal', { output: 'Started', session_id: 'proc_1' }),
    ],
    '/w/a',
  ],
  [
    'an output that looks like it',
    result('a', 'terminal', { output: '"cwd":"/w/evil","', exit_code: 0 }),
    '/w',
  ],
  ['output of an external agent', result('a', 'terminal', { name: 'x', cwd: '/w/a' }), '/w'],
  ['another tool', result('a', 'read_file', { content: 'x', cwd: '/w/a' }), '/w'],
  ['another workspace', result('a', 'terminal', { output: '', cwd: '/other/a' }), '/w'],
]
for (const [name, history, cwd] of HISTORIES)
  test(`after a restart: ${name}`, () => {
    const memo = new Map<string, unknown>()
    restoreDirectory(memo, '/w', history)
    assert.is(shellStateOf(callContext({ workspace: '/w' }, { memo })).cwd, cwd)
  })

test('in a container: the directory is the one that the container names', () => {
  const hostPath = (path: string) => path.replace(/^\/inside/, '/w')
  const runner = { ...({} as CommandRunner), hostPath }
  const chatMemo = new Map<string, unknown>()
  restoreDirectory(
    chatMemo,
    '/w',
    result('a', 'terminal', { output: '', cwd: '/inside/a' }),
    runner,
  )
  const call = callContext({ workspace: '/w', runner }, { chatMemo })
  assert.is(shellStateOf(call).cwd, '/inside/a')
  const terminal = terminalTool()
  const [access] = terminal.reaches?.(terminal.input.parse({ command: 'cat x' }), call) ?? []
  assert.is(access?.kind === 'command' && access.shell.cwd, '/w/a')
})

test('the input of a process can be ended', async () => {
  const registry = new ProcessRegistry({ clock: systemClock })
  bench.ctx.turn.processes = registry.of('a')
  const act = (action: string, more: object = {}) =>
    bench.json('process', { action, session_id: id, ...more })
  let { session_id: id } = await run('sort', { background: true })
  await act('submit', { data: 'b' })
  await act('submit', { data: 'a' })
  await act('close')
  assert.is((await act('wait', { timeout: 60 })).output, 'a\nb\n')
  ;({ session_id: id } = await run('cat; sleep 60', { background: true }))
  await act('close')
  await act('close')
  assert.match(await refused(act('submit', { data: 'x' })), 'closed')
  await act('kill')
  assert.match(await refused(act('close')), 'ended')
  await registry.close()
})

test.run()
