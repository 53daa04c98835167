/** `agent-webui mcp` as a process beside a running service, driven by the SDK's client: lists, reads, searches, asks, approves, cancels. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { programEnv, SERVICE } from '../../../build/start-program.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { createProvider, type Scripted, type Step } from '../../_provider.ts'
import { ended } from '../../_wait.ts'

type World = {
  app: TestApp
  provider: Scripted
  workspace: string
  client: Client
  /** Forms of the server, and the decision that each gets. */
  forms: { message: string; choices: string[] }[]
  decision: string
}
const test = suite<World>('agent-webui mcp')

const connect = async (userHome: string, client: Client): Promise<StdioClientTransport> => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [SERVICE, 'mcp'],
    cwd: userHome,
    env: programEnv(userHome, 0, { TMPDIR: userHome }),
    stderr: 'pipe',
  })
  await client.connect(transport)
  return transport
}

/** The server without the SDK's client, which closes both pipes together. */
const startPlain = (userHome: string) => {
  const child = spawn(process.execPath, [SERVICE, 'mcp'], {
    env: programEnv(userHome, 0, { TMPDIR: userHome }),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let id = 0
  const said = (method: string, params: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
  }
  return { child, said }
}

test.before(async world => {
  world.app = await startApp()
  world.provider = await createProvider()
  world.workspace = join(world.app.userHome, 'project')
  mkdirSync(world.workspace)
  writeFileSync(
    join(world.app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${world.provider.url}\n  default: test-model\n`,
  )
  writeFileSync(join(world.app.home, '.env'), 'SERVICE_TOKEN=tok-1234567890abcdef\n')
  world.forms = []
  world.decision = 'Allow once'
  world.client = new Client(
    { name: 'tester', version: '1' },
    { capabilities: { elicitation: { form: {} } } },
  )
  world.client.setRequestHandler('elicitation/create', ({ params }) => {
    const { message, requestedSchema } = params as unknown as {
      message: string
      requestedSchema: { properties: { decision: { enum: string[] } } }
    }
    world.forms.push({ message, choices: requestedSchema.properties.decision.enum })
    return { action: 'accept' as const, content: { decision: world.decision } }
  })
  await connect(world.app.userHome, world.client)
})
test.before.each(({ provider, forms }) => {
  provider.clear()
  provider.requests.length = 0
  forms.length = 0
})
test.after(async ({ client, app, provider }) => {
  await client.close()
  await app.close()
  await provider.close()
})

const run = (command: string): Step => ({
  toolCalls: [{ name: 'terminal', arguments: { command } }],
})
const chat = async ({ app, workspace }: World, message: string): Promise<string> => {
  const { session_id } = (await app.post('/api/session/new', { workspace })).body.session
  const { stream_id } = (await app.post('/api/chat/start', { session_id, message })).body
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}`))
    if (event === 'stream_end') break
  return session_id
}
// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary results
const call = async ({ client }: World, name: string, args: object): Promise<any> => {
  const { structuredContent, content, isError } = (await client.callTool({
    name,
    arguments: args as Record<string, unknown>,
  })) as { structuredContent?: object; content: { text: string }[]; isError?: boolean }
  return { ...structuredContent, isError: isError ?? false, said: content[0]?.text }
}

test('offers four tools with hints and schemas', async ({ client }) => {
  const { tools } = await client.listTools()
  assert.equal(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
    [
      ['list_sessions', true],
      ['read_session', true],
      ['search_sessions', true],
      ['ask_agent', false],
    ],
  )
  assert.ok(tools.every(({ outputSchema }) => outputSchema))
})

test('rejects unknown sessions, empty prompts, and bad directories with a sentence', async world => {
  const cases: [string, object, RegExp][] = [
    ['read_session', { session_id: 'unknown' }, /no session "unknown"/],
    ['read_session', { session_id: '../../etc/passwd' }, /no session/],
    ['ask_agent', { prompt: ' ' }, /prompt is empty/],
    ['ask_agent', { prompt: 'hi', workspace: 'here' }, /absolute path/],
    ['ask_agent', { prompt: 'hi', session_id: 'x/y' }, /no session/],
  ]
  for (const [name, args, words] of cases) {
    const { isError, said } = await call(world, name, args)
    assert.ok(isError, name)
    assert.match(said, words)
  }
  assert.is(world.provider.requests.length, 0)
})

test('lists, reads from the end, and searches the sessions of the running service, masked', async world => {
  const { provider } = world
  // The snippet of a search ends in the middle of the secret.
  const key = 'sk-abcdefghijklmnopqrstuvwx123456'
  const text = `The zebra sleeps. ${'z '.repeat(86)}${key} tok-1234567890abcdef`
  provider.push({ text }, { text: 'A title' })
  const id = await chat(world, 'Tell me about zebras')
  provider.push({ text: 'Paris.' }, { text: 'Capital' })
  const other = await chat(world, 'Capital of France?')
  const listed = await call(world, 'list_sessions', {})
  assert.equal(
    listed.sessions.map(({ session_id }: { session_id: string }) => session_id),
    [other, id],
  )
  assert.equal([listed.total, listed.sessions[0].source], [2, 'webui'])
  const last = await call(world, 'read_session', { session_id: id, limit: 1 })
  assert.equal([last.messages.length, last.older], [1, 1])
  assert.match(last.messages[0].text, 'The zebra sleeps.')
  assert.not.match(JSON.stringify(last), 'tok-1234567890abcdef')
  const first = await call(world, 'read_session', { session_id: id, before: last.older })
  assert.equal(
    [first.messages.map(({ text }: { text: string }) => text), first.older],
    [['Tell me about zebras'], null],
  )
  // Nothing is indexed yet, then the service has indexed everything.
  for (const isIndexed of [false, true]) {
    if (isIndexed) await world.app.get('/api/sessions/search?q=zebra&content=1')
    const { hits } = await call(world, 'search_sessions', { query: 'zebra sleeps' })
    assert.equal(
      hits.map(({ session_id }: { session_id: string }) => session_id),
      [id],
    )
    assert.match(hits[0].snippet, 'zebra')
    assert.not.match(JSON.stringify(hits), 'sk-abcd')
  }
  const refused = await call(world, 'ask_agent', { prompt: 'more', session_id: id })
  assert.match(refused.said, 'belongs to the server')
})

test('asks: progress, an approval by form, the answer; continues the session', async world => {
  const { provider, client, workspace, forms } = world
  writeFileSync(join(workspace, 'a.txt'), 'x')
  provider.push(run('rm -rf ./a.txt'), { text: 'Removed.' })
  const steps: string[] = []
  const first = (await client.callTool(
    { name: 'ask_agent', arguments: { prompt: 'Remove a.txt', workspace } },
    { onprogress: ({ message }) => void steps.push(message ?? '') },
  )) as { structuredContent: { session_id: string; text: string } }
  const { session_id, text } = first.structuredContent
  assert.is(text, 'Removed.')
  assert.not(existsSync(join(workspace, 'a.txt')))
  assert.equal(steps, ['terminal rm -rf ./a.txt'])
  assert.is(forms.length, 1)
  assert.match(forms[0]?.message ?? '', 'rm -rf ./a.txt')
  assert.equal(forms[0]?.choices, ['Allow once', 'Allow for this session', 'Always allow', 'Deny'])
  provider.push({ text: 'It was a.txt.' })
  const again = await call(world, 'ask_agent', { prompt: 'Which file?', session_id })
  assert.equal([again.said, again.session_id], ['It was a.txt.', session_id])
  const roles = provider.requests.at(-1)?.body.messages.map(({ role }: { role: string }) => role)
  assert.equal(roles, ['system', 'user', 'assistant', 'tool', 'assistant', 'user'])
  const listed = await call(world, 'list_sessions', { limit: 1 })
  assert.equal([listed.sessions[0].session_id, listed.sessions[0].source], [session_id, 'mcp'])
  const { hits } = await call(world, 'search_sessions', { query: 'a.txt' })
  const hit = hits.find((each: { session_id: string }) => each.session_id === session_id)
  const { session } = await call(world, 'read_session', { session_id })
  assert.equal(
    [listed.sessions[0], hit, session].map(each => each?.workspace),
    [workspace, workspace, workspace],
  )
})

test('a denied command does not run; a failed turn is an error with the reason', async world => {
  const { provider, workspace } = world
  writeFileSync(join(workspace, 'keep.txt'), 'x')
  world.decision = 'Deny'
  provider.push(run('rm -rf ./keep.txt'), { text: 'I may not.' })
  assert.is((await call(world, 'ask_agent', { prompt: 'clean', workspace })).said, 'I may not.')
  world.decision = 'Allow once'
  assert.ok(existsSync(join(workspace, 'keep.txt')))
  provider.push({ status: 402, body: { error: { message: 'no more credit' } } })
  const failed = await call(world, 'ask_agent', { prompt: 'hi', workspace })
  assert.ok(failed.isError)
  assert.match(failed.said, 'no more credit')
})

test('cancelling the request stops the turn and its command', async world => {
  const { provider, client, workspace } = world
  provider.push(run('echo $$ > pid; sleep 30'))
  const abort = new AbortController()
  const started = Promise.withResolvers<void>()
  const asked = client
    .callTool(
      { name: 'ask_agent', arguments: { prompt: 'wait', workspace } },
      { signal: abort.signal, onprogress: () => started.resolve() },
    )
    .catch((error: Error) => error.message)
  await started.promise
  const pid = async (): Promise<number> => {
    for (;;) {
      const path = join(workspace, 'pid')
      const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
      if (text !== '') return Number(text)
      await call(world, 'list_sessions', { limit: 1 })
    }
  }
  const child = await pid()
  abort.abort()
  await asked
  await ended(child)
  provider.push({ text: 'Still here.' })
  assert.is((await call(world, 'ask_agent', { prompt: 'hi', workspace })).said, 'Still here.')
})

test('a client that reads nothing any more ends the process and its commands', async ({
  app,
  provider,
  workspace,
}) => {
  const { child, said } = startPlain(app.userHome)
  provider.push(run('echo $$ > pid; sleep 30'))
  said('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'gone', version: '1' },
  })
  await once(child.stdout, 'data')
  const arrived = provider.requests.length + 1
  said('tools/call', { name: 'ask_agent', arguments: { prompt: 'wait', workspace } })
  await provider.arrived(arrived)
  child.stdout.destroy()
  said('tools/call', { name: 'list_sessions', arguments: {} })
  assert.equal(await once(child, 'close'), [0, null])
})

test('a client without forms: approvals are denied, and the answer says so; a cut connection ends the process', async ({
  app,
  provider,
  workspace,
}) => {
  const client = new Client({ name: 'plain', version: '1' })
  const transport = await connect(app.userHome, client)
  try {
    writeFileSync(join(workspace, 'b.txt'), 'x')
    provider.push(run('rm -rf ./b.txt'), { text: 'I may not.' })
    const { structuredContent } = (await client.callTool({
      name: 'ask_agent',
      arguments: { prompt: 'clean', workspace },
    })) as { structuredContent: { notes: string[]; text: string } }
    assert.is(structuredContent.text, 'I may not.')
    assert.match(structuredContent.notes[0] ?? '', /cannot show approvals: rm -rf \.\/b\.txt/)
    assert.ok(existsSync(join(workspace, 'b.txt')))
    const { pid } = transport
    provider.push(run('sleep 30'))
    const arrived = provider.requests.length + 1
    const asked = client
      .callTool({ name: 'ask_agent', arguments: { prompt: 'wait', workspace } })
      .catch(() => undefined)
    await provider.arrived(arrived)
    await client.close()
    await asked
    assert.throws(() => process.kill(pid ?? 0, 0))
  } finally {
    await client.close()
  }
})

test.run()
