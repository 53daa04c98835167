/**
 * Runs inside `_wall.sh`: starts the service and lets it run each line of a corpus, with nobody who answers. Writes one line
 * of JSON for each, with everything that a command reached that it should not have.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Program, startService } from '../../../build/start-program.ts'
import { createClient } from '../../_http.ts'
import { createProvider, type Step } from '../../_provider.ts'
import type { Job, Outcome } from './_corpus.ts'
import { CANARY, createWorld, differences } from './_world.ts'

const HOME = '/home/ada'
const PUBLIC = '203.0.113.7'
/** Of each command. */
const TIMEOUT_S = 3

const job = JSON.parse(readFileSync(0, 'utf8')) as Job
// The first process of the wall: with it, everything in there ends.
process.on('SIGTERM', () => process.exit(1))

const reached: string[] = []
const listen = async (where: string | { host: string; port: number }): Promise<number> => {
  const name = typeof where === 'string' ? where : `${where.host}:${where.port}`
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

const loopback = await listen({ host: '127.0.0.1', port: 0 })
const everywhere = await listen({ host: '0.0.0.0', port: 0 })
for (const port of [22, 80, 443, 8080, 9418]) await listen({ host: PUBLIC, port })
await listen('/run/agent.socket')
await listen('\0abstract')

const PATH = [
  ...[join(HOME, '.cargo', 'bin')].filter(dir => existsSync(dir)),
  ...['/usr/local/bin', '/usr/bin', '/bin'],
  dirname(process.execPath),
].join(':')
const person = { PATH, HOME, LANG: 'C.UTF-8', SSH_AUTH_SOCK: '/run/agent.socket' }

const world = createWorld({ home: HOME, pristine: '/mnt/pristine/home', loopback })
for (const [name, text] of Object.entries(job.files ?? {})) world.add(name, text)
const provider = await createProvider()
const service: Program = await (async () => {
  writeFileSync(
    join(world.agentHome, 'config.yaml'),
    [
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model`,
      `sandbox:\n  enabled: ${job.sandbox}`,
      job.config ?? '',
    ].join('\n'),
  )
  return startService({ home: HOME, env: person, args: ['--no-browser'] })
})()
const pid = Number(service.child.pid)
const app = createClient(() => service.url)

/** Titles and the like are asked for without tools. */
const script: Step[] = []
provider.otherwise = body => {
  if (!Array.isArray(body?.tools) || body.tools.length === 0) return { text: 'Title' }
  return script.shift() ?? { text: 'Done.' }
}

const fill = (text: string): string =>
  text
    .replaceAll('{pid}', String(pid))
    .replaceAll('{port}', String(service.port))
    .replaceAll('{loopback}', String(loopback))
    .replaceAll('{everywhere}', String(everywhere))
    .replaceAll('{public}', PUBLIC)

/** A step: a shell command, or a tool's name, a colon, and what it needs. */
const toCall = (step: string): { name: string; arguments: Record<string, unknown> } => {
  const [, kind, rest = ''] = /^(write|code|background|unconfined): ?([\s\S]*)$/.exec(step) ?? []
  if (kind === 'write') {
    const [, path, content] = /^(\S+) ?([\s\S]*)$/.exec(rest) ?? []
    return { name: 'write_file', arguments: { path, content: `${content}\n` } }
  }
  if (kind === 'code') return { name: 'execute_code', arguments: { code: rest } }
  const more =
    kind === 'background'
      ? { background: true }
      : { timeout: TIMEOUT_S, ...(kind && { access: kind }) }
  return { name: 'terminal', arguments: { command: kind ? rest : step, ...more } }
}

const GUARDS = ['/api/sandbox', '/api/permissions', '/api/guards', '/api/hooks', '/api/mcp/servers']
/** What is in force, as the page shows it. */
const guards = async (session: string): Promise<string> => {
  const paths = [...GUARDS, `/api/session/yolo?session_id=${session}`]
  const answers = await Promise.all(paths.map(path => app.get(path)))
  return JSON.stringify(answers.map(answer => answer.body)).replaceAll(session, 'session')
}

const listening = (): string[] =>
  ['tcp', 'tcp6'].flatMap(name =>
    readFileSync(`/proc/net/${name}`, 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      .filter(fields => fields[3] === '0A')
      .map(fields => String(fields[1])),
  )

/** Zombies have ended: nobody waits for them here. */
const processes = (): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(each => {
      const stat = spawnless(`/proc/${each}/stat`)
      return stat !== null && !/\) Z /.test(stat)
    })
const spawnless = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It has ended since.
    return null
  }
}

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

type Turn = { asked: string[]; results: string[]; seen: string }
const play = async (session: string, steps: readonly string[]): Promise<Turn> => {
  script.splice(0)
  script.push(...steps.map((step, at) => ({ toolCalls: [{ id: `call_${at}`, ...toCall(step) }] })))
  const turn: Turn = { asked: [], results: [], seen: '' }
  const started = await app.post('/api/chat/start', { session_id: session, message: 'go' })
  const { stream_id } = started.body
  for await (const { event, data } of app.events(`/api/chat/stream?stream_id=${stream_id}&after=0`)) {
    turn.seen += JSON.stringify(data)
    if (event === 'approval' || event === 'clarify') {
      const { approval_id, clarify_id, description } = data
      turn.asked.push(String(description ?? event))
      await (event === 'approval'
        ? app.post('/api/approval/respond', { session_id: session, approval_id, choice: 'deny' })
        : app.post('/api/clarify/respond', { session_id: session, clarify_id, response: 'no' }))
    }
    if (event === 'stream_end') break
  }
  const last = provider.requests.findLast(({ body }) => Array.isArray(body?.tools))
  const messages: { role: string; content: unknown }[] = last?.body.messages ?? []
  turn.results = messages
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
  turn.seen += turn.results.join('\n')
  provider.requests.splice(0)
  return turn
}

/** A port of the service's debugger opens a moment after the signal. */
const settle = () => sleep(job.name === 'service' ? 200 : 0)

for (const name of ['demo', 'plain', 'tree', 'below/package'])
  await app.post('/api/workspaces/add', { path: join(HOME, name) })
// What the first turn creates is there before anything is compared.
await play(await openSession(), ['echo first'])
world.keep()

const ports = listening()
const known = new Set(processes())
const report = (outcome: Outcome) => void process.stdout.write(`${JSON.stringify(outcome)}\n`)

const runLine = async (line: string): Promise<Outcome> => {
  const [, place, text = line] = /^@(\S+) ([\s\S]*)$/.exec(line) ?? []
  world.use(place ?? 'demo')
  const steps = fill(text.replaceAll('⏎', '\n')).split(' ⇒ ')
  const expected = job.everyday ? outsideOf(steps) : null
  world.forget()
  const session = await openSession()
  const [before, beforeInside, guarded] = [
    world.everything(),
    world.inWorkspace(),
    await guards(session),
  ]
  reached.splice(0)
  const found: string[] = []
  let turn: Turn = { asked: [], results: [], seen: '' }
  try {
    turn = await play(session, steps)
  } catch (error) {
    found.push(`the turn did not end: ${error instanceof Error ? error.message : error}`)
  }
  await settle()
  found.push(...world.wasRead().map(path => `read ${path}`))
  if (turn.seen.includes(CANARY) && !/^[^\n]*\.env/.test(text) && !job.everyday)
    found.push('what a secret file says is in the chat')
  found.push(...reached.splice(0).map(name => `connected to ${name}`))
  const opened = listening().filter(port => !ports.includes(port))
  found.push(...opened.map(port => `listens on ${port}`))
  const isServed = await isAlive()
  if (!isServed) found.push('the service has ended')
  else if ((await guards(session)) !== guarded) found.push('what guards the agent has changed')
  if (isServed) await app.post('/api/session/delete', { session_id: session })
  const left = await leftOver()
  found.push(...left)

  const changed = differences(before, world.everything())
  found.push(...changed.map(path => `changed ${path}`))
  const changedInside = differences(beforeInside, world.inWorkspace())
  if (changed.length + changedInside.length > 0) {
    found.push(...world.nextGit())
    const after = differences(before, world.everything()).filter(path => !changed.includes(path))
    found.push(...after.map(path => `changed by the next git: ${path}`))
    world.restore([...changed, ...after, ...changedInside])
  }
  return {
    line,
    found,
    asked: turn.asked,
    results: turn.results.map(result => result.slice(0, 400)),
    expected,
    isServed,
  }
}

/** Processes that outlive their chat. */
const leftOver = async (): Promise<string[]> => {
  const others = () => processes().filter(each => !known.has(each))
  for (let round = 0; round < 100 && others().length > 0; round++) await sleep(10)
  return others().map(each => {
    const command = spawnless(`/proc/${each}/cmdline`)?.replaceAll('\0', ' ').trim()
    process.kill(each, 'SIGKILL')
    return `still runs: ${command}`
  })
}

/** What an everyday command does for a person: whether it succeeds. Undone at once. */
const outsideOf = (steps: readonly string[]): boolean => {
  const before = world.inWorkspace()
  const command = steps.at(-1) ?? ''
  const { status } = spawnSync('bash', ['-c', command], {
    cwd: world.cwd,
    env: person,
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: TIMEOUT_S * 1_000,
  })
  world.restore(differences(before, world.inWorkspace()))
  return status === 0
}

for (const line of job.lines) {
  const outcome = await runLine(line)
  report(outcome)
  if (!outcome.isServed) break
}
// The service ends with the first process.
process.exit(0)
