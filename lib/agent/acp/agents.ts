/** Runs external agents (ACP): one process per agent and home, started on demand and stopped when idle. */
import { createTurn } from './turn.ts'
import type { ExternalAgentContext } from '../external-agent.ts'
import type { Agent, ModelEndpoint } from '../types.ts'
import { type AgentProcess, spawnAgent } from './agent-process.ts'
import { type Connection, connectAgent } from './connection.ts'
import { createServices } from './services.ts'
import { modelsOf } from './options.ts'
import { createIdleSessions } from './idle-sessions.ts'
import { startTimeoutMs, withStartupNotices } from './startup.ts'
import { createLogLimiter } from './log-limiter.ts'
import { applyUpdate, type Session } from './session.ts'
import { Notification } from './updates.ts'

export type ExternalAgentsOptions = {
  version: string
  log: (line: string, extra: Record<string, unknown>) => void
  /** Removes secrets; an agent's output may contain a key. */
  redact: (text: string) => string
  /** Idle time in milliseconds after which a session or the process is closed. Longer for agents that can't restore sessions. */
  idleMs?: number
  /** How many idle sessions stay open in an agent. */
  maxIdle?: number
  startMs?: number
  /** Grace period of a cancelled turn or a terminated process. */
  graceMs?: number
  /** Silence in a turn after which the agent counts as hung. */
  silenceMs?: number
}

/** A running agent process with its connection. */
export type RunningAgent = {
  readonly name: string
  readonly child: AgentProcess
  readonly connection: Connection
  /** By the id of our session. */
  readonly sessions: Map<string, Session>
  /** Makes a session known before it is attached to one of ours, because its first updates may arrive before. */
  readonly register: (session: Session) => void
  /** Wraps a request that opens a session; updates that arrive before its response are queued. */
  readonly whileOpening: <T>(work: () => Promise<T>) => Promise<T>
  readonly log: (line: string) => void
  /** Accepts no further turns; the process ends with its last running turn. */
  retire(): void
}

export type Timing = { graceMs: number; silenceMs: number }
export type OfferedModel = { id: string; label: string }

const IDLE_MS = 10 * 60_000
/** Idle time factor for agents that can't restore a session and would lose it. */
const NO_RESTORE_FACTOR = 6
const GRACE_MS = 2_000
const SILENCE_MS = 15 * 60_000
const MAX_IDLE = 4
const MAX_EARLY = 500

export type ExternalAgents = ReturnType<typeof createExternalAgents>

