/** Starts an external agent's process, connects to it, and keeps the state of its use. */
import type { Clock } from '../../base/clock.ts'
import type { ExternalAgentContext } from '../external-agent.ts'
import type { ModelEndpoint } from '../types.ts'
import { type AgentProcess, spawnAgent } from './agent-process.ts'
import { type Connection, connectAgent } from './connection.ts'
import { createIdleSessions } from './idle-sessions.ts'
import { createLogLimiter } from './log-limiter.ts'
import { createServices } from './services.ts'
import type { Session } from './session.ts'
import { startTimeoutMs } from './startup.ts'
import { createUpdateRouter } from './update-router.ts'
import { Notification } from './updates.ts'

const MAX_IDLE = 4

/** A running agent process with its connection. */
export type RunningAgent = {
  readonly name: string
  readonly command: readonly string[]
  readonly clock: Clock
  readonly child: AgentProcess
  readonly connection: Connection
  /** By the id of our session. */
  readonly sessions: Map<string, Session>
  /** Makes a session known before it is attached to one of ours, because its first updates may arrive before. */
  readonly register: (session: Session) => void
  /** Wraps a request that opens a session; updates that arrive before its response are queued. */
  readonly whileOpening: <T>(work: () => Promise<T>) => Promise<T>
  readonly log: (line: string) => void
  /** What it has said beside its answers, by the id of our session. */
  readonly told: Map<string, Set<string>>
  /** Closes a session that no chat needs any more. */
  readonly close: (session: Session) => void
  /** Resolves when no session is being closed. */
  readonly settled: () => Promise<void>
  /** Accepts no further turns; the process ends with its last running turn. */
  retire(): void
}

/** An agent's process and its users, from its start until it ends. */
export type AgentSlot = {
  /** Identifies agent and home. */
  readonly key: string
  readonly child: AgentProcess
  readonly started: Promise<RunningAgent>
  /** Null until `initialize` has been answered. */
  running: RunningAgent | null
  /** Closes idle sessions. */
  readonly sweep: () => void
  /** Closes the agent's session of a chat that was deleted. */
  readonly forget: (sessionKey: string) => void
  users: number
  /** It is stopped after its idle time unless this is called before. */
  cancelStop: () => void
  cannotRestore: boolean
}

export type StartAgentOptions = {
  key: string
  endpoint: ModelEndpoint
  external: ExternalAgentContext
  clock: Clock
  version: string
  log: (line: string) => void
  /** Used unless the endpoint's settings say otherwise. */
  defaults: { idleMs: number; maxIdle?: number; startMs?: number }
  graceMs: number
  /** Lets no further turns use the slot. */
  remove: (slot: AgentSlot) => void
  /** Removes the slot and stops its process. */
  stop: (slot: AgentSlot) => void
}

export const startAgent = (options: StartAgentOptions): AgentSlot => {
  const { endpoint, external, defaults, graceMs, clock } = options
  const name = endpoint.agent?.name ?? endpoint.provider
  const settings = endpoint.agent?.settings
  const command = endpoint.command ?? []
  const log = createLogLimiter(options.log, clock)
  const env = { ...external.env, ...settings?.env }
  // Another user may not enter this home.
  const cwd = (settings?.files !== 'agent' && env.HOME) || '/'
  const child = spawnAgent({ command, cwd, env, graceMs, onStderrLine: log })
  const router = createUpdateRouter(log)
  let idle: ReturnType<typeof createIdleSessions> | undefined

  const onConnected = (connection: Connection): RunningAgent => {
    const { loadSession, sessionCapabilities } = connection.capabilities.agentCapabilities
    slot.cannotRestore = !loadSession && !sessionCapabilities.resume
    const sessions = new Map<string, Session>()
    idle = createIdleSessions({
      clock,
      connection,
      opened: router.opened,
      sessions,
      idleMs: settings?.idleMs ?? defaults.idleMs,
      maxIdle: settings?.maxIdle ?? defaults.maxIdle ?? MAX_IDLE,
      log,
    })
    slot.running = {
      name,
      command,
      clock,
      child,
      connection,
      sessions,
      log,
      told: new Map(),
      close: session => idle?.close(session),
      settled: async () => idle?.settled(),
      whileOpening: router.whileOpening,
      register: router.register,
      retire() {
        options.remove(slot)
        if (slot.users <= 1) options.stop(slot)
      },
    }
    return slot.running
  }

  const slot: AgentSlot = {
    key: options.key,
    child,
    users: 0,
    cancelStop: () => undefined,
    cannotRestore: false,
    running: null,
    sweep: () => idle?.sweep(),
    forget(sessionKey) {
      const { sessions, told } = slot.running ?? {}
      told?.delete(sessionKey)
      if (!sessions?.has(sessionKey)) return
      const isClosed = idle?.forget(sessionKey) ?? true
      // An agent that can't close a session keeps it, and its MCP servers, until it ends.
      if (!isClosed && sessions.size === 0 && slot.users === 0) options.stop(slot)
    },
    started: connectAgent({
      child,
      name,
      version: options.version,
      startMs: settings?.startMs ?? defaults.startMs ?? startTimeoutMs(command),
      servesFiles: settings?.files !== 'agent',
      services: createServices(name, id => {
        const session = router.findOrAlias(id)
        if (!session) throw new Error(`There is no session ${id}.`)
        return session
      }),
      onUpdate(params) {
        const parsed = Notification.safeParse(params)
        if (parsed.success) router.route(parsed.data.sessionId, parsed.data.update)
        else log('unreadable update')
      },
      log,
    }).then(onConnected, (error: unknown) => {
      options.stop(slot)
      throw error
    }),
  }
  // Callers of `use` get the rejection; without one it must not be unhandled.
  slot.started.catch(() => undefined)
  void child.ended.then(how => {
    options.remove(slot)
    slot.cancelStop()
    idle?.stop()
    if (!child.isStopping()) log(how)
  })
  return slot
}
