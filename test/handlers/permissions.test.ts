/** Permission rules over HTTP: every tool and subagent, scripts, unattended turns, external agents, and the settings of the page. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../_program.ts'
import { parseRule } from '../../lib/agent/permissions/rule.ts'
import { TOOLS } from '../../lib/base/tools.ts'
import { gate, type Step } from '../_provider.ts'
import { startChat } from './_chat.ts'

const SERVER = bundleProgram(join(import.meta.dirname, '../lib/mcp/_server.ts'))

const permissions = suite('permission rules over HTTP')

type Chat = Awaited<ReturnType<typeof startChat>>
type Permissions = { deny?: unknown; ask?: unknown; allow?: unknown }

const configure = ({ app, provider }: Chat, rules: Permissions | null, more = {}): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom', base_url: provider.url, default: 'test-model' },
      checkpoints: { enabled: false },
      memory: { memory_enabled: true },
      // Without a search key the tool is not offered.
      web: { search_backend: 'duckduckgo' },
      // The model is offered every tool there is.
      tools: { tool_search: 'off' },
      mcp_servers: {
        one: {
          command: process.execPath,
          args: [SERVER, 'echo'],
          tools: { include: ['echo', 'erase'] },
        },
      },
      ...(rules && { permissions: rules }),
      ...more,
    }),
  )

/** Arguments with which each tool does something harmless; a new tool needs a row. */
const ARGUMENTS: Readonly<Record<string, Record<string, unknown>>> = {
  terminal: { command: 'touch ran' },
  process: { action: 'list' },
  execute_code: { code: 'print(1)' },
  read_file: { path: 'a.txt' },
  write_file: { path: 'new.txt', content: 'x' },
  patch: { path: 'a.txt', old_string: 'text', new_string: 'other' },
  search_files: { pattern: 'text' },
  web_search: { query: 'x' },
  web_extract: { urls: ['http://127.0.0.1:1/'] },
  vision_analyze: { image_url: 'a.png', question: 'What?' },
  skills_list: {},
  skill_view: { name: 'none' },
  skill_manage: { action: 'delete', name: 'none' },
  memory: { action: 'add', target: 'memory', content: 'x' },
  session_search: { query: 'x' },
  todo: { todos: [{ id: '1', content: 'x', status: 'pending' }] },
  clarify: { question: 'Which?' },
  delegate_task: { goal: 'Count' },
  cronjob: { action: 'list' },
}

/** Asks the user itself, or only changes the turn's own state, so a denial before the question is enough. */
const ASKING = new Set(['clarify', 'exit_plan_mode'])

const newSession = async ({ app }: Chat): Promise<{ id: string; workspace: string }> => {
  const { session_id: id } = (await app.post('/api/session/new', {})).body.session
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  const { workspace } = (await app.get(`/api/session/status?session_id=${id}`)).body
  writeFileSync(join(workspace, 'a.txt'), 'text\n')
  return { id, workspace }
}

const toolResults = (chat: Chat): Record<string, string> => {
  const last = chat.provider.requests.findLast(({ body }) => body.messages.at(-1).role === 'tool')
  assert.ok(last)
  const { messages } = last.body
  return Object.fromEntries(
    messages
      .filter(({ role }: { role: string }) => role === 'tool')
      .map((message: { tool_call_id: string; content: string }) => [
        message.tool_call_id,
        message.content,
      ]),
  )
}

const callsFor = (names: readonly string[]) =>
  names.map(name => ({ id: `call_${name}`, name, arguments: ARGUMENTS[name] ?? {} }))

/** One turn in which the model calls every tool that it is offered; `rules` are written after the tools were offered. */
const callEveryTool = async (
  chat: Chat,
  rules: Permissions,
  answer: (approval: Record<string, unknown>) => 'once' | 'deny',
) => {
  const { app, provider } = chat
  configure(chat, null)
  const { id, workspace } = await newSession(chat)
  const { opened, open } = gate()
  let offered: string[] = []
  const first = { gate: opened } as Step
  provider.otherwise = body => {
    if (body.messages.at(-1).role === 'tool') return { text: 'Done.' }
    if (offered.length > 0) return { text: 'A summary.' }
    offered = body.tools.map((tool: { function: { name: string } }) => tool.function.name)
    first.toolCalls = callsFor(offered)
    configure(chat, rules)
    open()
    return first
  }
  const asked: Record<string, unknown>[] = []
  const stream = await chat.send(id, 'go')
  for await (const event of app.events(`/api/chat/stream?stream_id=${stream}&after=0`)) {
    if (event.event === 'approval') {
      const { approval_id } = event.data as { approval_id: string }
      asked.push(event.data as Record<string, unknown>)
      const choice = answer(event.data as Record<string, unknown>)
      await app.post('/api/approval/respond', { session_id: id, approval_id, choice })
    }
    if (event.event === 'clarify') {
      const { clarify_id } = event.data as { clarify_id: string }
      await app.post('/api/clarify/respond', { session_id: id, clarify_id, response: 'This' })
    }
    if (event.event === 'stream_end') break
  }
  return { offered, asked, results: toolResults(chat), workspace }
}

