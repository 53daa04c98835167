/** `agent-webui acp` as a process, driven by the SDK's client: rejections, whole turns, approvals, stored sessions, and cut pipes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionUpdate, ToolCallUpdate } from '@agentclientprotocol/sdk'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openDatabase } from '../../../lib/store/sqlite.ts'
import { base64, png } from '../../_images.ts'
import { createProvider, gate, type Scripted, type Step } from '../../_provider.ts'
import { choose, type Editor, rejection, startEditor } from '../../lib/cli/_acp-client.ts'
import { createDesk, type Desk } from '../../lib/cli/_run.ts'

type World = { desk: Desk; provider: Scripted; editor: Editor }
const test = suite<World>('agent-webui acp')

test.before(async world => {
  world.desk = createDesk()
  world.provider = await createProvider()
  world.desk.config(
    `model:\n  provider: custom\n  base_url: ${world.provider.url}\n  default: test-model\n  supports_vision: true\nagent:\n  max_turns: 6\n`,
  )
  world.editor = await startEditor(world.desk)
})
test.before.each(({ editor, provider }) => {
  provider.clear()
  provider.requests.length = 0
  editor.updates.length = 0
  editor.permissions.length = 0
  editor.permission = () => choose('once')
})
test.after(async ({ desk, provider, editor }) => {
  await editor.close()
  await provider.close()
  desk.close()
})

const run = (command: string): Step => ({
  toolCalls: [{ name: 'terminal', arguments: { command } }],
})
const calls = (updates: SessionUpdate[]) =>
  updates.filter(update => update.sessionUpdate.startsWith('tool_call')) as (ToolCallUpdate &
    SessionUpdate)[]
const rows = (desk: Desk, sql: string): Record<string, unknown>[] => {
  const db = openDatabase(join(desk.home, 'state.db'), { mustExist: true })
  try {
    return db.prepare<[], Record<string, unknown>>(sql).all()
  } finally {
    db.close()
  }
}

// ── Rejections ──────────────────────────────────────────────────────────────────────────────────────────────────────

test('rejects invalid requests with a sentence, and serves the next one', async ({
  editor,
  desk,
}) => {
  const { sessionId } = await editor.newSession()
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
  const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
  const text = (words: string) => [{ type: 'text', text: words }]
  const cases: [method: string, params: object, code: number, words: RegExp][] = [
    ['session/new', { cwd: 'here' }, -32602, /absolute path/],
    ['session/new', { cwd: '/no/dir' }, -32602, /not a directory/],
    ['session/new', { cwd: '/etc\0' }, -32602, /not a directory/],
    ['session/new', { cwd: `/${'x'.repeat(5_000)}` }, -32602, /not a directory/],
    ['session/load', { sessionId: 'x/../y', cwd: desk.root }, -32002, /no session "x\/\.\.\/y"/],
    ['session/prompt', { sessionId: 'unknown', prompt: text('hi') }, -32002, /unknown is not open/],
    ['session/prompt', { prompt: text('  ') }, -32602, /prompt is empty/],
    ['session/prompt', { prompt: [image] }, -32602, /not a PNG/],
    ['session/prompt', { prompt: [audio] }, -32602, /"audio" are not supported/],
    ['session/prompt', { prompt: text('x'.repeat(600_000)) }, -32602, /at most 500000/],
    ['session/set_mode', { modeId: 'wild' }, -32602, /no mode "wild"/],
    ['session/set_config_option', { configId: 'effort', value: 'huge' }, -32602, /cannot be set/],
    ['session/list', { cursor: '-1' }, -32602, /cursor/],
    ['no/such', {}, -32601, /./],
  ]
  for (const [method, params, code, words] of cases) {
    const asked = editor.agent.request(method, { sessionId, mcpServers: [], ...params })
    const error = await rejection(asked)
    assert.is(error.code, code, error.message)
    assert.match(error.message, words)
  }
  assert.is(await editor.err(), '')
})

test('answers lines that are no messages with an error', async ({ editor, provider }) => {
  const replies: string[] = []
  const listen = (chunk: Buffer) => void replies.push(String(chunk))
  editor.child.stdout?.on('data', listen)
  editor.child.stdin?.write('{"jsonrpc":\n[]\n"text"\n')
  provider.push({ text: 'still here' })
  const { sessionId } = await editor.newSession()
  assert.equal(await editor.prompt(sessionId, 'hi'), { stopReason: 'end_turn' })
  editor.child.stdout?.off('data', listen)
  assert.match(replies.join(''), '"code":-32700')
  assert.match(replies.join(''), '"code":-32600')
})

test('a failed model call is an error with the reason; the message is kept', async ({
  editor,
  provider,
  desk,
}) => {
  provider.push({ status: 402, body: { error: { message: 'no more credit' } } })
  const { sessionId } = await editor.newSession()
  const { code, message } = await rejection(editor.prompt(sessionId, 'try it'))
  assert.is(code, -32603)
  assert.match(message, 'no more credit')
  const [kept] = rows(desk, `select content from messages where session_id = '${sessionId}'`)
  assert.is(kept?.content, 'try it')
})

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a whole turn: text, thoughts, an edit, a command with approval, the plan, usage, title', async ({
  editor,
  provider,
  desk,
}) => {
  writeFileSync(join(desk.workspace, 'a.txt'), 'one\ntwo\n')
  const edit = { path: 'a.txt', old_string: 'two', new_string: 'three' }
  const todos = [{ id: '1', content: 'Remove it', status: 'in_progress' }]
  const usage = { prompt_tokens: 50, completion_tokens: 5, cost: 0.01 }
  provider.push(
    {
      reasoning: 'Let me see.',
      text: ['Chan', 'ging.'],
      toolCalls: [
        { name: 'patch', arguments: edit },
        { name: 'todo', arguments: { todos } },
      ],
      usage,
    },
    run('echo gone; rm -rf ./a.txt'),
    { text: ' Done.', usage },
  )
  const { sessionId, modes, configOptions } = await editor.newSession()
  assert.is(modes?.currentModeId, 'default')
  assert.equal(
    configOptions?.map(({ category }) => category),
    ['mode', 'model', 'thought_level'],
  )
  assert.equal(await editor.prompt(sessionId, 'Remove a.txt'), { stopReason: 'end_turn' })

  assert.is(editor.text(), 'Changing. Done.')
  assert.ok(editor.updates.some(each => each.sessionUpdate === 'agent_thought_chunk'))
  const path = join(desk.workspace, 'a.txt')
  const [started, ...later] = calls(editor.updates)
  assert.equal(
    [started?.kind, started?.title, started?.status, started?.locations],
    ['edit', 'Edit a.txt', 'in_progress', [{ path }]],
  )
  // Before it is done: the part that changes. Afterwards: the whole file.
  assert.equal(started?.content, [{ type: 'diff', path, oldText: 'two', newText: 'three' }])
  const done = later.findLast(({ toolCallId }) => toolCallId === started?.toolCallId)
  assert.is(done?.status, 'completed')
  assert.equal(done?.content, [
    { type: 'diff', path, oldText: 'one\ntwo\n', newText: 'one\nthree\n' },
  ])
  const plan = editor.updates.find(({ sessionUpdate }) => sessionUpdate === 'plan')
  assert.equal(plan, {
    sessionUpdate: 'plan',
    entries: [{ content: 'Remove it', priority: 'medium', status: 'in_progress' }],
  })

  const [asked, ...others] = editor.permissions
  assert.is(others.length, 0)
  assert.equal(
    asked?.options.map(({ kind, name }) => [kind, name]),
    [
      ['allow_once', 'Allow once'],
      ['allow_always', 'Allow for this session'],
      ['allow_always', 'Always allow'],
      ['reject_once', 'Deny'],
    ],
  )
  const command = calls(editor.updates).filter(
    ({ toolCallId }) => toolCallId === asked?.toolCall.toolCallId,
  )
  assert.is(command[0]?.kind, 'execute')
  assert.is(command[0]?.title, 'echo gone; rm -rf ./a.txt')
  assert.match(JSON.stringify(command.at(-1)?.content), 'gone')
  assert.is(command.at(-1)?.status, 'completed')
  assert.not(existsSync(path))
  const spent = editor.updates.findLast(each => each.sessionUpdate === 'usage_update')
  assert.equal([spent?.used, spent?.cost], [50, { amount: 0.02, currency: 'USD' }])
  const info = editor.updates.findLast(each => each.sessionUpdate === 'session_info_update')
  assert.is(info?.title, 'Remove a.txt')

  const [row] = rows(desk, `select * from sessions where id = '${sessionId}'`)
  assert.equal(
    [row?.source, row?.title, JSON.parse(String(row?.model_config)).cwd],
    ['acp', 'Remove a.txt', desk.workspace],
  )
})

test('a denied command does not run; one allowed for the session is asked about once', async ({
  editor,
  provider,
  desk,
}) => {
  const path = join(desk.workspace, 'keep.txt')
  writeFileSync(path, 'x')
  provider.push(run('rm -rf ./keep.txt'), { text: 'I may not.' })
  const { sessionId } = await editor.newSession()
  editor.permission = () => choose('deny')
  await editor.prompt(sessionId, 'clean up')
  assert.ok(existsSync(path))
  assert.is(calls(editor.updates).at(-1)?.status, 'failed')
  editor.permission = () => choose('session')
  provider.push(run('rm -rf ./keep.txt'), run('rm -rf ./keep.txt'), { text: 'Done.' })
  await editor.prompt(sessionId, 'clean up')
  assert.not(existsSync(path))
  assert.is(editor.permissions.length, 2)
})

test('control files offer one-time permission only, also in auto-approve', async ({
  editor,
  provider,
  desk,
}) => {
  const { sessionId } = await editor.newSession()
  await editor.agent.request('session/set_mode', { sessionId, modeId: 'auto' })
  writeFileSync(join(desk.workspace, 'b'), 'x')
  const change = { path: join(desk.home, 'config.yaml'), content: 'model: other\n' }
  provider.push(
    run('rm -rf ./b'),
    { toolCalls: [{ name: 'read_file', arguments: { path: change.path } }] },
    { toolCalls: [{ name: 'write_file', arguments: change }] },
    { text: 'No.' },
  )
  editor.permission = () => choose('deny')
  await editor.prompt(sessionId, 'go')
  assert.not(existsSync(join(desk.workspace, 'b')))
  assert.is(editor.permissions.length, 1)
  assert.equal(
    editor.permissions[0]?.options.map(({ optionId }) => optionId),
    ['once', 'deny'],
  )
  assert.not.match(readFileSync(change.path, 'utf8'), 'other')
})

test('cancel while an approval is open, and while a command runs, ends the turn at once', async ({
  editor,
  provider,
  desk,
}) => {
  const { sessionId } = await editor.newSession()
  writeFileSync(join(desk.workspace, 'c'), 'x')
  const asked = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  editor.permission = async () => {
    opened.resolve()
    await asked.promise
    return { outcome: { outcome: 'cancelled' } }
  }
  provider.push(run('rm -rf ./c'))
  const first = editor.prompt(sessionId, 'remove it')
  await opened.promise
  const busy = await rejection(editor.prompt(sessionId, 'and this'))
  assert.equal([busy.code, /A prompt is running/.test(busy.message)], [-32600, true])
  await editor.agent.notify('session/cancel', { sessionId })
  assert.equal(await first, { stopReason: 'cancelled' })
  asked.resolve()
  assert.ok(existsSync(join(desk.workspace, 'c')))

  editor.updates.length = 0
  provider.push(run('echo on; sleep 600'))
  const second = editor.prompt(sessionId, 'wait')
  await editor.seen(update => JSON.stringify(update).includes('```\\non'))
  await editor.agent.notify('session/cancel', { sessionId })
  assert.equal(await second, { stopReason: 'cancelled' })
  provider.push({ text: 'Again.' })
  assert.equal(await editor.prompt(sessionId, 'go on'), { stopReason: 'end_turn' })
})

test('stop reasons: the step limit, the length limit, a refusal', async ({ editor, provider }) => {
  const { sessionId } = await editor.newSession()
  const cut: Step = { text: 'more ', finish: 'length' }
  provider.push(cut, cut, cut, cut)
  assert.is((await editor.prompt(sessionId, 'write')).stopReason, 'max_tokens')
  for (let step = 0; step < 6; step++) provider.push(run(`echo ${step}`))
  provider.push({ text: 'That is as far as I got.' })
  assert.is((await editor.prompt(sessionId, 'count')).stopReason, 'max_turn_requests')
  provider.push({ refusal: 'I cannot help with that.' })
  assert.is((await editor.prompt(sessionId, 'harm')).stopReason, 'refusal')
})

test('files, links, and images of a prompt reach the model', async ({ editor, provider, desk }) => {
  provider.push({ text: 'ok' })
  const { sessionId } = await editor.newSession()
  await editor.prompt(
    sessionId,
    'Compare ',
    { type: 'resource_link', name: 'a.ts', uri: `file://${desk.workspace}/a.ts` },
    ' with ',
    { type: 'resource', resource: { uri: `file://${desk.workspace}/b.ts`, text: 'let b = 1' } },
    { type: 'image', data: base64(png(4, 3)), mimeType: 'image/png' },
  )
  const sent = JSON.stringify(provider.requests[0]?.body.messages.at(-1))
  assert.match(sent, `Compare [@a.ts](${desk.workspace}/a.ts) with [@b.ts](${desk.workspace}/b.ts)`)
  assert.match(sent, 'let b = 1')
  assert.match(sent, 'data:image/png;base64,')
})

test('several sessions at once, each with its own answer', async ({ editor, provider }) => {
  const sessions = await Promise.all([editor.newSession(), editor.newSession()])
  const hold = gate()
  provider.otherwise = body => ({
    gate: hold.opened,
    text: `for ${JSON.stringify(body.messages.at(-1)).includes('alpha') ? 'alpha' : 'beta'}`,
  })
  const work = sessions.map(({ sessionId }, at) =>
    editor.prompt(sessionId, at === 0 ? 'alpha' : 'beta'),
  )
  await provider.arrived(2)
  hold.open()
  assert.equal(await Promise.all(work), [{ stopReason: 'end_turn' }, { stopReason: 'end_turn' }])
  provider.otherwise = null
  assert.equal([...editor.text().matchAll(/for (alpha|beta)/g)].length, 2)
})

test('a question is a choice of options where the client has no forms', async ({
  editor,
  provider,
}) => {
  const call = {
    name: 'clarify',
    arguments: { question: 'Which color?', choices: ['red', 'blue'] },
  }
  provider.push({ toolCalls: [call] }, { text: 'ok' })
  editor.permission = () => choose('0')
  const { sessionId } = await editor.newSession()
  await editor.prompt(sessionId, 'paint')
  assert.match(provider.requests.at(-1)?.body.messages.at(-1).content, 'red')
  assert.equal(
    editor.permissions[0]?.options.map(({ name }) => name),
    ['red', 'blue', 'No answer'],
  )
})

test('plan mode refuses changes until the plan is approved in the editor', async ({
  editor,
  provider,
  desk,
}) => {
  const path = join(desk.workspace, 'planned.txt')
  const write: Step = {
    toolCalls: [{ name: 'write_file', arguments: { path, content: 'x' } }],
  }
  const present: Step = {
    toolCalls: [{ name: 'exit_plan_mode', arguments: { plan: 'Write one file.' } }],
  }
  const { sessionId } = await editor.newSession()
  await editor.agent.request('session/set_mode', { sessionId, modeId: 'plan' })
  const offers: [string, string][][] = []
  editor.permission = ({ options, toolCall }) => {
    assert.is(toolCall.kind, 'switch_mode')
    assert.match(JSON.stringify(toolCall.content), 'Write one file.')
    offers.push(options.map(({ kind, name }) => [kind, name]))
    assert.not(existsSync(path))
    return choose('0')
  }
  provider.push(write, present, write, { text: 'Done.' })
  await editor.prompt(sessionId, 'Make it')
  assert.equal(offers, [
    [
      ['allow_once', 'Approve'],
      ['reject_once', 'Keep planning'],
    ],
  ])
  assert.ok(existsSync(path))
  const mode = editor.updates.find(update => update.sessionUpdate === 'current_mode_update')
  assert.is(mode?.currentModeId, 'default')
})

test('model and effort of a session reach the provider', async ({ editor, provider }) => {
  provider.push({ text: 'one' })
  const { sessionId } = await editor.newSession()
  const { configOptions } = await editor.agent.request('session/set_config_option', {
    sessionId,
    configId: 'model',
    value: 'other-model',
  })
  const model = configOptions.find(({ id }) => id === 'model')
  assert.is(model?.currentValue, 'other-model')
  await editor.prompt(sessionId, 'hi')
  assert.is(provider.requests[0]?.body.model, 'other-model')
})

test.run()
