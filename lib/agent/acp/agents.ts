/** Runs external agents (ACP): one process per agent and home, started on demand and stopped when idle. */
import type { Clock } from '../../base/clock.ts'
import { createTurn } from './turn.ts'
import type { ExternalAgentContext, SignIn } from '../external-agent.ts'
import { SignedOut, toSignedOut } from './failures.ts'
import type { Agent, ModelEndpoint } from '../types.ts'
import { modelsOf } from './options.ts'
import { type AgentSlot, type RunningAgent, startAgent } from './running-agent.ts'
import { withStartupNotices } from './startup.ts'

export type ExternalAgentsOptions = {
  clock: Clock
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
}

export type OfferedModel = { id: string; label: string }

const IDLE_MS = 10 * 60_000
/** Idle time factor for agents that can't restore a session and would lose it. */
const NO_RESTORE_FACTOR = 6
const GRACE_MS = 2_000

export type ExternalAgents = ReturnType<typeof createExternalAgents>

export const createExternalAgents = (options: ExternalAgentsOptions) => {
  const { clock } = options
  const idleMs = options.idleMs ?? IDLE_MS
  const graceMs = options.graceMs ?? GRACE_MS
  const slots = new Map<string, AgentSlot>()
  /** Processes removed from `slots` that have not ended yet. */
  const ending = new Set<Promise<void>>()
  const offered = new Map<string, OfferedModel[]>()
  /** How to sign in to agents to which nobody is, by home and agent. */
  const signIns = new Map<string, SignIn>()
  let isClosed = false

  const keyOf = (endpoint: ModelEndpoint, home: string): string =>
    JSON.stringify([
      home,
      endpoint.agent?.id,
      endpoint.command,
      endpoint.agent?.settings?.env,
      endpoint.agent?.settings?.files,
    ])

  const remove = (slot: AgentSlot): void => {
    if (slots.get(slot.key) === slot) slots.delete(slot.key)
  }

  const stop = (slot: AgentSlot): void => {
    remove(slot)
    slot.cancelStop()
    const stopped = slot.child.stop()
    ending.add(stopped)
    void stopped.finally(() => ending.delete(stopped))
  }

  const start = (key: string, endpoint: ModelEndpoint, external: ExternalAgentContext) => {
    const name = endpoint.agent?.name ?? endpoint.provider
    const slot = startAgent({
      key,
      endpoint,
      external,
      clock,
      version: options.version,
      log: line => options.log(`${name}: ${options.redact(line)}`, {}),
      defaults: { idleMs, maxIdle: options.maxIdle, startMs: options.startMs },
      graceMs,
      remove,
      stop,
    })
    slots.set(key, slot)
    return slot
  }

  /** Stops an unused process: at once if it was removed, else after its idle time. */
  const release = (slot: AgentSlot, endpoint: ModelEndpoint): void => {
    slot.users--
    slot.sweep()
    if (slot.users > 0) return
    if (slots.get(slot.key) !== slot) {
      stop(slot)
      return
    }
    const own = endpoint.agent?.settings?.idleMs ?? idleMs
    const wait = slot.cannotRestore ? own * NO_RESTORE_FACTOR : own
    slot.cancelStop = clock.timer(wait, () => stop(slot))
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
    slot.cancelStop()
    slot.users++
    try {
      const name = endpoint.agent?.name ?? endpoint.provider
      const command = endpoint.command ?? []
      const running =
        slot.running ??
        (await withStartupNotices(slot.started, { name, command, clock, notify: say }))
      const done = await work(running).catch((error: unknown) => {
        const signedOut = error instanceof SignedOut ? error : toSignedOut(error, running)
        if (!signedOut) throw error
        signIns.set(`${external.home}\n${endpoint.agent?.id}`, signedOut.signIn)
        // Many read their login at their start only.
        running.retire()
        throw signedOut
      })
      if (running.sessions.size > 0) signIns.delete(`${external.home}\n${endpoint.agent?.id}`)
      const models = [...running.sessions.values()].map(modelsOf).findLast(list => list.length > 0)
      if (models) offered.set(`${external.home}\n${endpoint.agent?.id}`, models)
      return done
    } finally {
      release(slot, endpoint)
    }
  }

  const agent: Agent = createTurn({ use, graceMs, redact: options.redact })

  return {
    agent,
    use,
    /** The models an agent offers; empty until it has run for this home. */
    modelsOf: (home: string, id: string): OfferedModel[] => offered.get(`${home}\n${id}`) ?? [],
    /** Null unless the agent has said that nobody is signed in to it. */
    signIn: (home: string, id: string): SignIn | null => signIns.get(`${home}\n${id}`) ?? null,
    /** The agent's session of one of ours, if the agent is running. */
    peek(endpoint: ModelEndpoint, home: string, sessionKey: string) {
      const running = slots.get(keyOf(endpoint, home))?.running
      const session = running?.sessions.get(sessionKey)
      return running && session ? { running, session } : null
    },
    /** The chat was deleted: no agent keeps a session for it. */
    forget(sessionKey: string): void {
      for (const slot of slots.values()) slot.forget(sessionKey)
    },
    running: (): number => slots.size,
    async close(): Promise<void> {
      isClosed = true
      for (const slot of [...slots.values()]) stop(slot)
      await Promise.all(ending)
    },
  }
}