permissions('every tool has a row in this test, and a reach or none on purpose', () => {
  const known = TOOLS.flatMap(({ name, toolset }) => (toolset === null ? [] : [name]))
  const without = known.filter(name => !Object.hasOwn(ARGUMENTS, name) && !ASKING.has(name))
  assert.equal(
    without,
    [],
    'a new tool needs a row here, and says in `reaches` which files, commands, or hosts it reaches',
  )
})

permissions(
  'a deny rule that is added during a turn denies every tool, also of MCP servers',
  async () => {
    await using chat = await startChat()
    const { offered, asked, results, workspace } = await callEveryTool(
      chat,
      { deny: ['*'] },
      () => 'once',
    )
    assert.ok(offered.length >= 15, offered.join(' '))
    for (const name of offered) assert.ok(parseRule(name).ok, `a rule cannot name ${name}`)
    assert.ok(
      offered.some(name => name.startsWith('mcp_one_')),
      offered.join(' '),
    )
    for (const name of offered)
      assert.match(results[`call_${name}`] ?? '', /permissions\.deny/, name)
    assert.equal(asked, [])
    assert.not(existsSync(join(workspace, 'ran')))
    assert.not(existsSync(join(workspace, 'new.txt')))
  },
)

permissions(
  'an ask rule asks about every tool once, also with approvals off; a no stops it',
  async () => {
    await using chat = await startChat()
    const denied = await callEveryTool(chat, { ask: ['*'] }, () => 'deny')
    assert.is(denied.asked.length, denied.offered.length)
    for (const { pattern_keys: keys, choices, description } of denied.asked) {
      assert.ok((keys as string[]).includes('rule: *'))
      assert.equal(choices, ['once', 'deny'])
      assert.match(String(description), /Asked because of the rule “\*”/)
    }
    for (const name of denied.offered)
      assert.match(denied.results[`call_${name}`] ?? '', /denied/, name)
    assert.not(existsSync(join(denied.workspace, 'ran')))

    const allowed = await callEveryTool(chat, { ask: ['*'] }, () => 'once')
    assert.ok(existsSync(join(allowed.workspace, 'ran')))
    assert.is(readFileSync(join(allowed.workspace, 'a.txt'), 'utf8'), 'other\n')
    // The tool itself asks no second time about what was just approved.
    assert.is(allowed.asked.length, allowed.offered.length)
  },
)

/** A turn with one call; returns its result and the approvals that were asked for (and denied). */
const act = async (
  chat: Chat,
  name: string,
  args: Record<string, unknown>,
  { inner, prepare }: { inner?: Step; prepare?: (id: string) => Promise<unknown> } = {},
) => {
  const { provider, app } = chat
  let calls = 0
  provider.otherwise = body => {
    if (body.messages.at(-1).role === 'tool') return { text: 'Done.' }
    calls++
    if (calls === 1) return { toolCalls: [{ id: 'c1', name, arguments: args }] }
    return inner && calls === 2 ? inner : { text: 'A summary.' }
  }
  const { id, workspace } = await newSession(chat)
  await prepare?.(id)
  const from = provider.requests.length
  const asked: string[] = []
  const stream = await chat.send(id, 'go')
  for await (const event of app.events(`/api/chat/stream?stream_id=${stream}&after=0`)) {
    if (event.event === 'approval') {
      const { approval_id, description } = event.data as Record<string, string>
      asked.push(description ?? '')
      await app.post('/api/approval/respond', { session_id: id, approval_id, choice: 'deny' })
    }
    if (event.event === 'stream_end') break
  }
  const results = provider.requests
    .slice(from)
    .flatMap(({ body }) => body.messages.filter(({ role }: { role: string }) => role === 'tool'))
    .map(({ content }: { content: string }) => content)
  return { asked, results: results.join('\n'), workspace }
}

