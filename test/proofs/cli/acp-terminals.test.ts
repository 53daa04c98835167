/** `agent-webui acp` in an editor that has terminals: commands run there, decided about as everywhere. And copies of sessions. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CreateTerminalRequest } from '@agentclientprotocol/sdk'
import { RequestError } from '@agentclientprotocol/sdk'
import { setImmediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createProvider, type Scripted, type Step } from '../../_provider.ts'
import { choose, type Editor, rejection, startEditor } from '../../lib/cli/_acp-client.ts'
import { createDesk, type Desk } from '../../lib/cli/_run.ts'

type World = { desk: Desk; provider: Scripted; editor: Editor; opened: CreateTerminalRequest[] }
const test = suite<World>('agent-webui acp: terminals of the editor, and copies')

test.before(async world => {
  world.desk = createDesk()
  world.provider = await createProvider()
  world.desk.config(
    `model:\n  provider: custom\n  base_url: ${world.provider.url}\n  default: test-model\npermissions:\n  deny: ["bash(mkdir *)"]\n`,
  )
  world.editor = await startEditor(world.desk, {
    capabilities: { terminal: true },
    env: { EDITOR_API_KEY: 'sk-of-the-editor-0123456789' },
  })
})
test.before.each(world => {
  const { editor, provider } = world
  provider.clear()
  provider.requests.length = 0
  editor.updates.length = 0
  world.opened = []
  editor.permission = () => choose('once')
  editor.terminal = request => void world.opened.push(request)
})
test.after(async ({ desk, provider, editor }) => {
  await editor.close()
  await provider.close()
  desk.close()
})

const run = (command: string, more: object = {}): Step => ({
  toolCalls: [{ name: 'terminal', arguments: { command, ...more } }],
})
const resultOf = ({ requests }: Scripted): Record<string, unknown> => {
  const { messages } = (requests.at(-1)?.body ?? { messages: [] }) as {
    messages: { role: string; content: string }[]
  }
  return JSON.parse(messages.findLast(({ role }) => role === 'tool')?.content ?? '{}')
}

test('a command runs in a terminal of the editor, which the call shows', async ({
  editor,
  provider,
  opened,
  desk,
}) => {
  const { sessionId } = await editor.newSession()
  provider.push(run('echo hi; exit 3'), { text: 'Done.' })
  await editor.prompt(sessionId, 'run it')
  assert.equal(
    opened.map(({ args, cwd }) => [args, cwd]),
    [[['-c', 'echo hi; exit 3'], desk.workspace]],
  )
  const { output, exit_code } = resultOf(provider)
  assert.equal([output, exit_code], ['hi\n', 3])
  const contents = editor.updates.flatMap(update =>
    update.sessionUpdate === 'tool_call_update' && update.content ? [update.content] : [],
  )
  assert.equal(contents, [[{ type: 'terminal', terminalId: 't1' }]])
  assert.is(editor.openTerminals(), 0)
})

test('what is denied, refused, or needs no terminal never opens one', async world => {
  const { editor, provider, desk, opened } = world
  const { sessionId } = await editor.newSession()
  editor.permission = () => choose('deny')
  for (const command of ['mkdir new', 'rm -rf ./old']) {
    provider.push(run(command), { text: 'No.' })
    await editor.prompt(sessionId, command)
    assert.is(resultOf(provider).exit_code ?? -1, -1, command)
  }
  editor.permission = () => choose('once')
  provider.push(run('sleep 0', { background: true }), { text: 'Started.' })
  await editor.prompt(sessionId, 'in the background')
  assert.match(String(resultOf(provider).error), 'in the background')
  assert.equal(opened, [])
  assert.not(existsSync(join(desk.workspace, 'new')))
})

test('a directory lasts there as everywhere, and bash is bash', async ({
  editor,
  provider,
  opened,
  desk,
}) => {
  const { sessionId } = await editor.newSession()
  const sub = join(desk.workspace, 'sub')
  mkdirSync(sub, { recursive: true })
  const outputs: unknown[] = []
  for (const command of ['cd sub', '[[ -d . ]] && pwd; echo "[$BASH_ENV]"', 'cd ..']) {
    provider.push(run(command), { text: 'Done.' })
    await editor.prompt(sessionId, command)
    const { output, cwd } = resultOf(provider)
    outputs.push([output, cwd])
  }
  assert.equal(outputs, [
    ['', sub],
    [`${sub}\n[]\n`, sub],
    ['', desk.workspace],
  ])
  assert.equal(
    opened.map(({ cwd }) => cwd),
    [desk.workspace, sub, sub],
  )
})

test('keys of the editor are not in the environment of commands', async ({ editor, provider }) => {
  const { sessionId } = await editor.newSession()
  provider.push(run('echo "[$EDITOR_API_KEY]"'), { text: 'Done.' })
  await editor.prompt(sessionId, 'show it')
  assert.is(resultOf(provider).output, '[]\n')
})

test('at its time limit, and when the turn is cancelled, the command ends', async ({
  editor,
  provider,
}) => {
  const { sessionId } = await editor.newSession()
  provider.push(run('echo on; sleep 77', { timeout: 1 }), { text: 'Late.' })
  await editor.prompt(sessionId, 'wait')
  const { output, exit_code, error } = resultOf(provider)
  assert.equal([exit_code, error], [124, 'Stopped after 1 seconds.'])
  // A slow machine has not begun after a second.
  assert.match(String(output), /^(?:on\n)?$/)
  provider.push(run('echo on; sleep 77'))
  const turn = editor.prompt(sessionId, 'wait again')
  editor.updates.length = 0
  await editor.seen(
    update =>
      update.sessionUpdate === 'tool_call_update' && update.content?.[0]?.type === 'terminal',
  )
  await editor.agent.notify('session/cancel', { sessionId })
  assert.is((await turn).stopReason, 'cancelled')
  provider.push({ text: 'Still here.' })
  await editor.prompt(sessionId, 'and now?')
  assert.is(editor.openTerminals(), 0)
})

test('an editor that opens none: the command says so, and the next one runs without it', async ({
  editor,
  provider,
}) => {
  const { sessionId } = await editor.newSession()
  editor.terminal = () => {
    throw new RequestError(-32603, 'no window')
  }
  provider.push(run('echo one'), run('echo two'), { text: 'Done.' })
  await editor.prompt(sessionId, 'run both')
  assert.is(resultOf(provider).output, 'two\n')
})

test('a copy has what was said, and goes on by itself', async ({ editor, provider, desk }) => {
  const { agent } = editor
  const { sessionId } = await editor.newSession()
  provider.push({ text: 'Blue.' })
  await editor.prompt(sessionId, 'Which color?')
  const fork = (id: string) =>
    agent.request<{ sessionId: string; modes: object }>('session/fork', {
      sessionId: id,
      cwd: desk.workspace,
      mcpServers: [],
    })
  const copy = await fork(sessionId)
  assert.is.not(copy.sessionId, sessionId)
  assert.ok(copy.modes)
  provider.push({ text: 'Sure.' })
  await editor.prompt(copy.sessionId, 'Really?')
  const asked = (text: string) =>
    JSON.stringify(
      provider.requests.findLast(({ body }) => JSON.stringify(body).includes(text))?.body,
    )
  assert.match(asked('Really?'), 'Which color?')
  provider.push({ text: 'Yes.' })
  await editor.prompt(sessionId, 'Are you sure?')
  assert.not.match(asked('Are you sure?'), 'Really?')
  // Stored like any other: listed, and loaded with its whole history.
  const { sessions } = await agent.request('session/list', {})
  assert.ok(sessions.some(each => each.sessionId === copy.sessionId))
  await agent.request('session/close', { sessionId: copy.sessionId })
  editor.updates.length = 0
  await agent.request('session/load', {
    sessionId: copy.sessionId,
    cwd: desk.workspace,
    mcpServers: [],
  })
  // The SDK may handle a notification later than the response that followed it.
  await setImmediate()
  assert.match(editor.text(), 'Blue.Sure.')
  // One without a message, and one that does not exist.
  const empty = await fork((await editor.newSession()).sessionId)
  provider.push({ text: 'Hello.' })
  assert.is((await editor.prompt(empty.sessionId, 'hello')).stopReason, 'end_turn')
  assert.is((await rejection(fork('nobody'))).code, -32002)
})

test.run()
