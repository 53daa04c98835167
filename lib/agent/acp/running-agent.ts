/** An external agent's process, the connection to it, and the state of its use, from its start until it ends. */
import type { Clock } from '../../base/clock.ts'
import type { ExternalAgentContext } from '../external-agent.ts'
import type { ModelEndpoint } from '../types.ts'
import { AgentProcess } from './agent-process.ts'
import type { ExternalAgents } from './agents.ts'
import { type Connection, connectAgent } from './connection.ts'
import { ClientRequests } from './services.ts'
import type { Session } from './session.ts'
import { startTimeoutMs } from './startup.ts'
import { UpdateRouter } from './update-router.ts'

const MAX_IDLE = 4

export class RunningAgent {
  /** Identifies agent and home. */
  readonly key: string
  readonly name: string
  readonly command: readonly string[]
  readonly clock: Clock
  readonly child: AgentProcess
  readonly router: UpdateRouter
  readonly log: (line: string) => void
  /** How long a cancelled turn may take to end. */
  readonly graceMs: number
  /** Attached sessions, by the id of our session. */
  readonly sessions = new Map<string, Session>()
  /** What it has said beside its answers, by the id of our session. */
  readonly notices = new Map<string, Set<string>>()
  /** `initialize` has been answered. */
  readonly started: Promise<this>
  /** How many work with it now. */
  users = 0
  /** It is stopped after its idle time unless this is called before. */
  cancelStop = (): void => undefined
  #connection: Connection | null = null
  readonly #agents: ExternalAgents
  readonly #idleMs: number
  readonly #maxIdle: number
  readonly #closing = new Set<Promise<unknown>>()
  #cancelSweep = (): void => undefined

  constructor(
    key: string,
    { agent, command = [], provider }: ModelEndpoint,
    external: ExternalAgentContext,
    agents: ExternalAgents,
  ) {
    const { clock, limits, version } = agents
    const settings = agent?.settings
    const servesFiles = settings?.files !== 'agent'
    const env = { ...external.env, ...settings?.env }
    this.key = key
    this.name = agent?.name ?? provider
    this.command = command
    this.clock = clock
    this.graceMs = limits.graceMs
    this.#agents = agents
    this.#idleMs = settings?.idleMs ?? limits.idleMs
    this.#maxIdle = settings?.maxIdle ?? limits.maxIdle ?? MAX_IDLE
    const limiter = new LogLimiter(line => agents.log(`${this.name}: ${line}`), clock)
    this.log = line => limiter.write(line)
    this.router = new UpdateRouter(this.log)
    // Another user may not enter this home.
    const cwd = (servesFiles && env.HOME) || '/'
    this.child = new AgentProcess(command, cwd, env, limits.graceMs, this.log)
    const startMs = settings?.startMs ?? limits.startMs ?? startTimeoutMs(command)
    this.started = connectAgent(
      this.child,
      { name: this.name, version, startMs, servesFiles },
      new ClientRequests(this.name, this.router),
      params => this.router.route(params),
      this.log,
    ).then(
      connection => {
        this.#connection = connection
        return this
      },
      (error: unknown) => {
        agents.stop(this)
        throw error
      },
    )
    // Callers of `use` get the rejection; without one it must not be unhandled.
    this.started.catch(() => undefined)
    void this.child.ended.then(how => {
      agents.remove(this)
      this.cancelStop()
      this.#cancelSweep()
      if (!this.child.isStopping) this.log(how)
    })
  }

  get isStarted(): boolean {
    return this.#connection !== null
  }

  /** Since it has started. */
  get connection(): Connection {
    if (!this.#connection) throw new Error(`${this.name} is still starting.`)
    return this.#connection
  }

  /** How long it is kept without users. Longer for one that would lose its sessions with its process. */
  idleMs(factor: number): number {
    return this.isStarted && this.#cannotRestore ? this.#idleMs * factor : this.#idleMs
  }

  /** Accepts no further turns; the process ends with its last running turn. */
  retire(): void {
    this.#agents.remove(this)
    if (this.users <= 1) this.#agents.stop(this)
  }

  /** Resolves when no session is being closed: one that is can't be opened again yet. */
  async settled(): Promise<void> {
    await Promise.all(this.#closing)
  }

  /** Closes a session that no chat needs any more. */
  close(session: Session): void {
    const { opened } = this.router
    opened.splice(opened.indexOf(session), 1)
    for (const [key, each] of this.sessions) if (each === session) this.sessions.delete(key)
    session.terminals.stopAll()
    if (!this.#closesSessions) return
    const closed = this.connection
      .request('session/close', { sessionId: session.id })
      .catch(() => this.log('could not close a session; it ends with the process'))
      .finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  /** Closes idle sessions that it can restore, and schedules itself for the next one. */
  sweep(): void {
    this.#cancelSweep()
    if (!this.isStarted || !this.#closesSessions || this.#cannotRestore) return
    const unused = this.router.opened
      .filter(({ turn, isOpening }) => turn === null && !isOpening)
      .sort((a, b) => a.usedAt - b.usedAt)
    const now = this.clock.monotonic()
    const due = unused.filter(
      ({ usedAt }, at) => now - usedAt >= this.#idleMs || unused.length - at > this.#maxIdle,
    )
    for (const session of due) this.close(session)
    const next = unused[due.length]
    if (!next) return
    const wait = Math.max(1, next.usedAt + this.#idleMs - now)
    this.#cancelSweep = this.clock.timer(wait, () => this.sweep())
  }

  /** The chat was deleted: closes its session, with its MCP servers. */
  forget(sessionKey: string): void {
    this.notices.delete(sessionKey)
    const session = this.sessions.get(sessionKey)
    if (!session || session.turn) return
    this.close(session)
    // An agent that can't close a session keeps it, and its MCP servers, until it ends.
    if (!this.#closesSessions && this.sessions.size === 0 && this.users === 0)
      this.#agents.stop(this)
  }

  get #cannotRestore(): boolean {
    const { loadSession, sessionCapabilities } = this.connection.capabilities.agentCapabilities
    return !loadSession && !sessionCapabilities.resume
  }

  get #closesSessions(): boolean {
    return Boolean(this.connection.capabilities.agentCapabilities.sessionCapabilities.close)
  }
}

const MAX_LINES = 60
const WINDOW_MS = 120_000
const LINE_CHARS = 500

export class LogLimiter {
  readonly #write: (line: string) => void
  readonly #clock: Clock
  #since: number
  #lines = 0

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
    this.#since = clock.monotonic()
  }

  write(line: string): void {
    const now = this.#clock.monotonic()
    if (now - this.#since >= WINDOW_MS) {
      if (this.#lines > MAX_LINES) this.#write(`${this.#lines - MAX_LINES} lines were left out`)
      this.#since = now
      this.#lines = 0
    }
    this.#lines++
    if (this.#lines <= MAX_LINES) this.#write(line.slice(0, LINE_CHARS))
    else if (this.#lines === MAX_LINES + 1)
      this.#write('prints more than is kept; what follows is left out')
  }
}
