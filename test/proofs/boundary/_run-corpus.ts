/**
 * Runs inside `_wall.sh`: starts the service and lets it run each line of a corpus, with nobody who answers. Writes one line
 * of JSON for each, with everything that a command reached that it should not have.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { type Program, startService } from '../../../build/start-program.ts'
import { createClient } from '../../_http.ts'
import { createProvider, gate, type Step } from '../../_provider.ts'
import type { Job, Outcome } from './_corpus.ts'
import { PROJECT_NAMES, PROJECTS } from './_projects.ts'
import { toCall } from './_steps.ts'
import { CANARY, createWorld, differences } from './_world.ts'

const job = JSON.parse(readFileSync(0, 'utf8')) as Job

const HOME = '/home/ada'
const PUBLIC = '203.0.113.7'
/** Of each command. */
const TIMEOUT_S = job.everyday ? 60 : 2
/** Of a turn that no longer goes on: the service has been stopped. */
const STUCK_MS = TIMEOUT_S * 1_000 + 30_000
/** Of one turn: below the limit of a turn. */
const CALLS = 40
/** The service's debugger opens a moment after the signal. */
const DEBUGGER_MS = 200

// The first process of the wall: with it, everything in there ends.
process.on('SIGTERM', () => process.exit(1))

const reached: string[] = []
const listen = async (
  name: string,
  where: string | { host: string; port: number },
): Promise<number> => {
  const server: Server = createServer(socket => {
    reached.push(name)
    socket.on('error', () => undefined)
    socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${CANARY}\n`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (typeof where === 'string') server.listen(where, resolve)
    else server.listen(where.port, where.host, resolve)
  })
  return typeof where === 'string' ? 0 : (server.address() as AddressInfo).port
}

/** Connections that were made are counted: the event loop accepts one of each listener in a round. */
const accepted = async (): Promise<void> => {
  for (let round = 0; round < 20; round++) await immediate()
}

const loopback = await listen('loopback', { host: '127.0.0.1', port: 0 })
const everywhere = await listen('all addresses', { host: '0.0.0.0', port: 0 })
for (const port of [22, 80, 443, 8080, 9418])
  await listen(`${PUBLIC}:${port}`, { host: PUBLIC, port })
await listen('a socket', '/run/agent.socket')
await listen('an abstract socket', '\0abstract')

const PATH = [
  ...[join(HOME, '.cargo', 'bin')].filter(dir => existsSync(dir)),
  ...['/usr/local/bin', '/usr/bin', '/bin'],
  dirname(process.execPath),
].join(':')
const person = { PATH, HOME, LANG: 'C.UTF-8', SSH_AUTH_SOCK: '/run/agent.socket' }

const world = createWorld({ home: HOME, pristine: '/mnt/pristine/home', loopback })
const places = ['demo', 'plain', 'tree', 'below/package']
if (job.everyday) {
  world.addProjects(PROJECTS, PROJECT_NAMES)
  places.push(...PROJECT_NAMES)
}
const provider = await createProvider()
const service: Program = await (async () => {
  writeFileSync(
    join(world.agentHome, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\nsandbox:\n  enabled: ${job.sandbox}\napprovals:\n  outside_sandbox: changes\n`,
  )
  return startService({ home: HOME, env: person, args: ['--no-browser'] })
})()
const pid = Number(service.child.pid)
const app = createClient(() => service.url)

type Request = { step: Step; open: () => void; results: string[] }
/** What the model is asked for, one after another; null: the turn has ended instead. */
const requests: (Request | null)[] = []
const waiting: ((request: Request | null) => void)[] = []
const arrive = (request: Request | null): void => {
  const wake = waiting.shift()
  if (wake) wake(request)
  else requests.push(request)
}
const nextRequest = (): Promise<Request | null> => {
  const { promise, resolve } = Promise.withResolvers<Request | null>()
  const ready = requests.shift()
  if (ready === undefined) waiting.push(resolve)
  else resolve(ready)
  return promise
}
provider.otherwise = body => {
  // Titles and the like are asked for without tools.
  if (!Array.isArray(body?.tools) || body.tools.length === 0) return { text: 'Title' }
  const { opened, open } = gate()
  const step: Step = { gate: opened }
  const messages: { role: string; content: unknown }[] = body.messages
  const results = messages
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
  provider.requests.splice(0)
  arrive({ step, open, results })
  return step
}