export const createExternalAgents = (options: ExternalAgentsOptions) => {
  const idleMs = options.idleMs ?? IDLE_MS
  const graceMs = options.graceMs ?? GRACE_MS
  const timing: Timing = { graceMs, silenceMs: options.silenceMs ?? SILENCE_MS }
  type Slot = {
    started: Promise<RunningAgent>
    /** Null until `initialize` has been answered. */
    running: RunningAgent | null
    /** Closes idle sessions. */
    sweep: () => void
    child: AgentProcess
    users: number
    timer: NodeJS.Timeout | undefined
    cannotRestore: boolean
  }
  const slots = new Map<string, Slot>()
  /** Processes removed from `slots` that have not ended yet. */
  const ending = new Set<Promise<void>>()
  const offered = new Map<string, OfferedModel[]>()
  let isClosed = false

  const keyOf = (endpoint: ModelEndpoint, home: string): string =>
    JSON.stringify([home, endpoint.agent?.id, endpoint.command, endpoint.agent?.settings?.env])

  const end = (key: string, slot: Slot): void => {
    if (slots.get(key) === slot) slots.delete(key)
    clearTimeout(slot.timer)
    const stopped = slot.child.stop()
    ending.add(stopped)
    void stopped.finally(() => ending.delete(stopped))
  }

  const start = (key: string, endpoint: ModelEndpoint, external: ExternalAgentContext): Slot => {
    const name = endpoint.agent?.name ?? endpoint.provider
    const settings = endpoint.agent?.settings
    const command = endpoint.command ?? []
    const say = createLogLimiter(line => options.log(`${name}: ${options.redact(line)}`, {}))
    const env = { ...external.env, ...settings?.env }
    const child = spawnAgent({
      command,
      cwd: env.HOME || '/',
      env,
      graceMs,
      onStderrLine: say,
    })
    const sessions = new Map<string, Session>()
    const opened: Session[] = []

    const find = (id: string): Session | undefined =>
      opened.findLast(session => session.id === id) ??
      opened.findLast(session => session.aliases.has(id))

    /** An unknown id while exactly one turn runs means that the agent has changed that session's id. */
    const findOrAlias = (id: string): Session | undefined => {
      const found = find(id)
      if (found) return found
      const busy = opened.filter(session => session.turn !== null)
      const [only] = busy
      if (!only || busy.length > 1) return undefined
      only.aliases.add(only.id)
      only.id = id
      return only
    }

    /** Updates of sessions that are being opened, in order of arrival. */
    const early: { id: string; update: unknown }[] = []
    let openings = 0

    const tell = (id: string, update: unknown): void => {
      const isNew = openings > 0 && !find(id)
      if (isNew && early.length < MAX_EARLY) {
        early.push({ id, update })
        return
      }
      const session = isNew ? undefined : findOrAlias(id)
      if (!session) say('update of an unknown session')
      else if (!applyUpdate(session, update)) say('unreadable update')
      session?.turn?.noteActivity()
    }

    let idle: ReturnType<typeof createIdleSessions> | undefined

    const tellEarly = (fits: (id: string) => boolean): void => {
      const due = early.filter(({ id }) => fits(id))
      early.splice(0, early.length, ...early.filter(({ id }) => !fits(id)))
      for (const { id, update } of due) tell(id, update)
    }

    const slot: Slot = {
      child,
      users: 0,
      timer: undefined,
      cannotRestore: false,
      running: null,
      sweep: () => idle?.sweep(),
      started: connectAgent({
        child,
        name,
        version: options.version,
        startMs: settings?.startMs ?? options.startMs ?? startTimeoutMs(command),
        services: createServices(name, id => {
          const session = findOrAlias(id)
          if (!session) throw new Error(`There is no session ${id}.`)
          return session
        }),
        onUpdate(params) {
          const said = Notification.safeParse(params)
          if (said.success) tell(said.data.sessionId, said.data.update)
          else say('unreadable update')
        },
        onHeard: () => undefined,
        log: say,
      }).then(
        connection => {
          const { loadSession, sessionCapabilities } = connection.capabilities.agentCapabilities
          slot.cannotRestore = !loadSession && !sessionCapabilities.resume
          idle = createIdleSessions({
            connection,
            opened,
            sessions,
            idleMs: settings?.idleMs ?? idleMs,
            maxIdle: settings?.maxIdle ?? options.maxIdle ?? MAX_IDLE,
            log: say,
          })
          slot.running = {
            name,
            child,
            connection,
            sessions,
            log: say,
            async whileOpening(work) {
              openings++
              try {
                return await work()
              } finally {
                openings--
                if (openings === 0) tellEarly(() => true)
              }
            },
            register(session) {
              opened.push(session)
              tellEarly(id => id === session.id)
            },
            retire() {
              if (slots.get(key) === slot) slots.delete(key)
              if (slot.users <= 1) end(key, slot)
            },
          }
          return slot.running
        },
        (error: unknown) => {
          end(key, slot)
          throw error
        },
      ),
    }
    // Callers of `use` get the rejection; without one it must not be unhandled.
    slot.started.catch(() => undefined)
    void child.ended.then(how => {
      if (slots.get(key) === slot) slots.delete(key)
      clearTimeout(slot.timer)
      idle?.stop()
      if (!child.isStopping()) say(how)
    })
    slots.set(key, slot)
    return slot
  }

  /** Runs `work` with the agent's process, which isn't stopped until `work` settles. */
  const use = async <T>(
    endpoint: ModelEndpoint,
    external: ExternalAgentContext,
    work: (running: RunningAgent) => Promise<T>,
    say: (words: string) => void = () => undefined,
  ): Promise<T> => {
    if (isClosed) throw new Error('The service is shutting down.')
    const key = keyOf(endpoint, external.home)
    const slot = slots.get(key) ?? start(key, endpoint, external)
    clearTimeout(slot.timer)
    slot.users++
    try {
      const name = endpoint.agent?.name ?? endpoint.provider
      const command = endpoint.command ?? []
      const running =
        slot.running ?? (await withStartupNotices(slot.started, { name, command, notify: say }))
      const done = await work(running)
      const models = [...running.sessions.values()].map(modelsOf).findLast(list => list.length > 0)
      if (models) offered.set(`${external.home}\n${endpoint.agent?.id}`, models)
      return done
    } finally {
      slot.users--
      slot.sweep()
      if (slot.users === 0) {
        if (slots.get(key) !== slot) end(key, slot)
        else {
          const own = endpoint.agent?.settings?.idleMs ?? idleMs
          const wait = slot.cannotRestore ? own * NO_RESTORE_FACTOR : own
          slot.timer = setTimeout(() => end(key, slot), wait)
          slot.timer.unref()
        }
      }
    }
  }

  const agent: Agent = createTurn({ use, timing, redact: options.redact })

  return {
    agent,
    use,
    /** The models an agent offers; empty until it has run for this home. */
    modelsOf: (home: string, id: string): OfferedModel[] => offered.get(`${home}\n${id}`) ?? [],
    /** The agent's session of one of ours, if the agent is running. */
    peek(endpoint: ModelEndpoint, home: string, sessionKey: string) {
      const running = slots.get(keyOf(endpoint, home))?.running
      const session = running?.sessions.get(sessionKey)
      return running && session ? { running, session } : null
    },
    running: (): number => slots.size,
    async close(): Promise<void> {
      isClosed = true
      for (const [key, slot] of [...slots]) end(key, slot)
      await Promise.all(ending)
    },
  }
}