permissions('a denied tool is not offered from the next turn on', async () => {
  await using chat = await startChat()
  configure(chat, { deny: ['web_extract', 'mcp__one', 'bash(rm *)'] })
  await act(chat, 'todo', { todos: [] })
  const names = chat.provider.requests
    .flatMap(({ body }) => body.tools ?? [])
    .map(tool => tool.function.name)
  assert.ok(names.includes('terminal'))
  assert.not(names.some(name => name === 'web_extract' || name.startsWith('mcp_one_')))
})

permissions('deny and ask hold for scripts, subagents, and auto-approved chats', async () => {
  await using chat = await startChat()
  const rules = { deny: ['bash(touch denied*)', 'read(secret/**)'], ask: ['bash(touch asked*)'] }
  configure(chat, rules, { approvals: { mode: 'off' } })
  const yolo = async (id: string) => {
    const { status } = await chat.app.post('/api/session/yolo', { session_id: id })
    assert.is(status, 200)
  }
  const use = (command: string): Step => ({
    toolCalls: [{ id: 'x1', name: 'terminal', arguments: { command } }],
  })
  const tries: [string, Record<string, unknown>, Step?][] = [
    ['terminal', { command: 'env touch denied' }],
    ['execute_code', { code: 'print(terminal("touch denied"))' }],
    ['delegate_task', { goal: 'x' }, use('touch denied')],
    ['terminal', { command: 'touch asked' }],
    ['execute_code', { code: 'print(terminal("touch asked"))' }],
    ['delegate_task', { goal: 'x' }, use('touch asked')],
  ]
  for (const [name, args, inner] of tries) {
    const { asked, results, workspace } = await act(chat, name, args, {
      ...(inner && { inner }),
      prepare: yolo,
    })
    const what = JSON.stringify([name, args])
    const isAsk = JSON.stringify([args, inner]).includes('touch asked')
    assert.is(asked.length, isAsk ? 1 : 0, what)
    if (isAsk) assert.match(asked[0] ?? '', /the rule “bash\(touch asked\*\)”/)
    else assert.match(results, /permissions\.deny/, what)
    for (const file of ['denied', 'asked']) assert.not(existsSync(join(workspace, file)), what)
  }
  const { results, workspace } = await act(
    chat,
    'search_files',
    { pattern: 'hidden words' },
    {
      async prepare(id) {
        const { body } = await chat.app.get(`/api/session/status?session_id=${id}`)
        mkdirSync(join(body.workspace, 'secret'), { recursive: true })
        writeFileSync(join(body.workspace, 'secret', 'key'), 'hidden words\n')
        writeFileSync(join(body.workspace, 'open.txt'), 'hidden words\n')
        writeFileSync(join(body.workspace, 'AGENTS.md'), 'Rules. @secret/more.md\n')
        writeFileSync(join(body.workspace, 'secret', 'more.md'), 'imported words\n')
      },
    },
  )
  assert.match(results, /open\.txt/)
  assert.not.match(results, /secret/)
  const sent = JSON.stringify(chat.provider.requests.map(({ body }) => body.messages))
  assert.not.match(sent, /imported words/)
  assert.ok(existsSync(join(workspace, 'secret', 'key')))
})

permissions('allow answers what would be asked, but never for control files', async () => {
  await using chat = await startChat()
  configure(chat, { allow: ['bash(python3 -c *)'] })
  const run = await act(chat, 'terminal', { command: `python3 -c 'print(40 + 2)'` })
  assert.equal(run.asked, [])
  assert.match(run.results, /42/)
  configure(chat, { allow: ['*'] })
  const config = join(chat.app.home, 'config.yaml')
  for (const command of [`echo x >> ${config}`, `sed -i s/a/b/ ${config}`]) {
    const { asked } = await act(chat, 'terminal', { command })
    assert.is(asked.length, 1, command)
  }
  const edit = { path: config, old_string: 'permissions', new_string: 'x' }
  assert.is((await act(chat, 'patch', edit)).asked.length, 1)
})

permissions('a list that cannot be read refuses every tool until it is corrected', async () => {
  await using chat = await startChat()
  const wrong: Permissions[] = [
    { deny: ['bsh(rm *)'] },
    { ask: [{ bash: 'rm' }] },
    { deny: { bash: 'deny' } },
    { denied: ['bash'] } as Permissions,
  ]
  for (const rules of wrong) {
    configure(chat, rules)
    const { results, workspace } = await act(chat, 'terminal', { command: 'touch ran' })
    assert.match(results, /Refused because of permissions/, JSON.stringify(rules))
    assert.not(existsSync(join(workspace, 'ran')))
  }
  configure(chat, { allow: ['bsh(rm *)'] })
  const { body } = await chat.app.get('/api/guards')
  assert.equal(
    body.guards.map(({ key, closes }: { key: string; closes: string[] }) => [key, closes]),
    [['permissions.allow', []]],
  )
  const { workspace } = await act(chat, 'terminal', { command: 'touch ran' })
  assert.ok(existsSync(join(workspace, 'ran')))
})