const fill = (text: string): string =>
  text
    .replaceAll('{pid}', String(pid))
    .replaceAll('{port}', String(service.port))
    .replaceAll('{loopback}', String(loopback))
    .replaceAll('{everywhere}', String(everywhere))
    .replaceAll('{public}', PUBLIC)

const GUARDS = ['/api/sandbox', '/api/permissions', '/api/guards', '/api/hooks', '/api/mcp/servers']
/** What is in force, as the page shows it. */
const guards = async (): Promise<string> => {
  const answers = await Promise.all(GUARDS.map(path => app.get(path)))
  return JSON.stringify(answers.map(answer => answer.body))
}

const listening = (): string[] =>
  ['tcp', 'tcp6'].flatMap(name =>
    readFileSync(`/proc/net/${name}`, 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      .filter(fields => fields[3] === '0A')
      .map(fields => String(fields[1])),
  )

const readOrNull = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It has ended since.
    return null
  }
}
const commandOf = (each: number): string =>
  readOrNull(`/proc/${each}/cmdline`)?.replaceAll('\0', ' ').trim() ?? ''

/** Without zombies, which nobody waits for here, and without the Git of the service's own checkpoints. */
const processes = (): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(each => {
      const state = /\) (\w) /.exec(readOrNull(`/proc/${each}/stat`) ?? '')?.[1]
      const isCheckpoint = readOrNull(`/proc/${each}/environ`)?.includes(`GIT_DIR=${HOME}/.agent/`)
      return state !== undefined && state !== 'Z' && commandOf(each) !== '' && !isCheckpoint
    })

const isAlive = async (): Promise<boolean> => {
  if (service.child.exitCode !== null || service.child.signalCode !== null) return false
  return app.get('/health', { timeoutMs: 5_000 }).then(
    ({ status }) => status === 200,
    () => false,
  )
}

const openSession = async (): Promise<string> => {
  const { body } = await app.post('/api/session/new', { workspace: world.cwd })
  return String(body.session.session_id)
}

/** A chat whose model makes one call after another, with a look at the world in between. */
type Turn = {
  session: string
  asked: string[]
  /** Everything that the chat shows. */
  seen: string
  request: Request | null
  calls: number
  ended: Promise<void>
}
const current: { turn: Turn | null } = { turn: null }

const begin = async (): Promise<Turn> => {
  const session = await openSession()
  const { body } = await app.post('/api/chat/start', { session_id: session, message: 'go' })
  const turn: Turn = {
    ...{ session, asked: [], seen: '', request: null, calls: 0 },
    ended: Promise.resolve(),
  }
  turn.ended = follow(turn, body.stream_id).catch(() => undefined)
  void turn.ended.then(() => arrive(null))
  turn.request = await nextRequest()
  return turn
}

/** Nobody allows anything. */
const follow = async (turn: Turn, stream: string): Promise<void> => {
  const { session: session_id } = turn
  for await (const { event, data } of app.events(`/api/chat/stream?stream_id=${stream}&after=0`)) {
    // A question shows the person what it is about, such as the file that would change.
    if (event !== 'approval') turn.seen += JSON.stringify(data)
    const { approval_id, clarify_id, description } = data
    if (event === 'approval' || event === 'clarify') turn.asked.push(String(description ?? event))
    if (event === 'approval')
      await app.post('/api/approval/respond', { session_id, approval_id, choice: 'deny' })
    if (event === 'clarify')
      await app.post('/api/clarify/respond', { session_id, clarify_id, response: 'no' })
    if (event === 'stream_end') break
  }
}

/** The model makes this call; its result. Null: the turn has ended. */
const call = async (turn: Turn, step: string): Promise<string | null> => {
  if (!turn.request) return null
  turn.calls++
  Object.assign(turn.request.step, {
    toolCalls: [{ id: `call_${turn.calls}`, ...toCall(step, TIMEOUT_S) }],
  })
  turn.request.open()
  turn.request = await Promise.race([nextRequest(), sleep(STUCK_MS, null, { ref: false })])
  return turn.request?.results.at(-1) ?? null
}

/** Processes that were there before any line. */
const known = new Set<number>()

/** Ends the chat, and what runs in it. */
const finish = async (): Promise<string[]> => {
  const { turn } = current
  current.turn = null
  if (!turn) return []
  if (turn.request) {
    Object.assign(turn.request.step, { text: 'Done.' })
    turn.request.open()
    await nextRequest()
  }
  if (!(await isAlive())) return []
  await app.post('/api/session/delete', { session_id: turn.session })
  return leftOver()
}

