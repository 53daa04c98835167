/** Many MCP tools are found by search: the same in every wire format, shown and approved as what they are, with a stable prefix. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../_program.ts'
import type { Recorded, Step } from '../_provider.ts'
import { startChat } from './_chat.ts'
import { requirePrefix } from './_prefix.ts'

const SERVER = bundleProgram(join(import.meta.dirname, '../lib/mcp/_server.ts'))
const FORMATS = ['chat_completions', 'anthropic_messages', 'codex_responses'] as const

const test = suite('tool search')

type Chat = Awaited<ReturnType<typeof startChat>>
type Servers = Record<string, { args: string[]; enabled?: boolean }>

const configure = ({ app, provider }: Chat, apiMode: string, servers: Servers, more = {}): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom:one', default: 'test-model' },
      custom_providers: [
        { name: 'one', base_url: provider.url, api_mode: apiMode, models: ['test-model'] },
      ],
      checkpoints: false,
      mcp_servers: Object.fromEntries(
        Object.entries(servers).map(([name, { args, ...rest }]) => [
          name,
          { command: process.execPath, args: [SERVER, ...args], ...rest },
        ]),
      ),
      ...more,
    }),
  )

const session = async ({ app }: Chat): Promise<string> => {
  const { body } = await app.post('/api/session/new', {})
  const { session_id } = body.session
  await app.post('/api/session/rename', { session_id, title: 'Named' })
  return session_id
}

const toolsOf = ({ body }: Pick<Recorded, 'body'>): Record<string, string> =>
  Object.fromEntries(
    body.tools.map((tool: Recorded['body']) => {
      const { name, description } = tool.function ?? tool
      return [name, description]
    }),
  )

const use = (id: string, name: string, args: Record<string, unknown>): Step => ({
  toolCalls: [{ id, name, arguments: args }],
})
const viaCall = (id: string, name: string, args: Record<string, unknown>): Step =>
  use(id, 'call_tool', { name, arguments: args })

for (const apiMode of FORMATS)
  test(`found, called, approved and shown as the real tool, also after a restart: ${apiMode}`, async () => {
    await using chat = await startChat()
    const { app, provider } = chat
    configure(chat, apiMode, { git: { args: ['wide:60'] } })
    const id = await session(chat)
    provider.push(
      use('s1', 'tool_search', { query: 'list the branches', max_results: 2 }),
      viaCall('c1', 'mcp_git_list_branch', { owner: 'a', repo: 'b' }),
      viaCall('c2', 'mcp_git_no_such', {}),
      { text: 'Done.' },
    )
    await chat.turn(id, 'one')
    const [first] = provider.requests
    const tools = toolsOf(first as Recorded)
    assert.match(tools.tool_search ?? '', 'git (60): archive_branch, ')
    assert.ok('call_tool' in tools)
    assert.not.ok(Object.keys(tools).some(name => name.startsWith('mcp_')))

    const messages = await chat.messages(id)
    const results = messages.filter(({ role }) => role === 'tool')
    const found = JSON.parse(String(results[0]?.content))
    assert.is(found.tools.length, 2)
    assert.is(found.tools[0].name, 'mcp_git_list_branch')
    assert.equal(found.tools[0].parameters.required, ['owner', 'repo'])
    assert.equal(
      results.map(({ name }) => name),
      ['tool_search', 'mcp_git_list_branch', 'call_tool'],
    )
    assert.is(results[1]?.content, '{"owner":"a","repo":"b"}')
    assert.match(
      String(results[2]?.content),
      'There is no tool \\"mcp_git_no_such\\". Similar: mcp_git_',
    )
    const last = JSON.stringify(provider.requests.at(-1)?.body)
    assert.not.match(last, '"via"')
    assert.not.match(last, /"name":"mcp_git_list_branch","(?:arguments":"|input":)/)

    await app.restart()
    provider.push(viaCall('c3', 'mcp_git_delete_issue', { owner: 'a' }), { text: 'Denied.' })
    const stream = await chat.send(id, 'two')
    const seen = await chat.follow(stream, 'approval')
    const shown = seen.filter(({ event }) => event === 'tool').map(({ data }) => data.name)
    assert.equal(shown, ['mcp_git_delete_issue'])
    const { pending } = (await app.get(`/api/approval/pending?session_id=${id}`)).body
    assert.equal(pending.pattern_keys, ['mcp: git/delete_issue'])
    await app.post('/api/approval/respond', { session_id: id, choice: 'deny' })
    await chat.follow(stream)
    requirePrefix(provider.requests)
  })

test('a subagent of the user is described the tools that its file names', async () => {
  await using chat = await startChat()
  const { app, provider } = chat
  configure(chat, 'chat_completions', { git: { args: ['wide:60'] } })
  mkdirSync(join(app.home, 'agents'), { recursive: true })
  writeFileSync(
    join(app.home, 'agents', 'brancher.md'),
    '---\ntools: mcp__git__list_branch\n---\nList.',
  )
  const id = await session(chat)
  provider.push(
    use('d', 'delegate_task', { goal: 'list', agent: 'brancher' }),
    use('l', 'mcp_git_list_branch', { owner: 'a', repo: 'b' }),
    { text: 'Listed.' },
    { text: 'Done.' },
  )
  await chat.turn(id, 'go')
  const [, own, after] = provider.requests as Recorded[]
  assert.equal(Object.keys(toolsOf(own as Recorded)), ['mcp_git_list_branch'])
  assert.is(after?.body.messages.at(-1).content, '{"owner":"a","repo":"b"}')
})

// Anthropic's cache has the tools first: a change of one voids everything.
for (const apiMode of ['anthropic_messages'] as const)
  test(`what was sent stays while servers come and go: ${apiMode}`, async () => {
    await using chat = await startChat()
    const { app, provider } = chat
    const gate = join(app.userHome, 'gate')
    const late = join(app.userHome, 'late')
    writeFileSync(gate, '')
    configure(chat, apiMode, {
      early: { args: ['gate', '', gate] },
      late: { args: ['gate', '', late] },
    })
    const id = await session(chat)
    const say = async (...steps: Step[]) => {
      provider.push(...steps)
      await chat.turn(id, 'go')
      const results = (await chat.messages(id)).filter(({ role }) => role === 'tool')
      return String(results.at(-1)?.content)
    }
    assert.is(await say(use('a', 'mcp_early_echo', { n: 1 }), { text: '1' }), '{"n":1}')
    const tools = toolsOf(provider.requests[0] as Recorded)
    assert.match(
      tools.tool_search ?? '',
      'Not ready when this conversation began, so search again later: late.',
    )
    // One goes, the other comes; the service restarts in between.
    rmSync(gate)
    writeFileSync(late, '')
    await app.restart()
    assert.match(
      await say(use('b', 'mcp_early_echo', { n: 2 }), { text: '2' }),
      'This tool cannot be used now. The MCP server “early” cannot be used: ',
    )
    assert.match(
      await say(use('c', 'tool_search', { query: 'says it again' }), { text: '3' }),
      'mcp_late_echo',
    )
    assert.is(await say(viaCall('d', 'mcp_late_echo', { n: 4 }), { text: '4' }), '{"n":4}')
    // And back again.
    writeFileSync(gate, '')
    rmSync(late)
    await app.restart()
    assert.is(await say(use('e', 'mcp_early_echo', { n: 5 }), { text: '5' }), '{"n":5}')
    assert.match(
      await say(viaCall('f', 'mcp_late_echo', { n: 6 }), { text: '6' }),
      'There is no tool',
    )
    requirePrefix(provider.requests)
    const kept = readFileSync(join(app.state, 'cache', 'prompts', `${id}.tools.json`), 'utf8')
    assert.match(kept, 'mcp_early_echo')
    await app.post('/api/session/delete', { session_id: id })
    assert.throws(() => readFileSync(join(app.state, 'cache', 'prompts', `${id}.tools.json`)))
  })

test('a tool that a server announces later is added, and the others keep their place', async () => {
  await using chat = await startChat()
  const { provider } = chat
  configure(chat, 'chat_completions', { odd: { args: ['well'] } })
  const id = await session(chat)
  provider.push(use('a', 'mcp_odd_grow', {}), { text: 'Done.' })
  await chat.turn(id, 'grow')
  const offered = async (): Promise<string[]> => {
    provider.push({ text: 'Yes.' })
    await chat.turn(id, 'look')
    return Object.keys(toolsOf(provider.requests.at(-1) as Recorded))
  }
  const before = Object.keys(toolsOf(provider.requests[0] as Recorded))
  let now = await offered()
  // The library collects such announcements for a moment.
  while (now.length === before.length) now = await offered()
  assert.equal(now, [...before, 'mcp_odd_grown'])
  assert.equal(await offered(), now)
})

test.run()
