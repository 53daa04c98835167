/** Runs a packed file from its start to its end, with a page and a turn: which parts each step loads, and V8's code caches after it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { root } from './files.mjs'
import { freePort, programEnv } from './start-program.ts'

const delta = (fields, finish_reason = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason }] })}\n\n`

const TOOL_CALL = {
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'read_file', arguments: '{"path":"notes.txt"}' },
}

const answer = ({ stream, messages }) => {
  if (!stream) {
    const message = { role: 'assistant', content: 'A title' }
    return JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
  }
  const isDone = messages.some(({ role }) => role === 'tool')
  const deltas = isDone
    ? [delta({ content: 'Done' }), delta({}, 'stop')]
    : [delta({ tool_calls: [TOOL_CALL] }), delta({}, 'tool_calls')]
  return `${deltas.join('')}data: [DONE]\n\n`
}

/** A provider that calls a tool and then answers. */
const startProvider = async () => {
  const server = createServer(async (req, res) => {
    // Asks for its models as well.
    if (req.method !== 'POST') return void res.writeHead(404).end()
    const body = JSON.parse(Buffer.concat(await req.toArray()).toString())
    const type = body.stream ? 'text/event-stream' : 'application/json'
    res.writeHead(200, { 'Content-Type': type }).end(answer(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** Most homes have a configuration file: the code that reads it is run, too. */
const writeHome = (home, providerPort) => {
  const agentHome = join(home, '.agent')
  mkdirSync(agentHome, { mode: 0o700 })
  writeFileSync(
    join(agentHome, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: http://127.0.0.1:${providerPort}/v1\n  default: warm\n  context_length: 100000\n`,
    { mode: 0o600 },
  )
  const workspace = join(home, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'notes.txt'), 'A note\n')
  return workspace
}

const createClient = port => async (path, body) => {
  const reply = await fetch(
    `http://127.0.0.1:${port}${path}`,
    body && {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    },
  )
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text.slice(0, 300)}`)
  return text
}

/** Polls /health; the service needs a moment to start. */
const waitForAnswer = async (ask, child) => {
  while (child.exitCode === null) {
    try {
      return await ask('/health')
    } catch {
      // Not listening yet.
      await setTimeout(5)
    }
  }
  throw new Error('it exited')
}

const OLD_CHAT = '0123456789ab'

/** The lines of a journal: lib/sessions/entries.ts. */
const oldChat = workspace => {
  const at = 1_767_225_600
  const message = { id: 'm2', role: 'user', content: 'Hello', timestamp: at }
  const meta = { title: 'An old chat', workspace, model: null, profile: 'default' }
  return [
    { n: 1, t: 'session', at, v: 1, id: OLD_CHAT, meta },
    { n: 2, t: 'message', at, message },
  ]
    .map(line => `${JSON.stringify(line)}\n`)
    .join('')
}

/** A page with an old chat. A start that has chats loads what reads them, and nothing of what only a turn needs. */
const openPage = async (ask, home, workspace) => {
  const sessions = join(home, '.agent', 'webui', 'sessions')
  writeFileSync(join(sessions, `${OLD_CHAT}.jsonl`), oldChat(workspace), { mode: 0o600 })
  for (const path of ['/', '/api/settings', '/api/sessions?limit=50', '/api/sessions'])
    await ask(path)
  await ask(`/api/session?session_id=${OLD_CHAT}`)
}

const runTurn = async (ask, workspace) => {
  const { session } = JSON.parse(await ask('/api/session/new', { workspace }))
  const { session_id } = session
  const { stream_id } = JSON.parse(await ask('/api/chat/start', { session_id, message: 'Hello' }))
  const events = await ask(`/api/chat/stream?stream_id=${stream_id}`)
  if (!events.includes('event: stream_end')) throw new Error(`The turn failed:\n${events}`)
  await ask(`/api/session?session_id=${session_id}`)
}

/** Of an answer that fails. */
const fail = async port => {
  const { status } = await fetch(`http://127.0.0.1:${port}/none`)
  if (status !== 404) throw new Error(`/none: ${status}`)
}

/**
 * `{ scripts, last, caches }`: `{ name, parts }` of each step, the parts of an error and of the stop, and by name of script what V8
 * would otherwise compile. `file` and `packing` are texts.
 */
export const warmUp = async (file, packing) => {
  const home = mkdtempSync(join(tmpdir(), 'agent-webui-warm-'))
  const at = name => join(home, name)
  const port = await freePort()
  const provider = await startProvider()
  writeFileSync(at('file.mjs'), file)
  writeFileSync(at('packing'), packing)
  const workspace = writeHome(home, provider.address().port)
  const child = fork(join(root, 'build', 'warm.mjs'), [at('file.mjs'), at('packing'), at('last')], {
    env: programEnv(home, port),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  const ask = createClient(port)
  const scripts = []
  const caches = new Map()
  // A code cache has what was compiled so far: after each step, so that a start does not load what a turn compiled.
  const step = async (name, work) => {
    await work()
    child.send(name)
    const [ran] = await once(child, 'message')
    scripts.push({ name, parts: ran.parts })
    for (const [script, cache] of ran.caches) caches.set(script, cache)
  }
  try {
    await step('start', () => waitForAnswer(ask, child))
    // Before a page, whose code may not be there.
    await step('error', () => fail(port))
    const { parts: ofError } = scripts.pop()
    await step('page', () => openPage(ask, home, workspace))
    await step('turn', () => runTurn(ask, workspace))
    child.kill('SIGTERM')
    await once(child, 'exit')
    const ofStop = JSON.parse(readFileSync(at('last'), 'utf8'))
    return { scripts, last: [...ofError, ...ofStop], caches }
  } catch (error) {
    throw new Error(`what was packed does not run: ${error.message}\n${output}`, { cause: error })
  } finally {
    child.kill('SIGKILL')
    provider.close()
    provider.closeAllConnections()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}