permissions('the page lists, adds, replaces, and removes rules; comments stay', async () => {
  await using chat = await startChat()
  const { app } = chat
  const path = join(app.home, 'config.yaml')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, `# mine\n${text}# below\npermissions:\n  # why\n  deny:\n    - bash(rm *)\n`)
  for (const [input, status, error] of [
    [{ list: 'deny', add: 'bsh(x)' }, 400, /no tool “bsh”/],
    [{ list: 'nope', add: 'bash' }, 400, /./],
    [{ list: 'deny', add: '' }, 400, /./],
    [{ list: 'deny', remove: 'bash(mv *)' }, 404, /not in the list/],
    [{ list: 'deny', remove: 'bash(mv *)', add: 'bash(cp *)' }, 404, /not in the list/],
  ] as const) {
    const { status: found, body } = await app.post('/api/permissions', input)
    assert.is(found, status, JSON.stringify(input))
    assert.match(body.error, error)
  }
  await app.post('/api/permissions', { list: 'deny', add: 'Read(~/.ssh/**)' })
  await app.post('/api/permissions', { list: 'deny', add: 'Read(~/.ssh/**)' })
  await app.post('/api/permissions', { list: 'allow', add: 'bash(echo "a: b" *)' })
  const { body } = await app.post('/api/permissions', {
    list: 'deny',
    remove: 'bash(rm *)',
    add: 'bash(rm -rf *)',
  })
  const rulesOf = (list: string) => body.lists[list].map(({ rule }: { rule: string }) => rule)
  assert.equal(rulesOf('deny'), ['bash(rm -rf *)', 'Read(~/.ssh/**)'])
  assert.equal(rulesOf('allow'), ['bash(echo "a: b" *)'])
  assert.equal((await app.get('/api/permissions')).body, body)
  const after = readFileSync(path, 'utf8')
  for (const comment of ['# mine', '# below', '# why']) assert.ok(after.includes(comment), after)
  await app.post('/api/permissions', { list: 'allow', remove: 'bash(echo "a: b" *)' })
  assert.not.match(readFileSync(path, 'utf8'), /allow/)
})

permissions('the page says what would happen, without running anything', async () => {
  await using chat = await startChat()
  const { app } = chat
  configure(chat, {
    deny: ['bash(git push *)', 'read(~/.ssh/**)', 'WebFetch(domain:example.org)', 'web_search'],
    ask: ['edit(*.lock)'],
    allow: ['bash(npm run *)', 'bash(python3 -c *)'],
  })
  const expected: [kind: string, value: string, outcome: string, rule: string | null][] = [
    ['command', 'git  push -f', 'deny', 'bash(git push *)'],
    ['command', 'touch x.lock', 'ask', 'edit(*.lock)'],
    ['command', 'echo x | base64 -d | sh', 'unsure', 'bash(git push *)'],
    ['command', `python3 -c 'print(1)'`, 'allow', 'bash(python3 -c *)'],
    [
      'command',
      'rm -rf /',
      'refused',
      'Refused, and no approval can allow it: deleting a system directory or the home directory.',
    ],
    ['command', 'rm -rf build', 'approval', 'approvals.outside_sandbox: dangerous'],
    ['command', 'ls', 'free', null],
    ['read', '~/.ssh/id_rsa', 'deny', 'read(~/.ssh/**)'],
    ['edit', 'a.lock', 'ask', 'edit(*.lock)'],
    ['edit', 'a.txt', 'free', null],
    ['url', 'https://www.example.org/x', 'deny', 'WebFetch(domain:example.org)'],
    ['tool', 'web_search', 'deny', 'web_search'],
    ['tool', 'todo', 'free', null],
  ]
  for (const [kind, value, outcome, rule] of expected) {
    const { status, body } = await app.post('/api/permissions/check', { kind, value })
    assert.is(status, 200)
    assert.equal([body.outcome, body.rule], [outcome, rule], value)
  }
  assert.is((await app.post('/api/permissions/check', { kind: 'x', value: 'y' })).status, 400)
  assert.is((await app.post('/api/permissions/check', { kind: 'tool' })).status, 400)
})

permissions.run()