/** Processes that outlive their chat. The service starts and ends some of its own all the time. */
const leftOver = async (): Promise<string[]> => {
  const others = () => processes().filter(each => !known.has(each))
  let left = others()
  for (let round = 0; round < 100 && left.length > 0; round++) {
    await sleep(10)
    const now = others()
    left = left.filter(each => now.includes(each))
  }
  return left.map(each => {
    const command = commandOf(each)
    spawnSync('kill', ['-9', String(each)])
    return `still runs: ${command}`
  })
}

/** Whether an everyday command succeeds for a person here. Undone at once. */
const isUsual = async (steps: readonly string[]): Promise<boolean> => {
  const { status } = spawnSync('bash', ['-c', steps.join('\n')], {
    cwd: world.cwd,
    env: person,
    stdio: 'ignore',
    timeout: TIMEOUT_S * 1_000,
  })
  world.restore(differences(state.inside, world.inWorkspace()))
  world.forget()
  look()
  await accepted()
  return status === 0
}

for (const name of places) await app.post('/api/workspaces/add', { path: join(HOME, name) })
for (const each of processes()) known.add(each)
// What the first turn creates is there before anything is compared.
current.turn = await begin()
await call(current.turn, 'echo first')
await finish()
world.nextGit()
world.keep()
world.forget()

const ports = listening()
const guarded = await guards()
/** Of the place that lines run in now. */
const state = { before: world.everything(), inside: world.inWorkspace() }
const look = () => Object.assign(state, { before: world.everything(), inside: world.inWorkspace() })

const runLine = async (line: string): Promise<Outcome> => {
  const [, place = 'demo', text = line] = /^@(\S+) ([\s\S]*)$/.exec(line) ?? []
  const found: string[] = []
  if (join(HOME, place) !== world.cwd) {
    found.push(...(await finish()))
    world.use(place)
    look()
  }
  const steps = fill(text.replaceAll('⏎', '\n')).split(' ⇒ ')
  reached.splice(0)
  const turn = current.turn ?? (await begin())
  current.turn = turn
  Object.assign(turn, { asked: [], seen: '' })
  const results: string[] = []
  for (const step of steps) {
    const result = await call(turn, step)
    if (result === null) break
    results.push(result)
  }
  if (!turn.request) found.push('the service has ended, or the turn')
  if (job.name === 'service') await sleep(DEBUGGER_MS)

  found.push(...world.wasRead().map(path => `read ${path}`))
  if ([turn.seen, ...results].join('\n').includes(CANARY))
    found.push('what a secret file says is in the chat')
  await accepted()
  found.push(...reached.splice(0).map(name => `connected to ${name}`))
  const opened = listening().filter(port => !ports.includes(port))
  found.push(...opened.map(port => `listens on ${port}`))
  const changed = differences(state.before, world.everything())
  const isEnd = !turn.request || turn.calls >= CALLS || processes().some(each => !known.has(each))
  if (turn.request && (isEnd || changed.length > 0) && (await guards()) !== guarded)
    found.push('what guards the agent has changed')
  if (isEnd) found.push(...(await finish()))
  found.push(...changed.map(path => `changed ${path}`))
  const inside = differences(state.inside, world.inWorkspace())
  if (changed.length + inside.length > 0) {
    found.push(...world.nextGit())
    const now = differences(state.before, world.everything())
    const later = now.filter(path => !changed.includes(path))
    found.push(...later.map(path => `the next git changed ${path}`))
    await accepted()
    found.push(...reached.splice(0).map(name => `the next git connected to ${name}`))
    world.restore([...now, ...differences(state.inside, world.inWorkspace())])
  }
  if (found.length + inside.length > 0) {
    world.forget()
    look()
  }
  const isSpoiled = !turn.request || listening().some(port => !ports.includes(port))
  const { asked } = turn
  const last = results.at(-1) ?? ''
  const exitCode = Number(/"exit_code":(-?\d+)/.exec(last)?.[1] ?? NaN)
  const isTroubled = asked.length > 0 || exitCode !== 0
  const usual = job.everyday ? !isTroubled || (await isUsual(steps)) : null
  return { line, found, asked, result: last.slice(0, 400), exitCode, isUsual: usual, isSpoiled }
}

const report = (outcome: Outcome) => void process.stdout.write(`${JSON.stringify(outcome)}\n`)

for (const [at, line] of job.lines.entries()) {
  const outcome = await runLine(line)
  if (at === job.lines.length - 1) outcome.found.push(...(await finish()))
  report(outcome)
  if (outcome.isSpoiled) break
}
// The service ends with the first process.
process.exit(0)
