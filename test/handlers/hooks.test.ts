/** Hooks of config.yaml over the whole service: every tool and caller, journal and prompt prefix. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../_program.ts'
import type { Step } from '../_provider.ts'
import { ended, until } from '../_wait.ts'
import { startChat } from './_chat.ts'
import { create, runNow } from './_crons.ts'

const test = suite<{ chat: Chat }>('hooks over HTTP')
type Chat = Awaited<ReturnType<typeof startChat>>

test.before.each(async state => {
  state.chat = await startChat()
})
test.after.each(({ chat }) => chat.close())

type Sections = Record<string, unknown>

/** JSON is YAML. */
const configure = ({ app, provider }: Chat, sections: Sections): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom', base_url: provider.url, default: 'test-model' },
      checkpoints: { enabled: false },
      ...sections,
    }),
  )

const script = ({ app }: Chat, name: string, text: string): string => {
  const dir = join(app.home, 'agent-hooks')
  mkdirSync(dir, { recursive: true })
  const path = join(dir, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return path
}

const use = (name: string, args: Record<string, unknown>, id = 'c1'): Step => ({
  toolCalls: [{ id, name, arguments: args }],
})
const DONE: Step = { text: 'Done.' }

/** Results the model has received, newest request first. */
const resultsIn = ({ provider }: Chat): string[] =>
  provider.requests
    .filter(({ body }) => body.tools?.length)
    .flatMap(({ body }) => body.messages)
    .filter(message => message.role === 'tool')
    .map(message => String(message.content))

const actionsOf = (message: Record<string, unknown> = {}): string[] =>
  ((message._hooks ?? []) as { action: string }[]).map(({ action }) => action)

/** A session with a title: no request for one takes a step of the script. */
const newSession = async ({ app }: Chat, workspace?: string): Promise<string> => {
  const { body } = await app.post('/api/session/new', workspace ? { workspace } : {})
  const { session_id } = body.session
  await app.post('/api/session/rename', { session_id, title: 'Named' })
  return session_id
}

/** Follows a turn to its approval and answers that. */
const answer = async (chat: Chat, session_id: string, choice: string) => {
  const stream = await chat.send(session_id, 'go')
  const asked = (await chat.follow(stream, 'approval')).at(-1)
  assert.is(asked?.event, 'approval')
  const approval_id = String(asked?.data.approval_id)
  await chat.app.post('/api/approval/respond', { session_id, approval_id, choice })
  await chat.follow(stream)
  return asked?.data
}

const BLOCK = 'cat >/dev/null; echo "not today" >&2; exit 2'

/** Valid arguments of every tool that runs without further services. */
const calls = (dir: string): [name: string, args: Record<string, unknown>][] => [
  ['terminal', { command: `touch ${dir}/terminal` }],
  ['write_file', { path: `${dir}/write_file`, content: 'x' }],
  ['patch', { mode: 'replace', path: `${dir}/seed`, old_string: 'a', new_string: 'b' }],
  ['read_file', { path: `${dir}/seed` }],
  ['search_files', { pattern: 'a', path: dir }],
  ['execute_code', { code: `open('${dir}/code', 'w').write('x')` }],
  ['process', { action: 'list' }],
  ['todo', { todos: [{ id: '1', content: 'x', status: 'pending' }] }],
  ['memory', { action: 'add', target: 'memory', content: 'x' }],
  ['session_search', { query: 'x' }],
  ['skills_list', {}],
  ['skill_view', { name: 'x' }],
  ['skill_manage', { action: 'create', name: 'made', content: '---\nname: made\n---\nx' }],
  ['cronjob', { action: 'list' }],
  ['clarify', { question: 'Which?', choices: ['a', 'b'] }],
  ['web_extract', { urls: ['http://127.0.0.1:9/'] }],
  ['delegate_task', { goal: 'x' }],
  ['vision_analyze', { image_url: `${dir}/seed`, question: 'What is it?' }],
]

/** Then the model is offered every tool there is. */
const DESCRIBES_ALL = { tools: { tool_search: 'off' } }

test('a hook blocks every tool; the model gets the reason and nothing happens', async ({
  chat,
}) => {
  const dir = join(chat.app.userHome, 'project')
  mkdirSync(dir)
  writeFileSync(join(dir, 'seed'), 'a')
  configure(chat, {
    approvals: { mode: 'off' },
    hooks: { pre_tool_call: [{ command: BLOCK }] },
    ...DESCRIBES_ALL,
  })
  const all = calls(dir)
  for (const [name, args] of all) chat.provider.push(use(name, args, `c_${name}`))
  chat.provider.push(DONE)
  const id = await newSession(chat)
  await chat.turn(id, 'go')
  const offered: string[] = chat.provider.requests[0]?.body.tools.map(
    (tool: { function: { name: string } }) => tool.function.name,
  )
  const missing = offered.filter(name => !all.some(([known]) => known === name))
  assert.equal(missing, [], 'a new tool belongs in this table')
  const messages = (await chat.messages(id)).filter(({ role }) => role === 'tool')
  for (const [name] of all) {
    if (!offered.includes(name)) continue
    const result = messages.find(({ tool_call_id }) => tool_call_id === `c_${name}`)
    assert.match(String(result?.content), /not today/, name)
    assert.equal(actionsOf(result), ['blocked'], name)
  }
  assert.equal(readFileSync(join(dir, 'seed'), 'utf8'), 'a')
  for (const file of ['terminal', 'write_file', 'code']) assert.not(existsSync(join(dir, file)))
  assert.not(existsSync(join(chat.app.home, 'skills', 'made')))
  const { body } = await chat.app.get('/api/hooks')
  assert.equal(
    body.hooks.map((row: Record<string, unknown>) => [row.event, row.failures]),
    [['pre_tool_call', 0]],
  )
  assert.ok(body.hooks[0].blocks >= offered.length)
})

test('calls of subagents and scripts, of MCP tools, of scheduled tasks pass the hooks too', async ({
  chat,
}) => {
  const { app, provider } = chat
  const mark = join(app.userHome, 'mark')
  const server = bundleProgram(join(import.meta.dirname, '../lib/mcp/_server.ts'))
  configure(chat, {
    approvals: { mode: 'off', cron_mode: 'approve' },
    mcp_servers: { odd: { command: process.execPath, args: [server] } },
    hooks: {
      PreToolUse: [{ matcher: 'Bash|mcp__odd__.*', hooks: [{ type: 'command', command: BLOCK }] }],
    },
  })
  const touch = use('terminal', { command: `touch ${mark}` }, 't1')
  const refused = async (...steps: Step[]) => {
    const from = provider.requests.length
    provider.clear()
    provider.push(...steps)
    const id = await newSession(chat)
    await chat.turn(id, 'go')
    const bodies = JSON.stringify(provider.requests.slice(from).map(({ body }) => body.messages))
    assert.match(bodies, /not today/)
    assert.not(existsSync(mark))
    return (await chat.messages(id)).flatMap(({ _hooks }) => (_hooks as object[] | undefined) ?? [])
  }
  const blocked = {
    event: 'PreToolUse',
    hook: BLOCK,
    action: 'blocked',
    text: 'not today',
  }
  const shown = await refused(use('delegate_task', { goal: 'touch it' }, 'd1'), touch, DONE, DONE)
  assert.equal(
    shown,
    [blocked],
    'what a hook did in a subagent is shown at the call that started it',
  )
  await refused(
    use('delegate_task', { goal: 'delegate it' }, 'd1'),
    use('delegate_task', { goal: 'touch it' }, 'd2'),
    touch,
    DONE,
    DONE,
    DONE,
  )
  const code = `from agent_tools import terminal\nprint(terminal(command='touch ${mark}'))`
  await refused(use('execute_code', { code }), DONE)
  await refused(use('mcp_odd_echo', { text: 'x' }), DONE)
  provider.clear()
  provider.push(touch, DONE)
  await runNow(app, await create(app))
  assert.not(existsSync(mark))
})

test('changed arguments are validated, and pass rules, blocked commands, and approvals again', async ({
  chat,
}) => {
  const { app, provider } = chat
  const mark = join(app.userHome, 'mark')
  /** In a file, because a path that the command itself names is protected. */
  const to = (args: unknown) => {
    const reply = { hookSpecificOutput: { permissionDecision: 'allow', updatedInput: args } }
    return { command: script(chat, 'to.sh', `cat >/dev/null; echo '${JSON.stringify(reply)}'`) }
  }
  const id = await newSession(chat)
  const result = async (entry: unknown, more: Sections = {}) => {
    configure(chat, { hooks: { PreToolUse: [entry] }, ...more })
    provider.push(use('terminal', { command: 'true' }), DONE)
    await chat.turn(id, 'go')
    return resultsIn(chat).at(-1) ?? ''
  }
  assert.match(await result(to({ wrong: 1 })), /Invalid arguments/)
  assert.match(
    await result(to({ command: `touch ${mark}` }), { approvals: { deny: ['touch *'] } }),
    /approvals.deny/,
  )
  assert.match(await result(to({ command: 'rm -rf /' })), /no approval can allow it/)
  assert.not(existsSync(mark))
  // A control file needs the user, whatever a hook allows.
  configure(chat, {
    hooks: { PreToolUse: [to({ command: `echo x >> ${app.home}/config.yaml` })] },
  })
  provider.push(use('terminal', { command: 'true' }), DONE)
  await answer(chat, id, 'deny')
  // Otherwise it replaces the approval, and the model is shown what ran.
  const ran = await result(to({ command: `touch ${mark} && curl --version` }))
  assert.ok(existsSync(mark))
  assert.match(ran, /_hooks.*changed the arguments.*touch/)
  const message = (await chat.messages(id)).findLast(({ role }) => role === 'tool')
  assert.equal(actionsOf(message), ['changed', 'allowed'])
})

test('a hook that asks makes the user decide, even where nothing is asked', async ({ chat }) => {
  const { app, provider } = chat
  const mark = join(app.userHome, 'mark')
  const reply = {
    hookSpecificOutput: { permissionDecision: 'ask', permissionDecisionReason: 'sure?' },
  }
  configure(chat, {
    approvals: { mode: 'off' },
    hooks: { PreToolUse: [{ matcher: 'Bash', command: `echo '${JSON.stringify(reply)}'` }] },
  })
  const id = await newSession(chat)
  for (const [choice, ran] of [
    ['deny', false],
    ['once', true],
  ] as const) {
    provider.push(use('terminal', { command: `touch ${mark}` }), DONE)
    const asked = await answer(chat, id, choice)
    assert.match(String(asked?.description), /sure\?/)
    assert.equal(asked?.choices, ['once', 'deny'])
    assert.is(existsSync(mark), ran)
  }
})

test('a hook script in the workspace is a control file', async ({ chat }) => {
  const { app, provider } = chat
  const dir = join(app.userHome, 'project')
  mkdirSync(join(dir, 'tools'), { recursive: true })
  writeFileSync(join(dir, 'tools', 'check.sh'), 'exit 0')
  await app.post('/api/workspaces/add', { path: dir })
  configure(chat, {
    approvals: { mode: 'off' },
    hooks: { pre_tool_call: [{ command: 'sh "$CLAUDE_PROJECT_DIR"/tools/check.sh' }] },
  })
  const id = await newSession(chat, dir)
  const path = 'tools/check.sh'
  provider.push(use('read_file', { path }), DONE)
  await chat.turn(id, 'read')
  for (const step of [
    use('write_file', { path, content: 'exit 0 # changed' }),
    use('terminal', { command: `echo changed > ${path}` }),
  ]) {
    provider.push(step, DONE)
    await answer(chat, id, 'deny')
    assert.is(readFileSync(join(dir, path), 'utf8'), 'exit 0')
  }
})

test('a blocked message fails its turn and is never sent to a model', async ({ chat }) => {
  const { provider } = chat
  configure(chat, {
    hooks: {
      UserPromptSubmit: [{ command: 'grep -q password && { echo no passwords >&2; exit 2; }; :' }],
    },
  })
  const id = await newSession(chat)
  const events = await chat.turn(id, 'my password is hunter2')
  const failure = events.find(({ event }) => event === 'apperror')
  assert.match(String(failure?.data.message), /no passwords/)
  provider.push(DONE)
  await chat.turn(id, 'hello')
  const sent = JSON.stringify(provider.requests.map(({ body }) => body))
  assert.not.match(sent, /hunter2/)
  assert.match(sent, /withheld/)
})

test('a hook that hangs is ended with the turn, and holds up no other chat', async ({ chat }) => {
  const { app, provider } = chat
  const mark = join(app.userHome, 'pid')
  configure(chat, {
    hooks: { pre_tool_call: [{ matcher: 'terminal', command: `echo $$ >${mark}; sleep 60` }] },
  })
  const [first, second] = [await newSession(chat), await newSession(chat)]
  provider.push(use('terminal', { command: 'true' }))
  const stream = await chat.send(first, 'go')
  await chat.follow(stream, 'tool')
  provider.push(DONE)
  await chat.turn(second, 'hello')
  await until(() => existsSync(mark) && readFileSync(mark, 'utf8') !== '')
  await app.get(`/api/chat/cancel?stream_id=${stream}`)
  await chat.follow(stream)
  await ended(Number(readFileSync(mark, 'utf8')))
})

test.run()
