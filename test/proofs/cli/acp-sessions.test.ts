/** `agent-webui acp`: stored sessions, the client's MCP servers and editor buffers, setup errors, and clients that disappear. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../../_program.ts'
import { startApp } from '../../_app.ts'
import { openDatabase } from '../../../lib/store/sqlite.ts'
import { createProvider, type Scripted, type Step } from '../../_provider.ts'
import { choose, type Editor, rejection, startEditor } from '../../lib/cli/_acp-client.ts'
import { createDesk, type Desk } from '../../lib/cli/_run.ts'
import { ended, isAlive } from '../../_wait.ts'

type World = { desk: Desk; provider: Scripted; editor: Editor }
const test = suite<World>('agent-webui acp: sessions and clients')

test.before(async world => {
  world.desk = createDesk()
  world.provider = await createProvider()
  const { desk, provider } = world
  desk.config('model: {}\n')
  const dir = join(desk.home, 'profiles/work')
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: work-model\n`,
  )
  world.editor = await startEditor(desk, {
    args: ['-p', 'work', '--model=special'],
    capabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      elicitation: { form: {} },
    },
  })
})
test.before.each(({ provider, editor }) => {
  provider.clear()
  provider.requests.length = 0
  editor.updates.length = 0
})
test.after(async ({ desk, provider, editor }) => {
  await editor.close()
  await provider.close()
  desk.close()
})

const temporaryDirs = (desk: Desk): number =>
  readdirSync(desk.root).filter(name => name.startsWith('agent-webui-')).length

const run = (command: string): Step => ({
  toolCalls: [{ name: 'terminal', arguments: { command } }],
})

test('without a model: an authentication error that says what to set up; it works once that is done', async ({
  desk,
  provider,
}) => {
  const editor = await startEditor(desk)
  try {
    const [method] = editor.hello.authMethods ?? []
    assert.is(method?.id, 'setup')
    assert.match(method?.description ?? '', 'agent-webui doctor')
    const error = await rejection(editor.newSession())
    assert.is(error.code, -32000)
    assert.match(error.message, 'agent-webui doctor')
    assert.is(
      (await rejection(editor.agent.request('authenticate', { methodId: 'setup' }))).code,
      -32000,
    )
    desk.useProvider(provider.url)
    await editor.agent.request('authenticate', { methodId: 'setup' })
    provider.push({ text: 'ready' })
    const { sessionId } = await editor.newSession()
    assert.is((await editor.prompt(sessionId, 'hi')).stopReason, 'end_turn')
    await editor.agent.request('session/delete', { sessionId })
  } finally {
    await editor.close()
  }
})

test('offers the commands of the user before skills of the same name, and runs them', async ({
  desk,
  provider,
  editor,
}) => {
  const home = join(desk.home, 'profiles/work')
  const files: [string, string][] = [
    ['commands/review.md', '---\ndescription: Mine\n---\nReview $ARGUMENTS now.'],
    ['skills/review/SKILL.md', '---\nname: review\ndescription: A skill\n---\nText'],
  ]
  for (const [path, text] of files) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const { sessionId } = await editor.newSession()
  const update = await editor.seen(each => each.sessionUpdate === 'available_commands_update')
  const offered = 'availableCommands' in update ? update.availableCommands : []
  assert.equal(
    offered.filter(({ name }) => name === 'review').map(({ description }) => description),
    ['Mine'],
  )
  provider.push({ text: 'Good.' })
  await editor.prompt(sessionId, '/review the code')
  assert.match(provider.requests[0]?.body.messages.at(-1).content, 'Review the code now.')
})

test('a session that is loaded several times at once opens each time, and can be continued', async ({
  desk,
  provider,
  editor,
}) => {
  const { agent } = editor
  const { sessionId } = await editor.newSession()
  provider.push({ text: 'One.' }, { text: 'Two.' })
  await editor.prompt(sessionId, 'First')
  const place = { sessionId, cwd: desk.workspace, mcpServers: [] }
  await Promise.all([1, 2, 3].map(() => agent.request('session/resume', place)))
  await editor.prompt(sessionId, 'Second')
  const sent: { role: string }[] = provider.requests.at(-1)?.body.messages
  assert.equal(
    sent.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  )
})

test('sessions are listed, loaded, resumed, and deleted after a restart, and the service lists them', async ({
  desk,
  provider,
}) => {
  writeFileSync(join(desk.workspace, 'a.txt'), 'x')
  provider.push(
    {
      text: 'Writing.',
      toolCalls: [
        { name: 'patch', arguments: { path: 'a.txt', old_string: 'x', new_string: 'new\n' } },
      ],
    },
    run('false'),
    { text: 'Written.' },
  )
  const dirsBefore = temporaryDirs(desk)
  const first = await startEditor(desk)
  const { sessionId } = await first.newSession()
  await first.prompt(sessionId, 'Write a.txt')
  first.child.stdin?.end()
  assert.is(await first.ended, 0, first.err())
  assert.is(temporaryDirs(desk), dirsBefore)

  const editor = await startEditor(desk)
  try {
    const { agent, updates } = editor
    const { sessions } = await agent.request('session/list', { cwd: desk.workspace })
    assert.equal(
      sessions.map(({ sessionId: id, title, cwd }) => [id, title, cwd]),
      [[sessionId, 'Write a.txt', desk.workspace]],
    )
    assert.equal((await agent.request('session/list', { cwd: '/' })).sessions, [])
    const place = { sessionId, cwd: desk.workspace, mcpServers: [] }
    await agent.request('session/load', place)
    const path = join(desk.workspace, 'a.txt')
    const shown = updates.map(update =>
      'content' in update && update.content && 'text' in update.content
        ? [update.sessionUpdate, update.content.text]
        : 'status' in update
          ? [update.sessionUpdate, update.status]
          : [update.sessionUpdate],
    )
    assert.equal(
      shown.filter(([kind]) => kind !== 'available_commands_update'),
      [
        ['user_message_chunk', 'Write a.txt'],
        ['agent_message_chunk', 'Writing.'],
        ['tool_call', 'pending'],
        ['tool_call_update', 'completed'],
        ['tool_call', 'pending'],
        ['tool_call_update', 'completed'],
        ['agent_message_chunk', 'Written.'],
      ],
    )
    const call = updates.find(update => update.sessionUpdate === 'tool_call')
    assert.equal(call?.content, [{ type: 'diff', path, oldText: 'x', newText: 'new\n' }])
    updates.length = 0
    await agent.request('session/resume', place)
    assert.not.ok(updates.some(update => update.sessionUpdate === 'user_message_chunk'))
    provider.push({ text: 'Yes.' })
    await editor.prompt(sessionId, 'Sure?')
    const roles = provider.requests.at(-1)?.body.messages.map(({ role }: { role: string }) => role)
    assert.equal(roles, [
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])

    const app = await startApp()
    try {
      copyFileSync(join(desk.home, 'state.db'), join(app.home, 'state.db'))
      await app.post('/api/settings', { show_cli_sessions: true })
      const listed = (await app.get('/api/sessions')).body.sessions
      assert.equal(
        listed.map((row: Record<string, unknown>) => [row.session_id, row.source_tag, row.title]),
        [[sessionId, 'acp', 'Write a.txt']],
      )
    } finally {
      await app.close()
    }
    await agent.request('session/close', { sessionId })
    assert.is((await rejection(editor.prompt(sessionId, 'closed?'))).code, -32002)
    await agent.request('session/delete', { sessionId })
    await agent.request('session/delete', { sessionId })
    assert.equal((await agent.request('session/list', {})).sessions, [])

    const state = openDatabase(join(desk.home, 'state.db'))
    state
      .prepare(
        "insert into sessions (id, source, started_at) values ('tele1', 'telegram', 1), ('acp1', 'acp', 1)",
      )
      .run()
    const ids = () => state.prepare('select id from sessions').pluck().all()
    for (const other of ['tele1', 'acp1'])
      await agent.request('session/delete', { sessionId: other })
    assert.equal(ids(), ['tele1'], 'a session that the editor does not list stays')
    state.close()
  } finally {
    await editor.close()
  }
})

test('MCP servers of a session serve that session alone', async ({ provider, editor }) => {
  const server = bundleProgram(join(import.meta.dirname, '../../lib/mcp/_server.ts'))
  provider.push({ text: 'one' }, { text: 'two' })
  const named = { name: 'helper', command: process.execPath, args: [server], env: [] }
  const [withServer, without] = [await editor.newSession([named]), await editor.newSession()]
  await editor.prompt(withServer.sessionId, 'hi')
  await editor.prompt(without.sessionId, 'hi')
  const tools = provider.requests.map(({ body }) =>
    body.tools.filter(({ function: { name } }: { function: { name: string } }) =>
      name.startsWith('mcp_'),
    ),
  )
  assert.ok(tools[0].length > 0)
  assert.equal(tools[1], [])
  assert.match(tools[0][0].function.name, /^mcp_helper_/)
})

test('unsaved changes of the editor are read and edited, and edits appear in it', async ({
  desk,
  provider,
  editor,
}) => {
  const path = join(desk.workspace, 'a.txt')
  writeFileSync(path, 'one\r\ntwo\r\n')
  writeFileSync(join(desk.workspace, '.env'), 'TOKEN=x\n')
  const read: string[] = []
  const written: [string, string][] = []
  editor.read = request => {
    read.push(request.path)
    return { content: 'one\ntwo\nunsaved\n' }
  }
  editor.write = request => void written.push([request.path, request.content])
  const edit = { path: 'a.txt', old_string: 'unsaved', new_string: 'saved' }
  provider.push(
    { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
    { toolCalls: [{ name: 'patch', arguments: edit }] },
    { toolCalls: [{ name: 'write_file', arguments: { path: 'b.txt', content: 'new\n' } }] },
    { toolCalls: [{ name: 'read_file', arguments: { path: join(desk.home, '.env') } }] },
    { text: 'Done.' },
  )
  const { sessionId } = await editor.newSession()
  await editor.prompt(sessionId, 'edit')
  const results = provider.requests
    .at(-1)
    ?.body.messages.filter(({ role }: { role: string }) => role === 'tool')
    .map(({ content }: { content: string }) => content)
  assert.match(results[0], 'unsaved')
  assert.match(results[0], '"unsaved_changes":true')
  assert.is(readFileSync(path, 'utf8'), 'one\r\ntwo\r\nsaved\r\n')
  assert.equal(written, [
    [path, 'one\r\ntwo\r\nsaved\r\n'],
    [join(desk.workspace, 'b.txt'), 'new\n'],
  ])
  // Files that no tool may read are not asked for.
  assert.match(results[3], 'denied')
  assert.not.ok(read.some(each => each.endsWith('.env')))
})

test('rules of the profile apply: denied tools do not run in auto-approve, an ask rule asks the editor', async ({
  desk,
  provider,
  editor,
}) => {
  const config = join(desk.home, 'profiles/work/config.yaml')
  const before = readFileSync(config, 'utf8')
  writeFileSync(
    config,
    `${before}permissions:\n  deny: ["write_file(secret/**)"]\n  ask: ["terminal(echo *)"]\n`,
  )
  const path = join(desk.workspace, 'secret/a.txt')
  editor.permissions.length = 0
  editor.permission = () => choose('deny')
  try {
    provider.push(
      { toolCalls: [{ name: 'write_file', arguments: { path, content: 'x' } }] },
      run('echo hello > said.txt'),
      { text: 'No.' },
    )
    const { sessionId } = await editor.newSession()
    await editor.agent.request('session/set_mode', { sessionId, modeId: 'auto' })
    await editor.prompt(sessionId, 'write')
    assert.not(existsSync(path))
    assert.not(existsSync(join(desk.workspace, 'said.txt')))
    assert.is(editor.permissions.length, 1)
    assert.match(JSON.stringify(editor.permissions[0]?.toolCall), 'echo hello')
  } finally {
    writeFileSync(config, before)
    editor.permission = () => choose('once')
  }
})

test('questions of the agent are forms', async ({ provider, editor }) => {
  const call = {
    name: 'clarify',
    arguments: { question: 'Which color?', choices: ['red', 'blue'] },
  }
  provider.push({ toolCalls: [call] }, { text: 'ok' })
  editor.form = () => ({ action: 'accept', content: { choice: 'blue' } })
  const { sessionId } = await editor.newSession()
  await editor.prompt(sessionId, 'paint')
  assert.match(provider.requests.at(-1)?.body.messages.at(-1).content, 'blue')
})

for (const how of ['SIGTERM', 'a client that disappears', 'a client that reads nothing'] as const)
  test(`${how}: the turn and its commands end within a second`, async ({ desk, provider }) => {
    const editor = await startEditor(desk)
    const pidFile = join(desk.workspace, 'pid')
    provider.push(run('echo $$ > pid; echo on; sleep 600'))
    const { sessionId } = await editor.newSession()
    const turn = editor.prompt(sessionId, 'wait').catch(() => undefined)
    await editor.seen(update => JSON.stringify(update).includes('```\\non'))
    const pid = Number(readFileSync(pidFile, 'utf8'))
    assert.ok(isAlive(pid))
    if (how === 'SIGTERM') editor.child.kill('SIGTERM')
    else if (how === 'a client that reads nothing') {
      editor.child.stdout?.destroy()
      editor.child.stdin?.write('{"jsonrpc":"2.0","id":99,"method":"session/list","params":{}}\n')
    } else {
      // A killed client closes both pipes.
      editor.child.stdout?.destroy()
      editor.child.stdin?.end()
    }
    const code = await editor.ended
    assert.is(code, how === 'SIGTERM' ? 143 : 0, editor.err())
    await ended(pid)
    await editor.close()
    await turn
  })

test('a profile of its own; nothing is written to the state directory', async ({
  desk,
  provider,
  editor,
}) => {
  provider.push({ text: 'ok' })
  const { sessionId } = await editor.newSession()
  await editor.prompt(sessionId, 'hi')
  assert.is(provider.requests[0]?.body.model, 'special')
  assert.ok(existsSync(join(desk.home, 'profiles/work/state.db')))
  assert.not(existsSync(join(desk.home, 'webui')))
})

test.run()
