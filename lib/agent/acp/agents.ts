/** Runs external agents (ACP): one process per agent and home, started on demand and stopped when idle. */
import type { Words } from '../../base/sentences.ts'
import type { Clock } from '../../base/clock.ts'
import { redact } from '../../base/redact/redact.ts'
import { runExternalTurn } from './turn.ts'
import type { ExternalAgentContext, SignIn } from '../external-agent.ts'
import { SignedOut, toSignedOut } from './failures.ts'
import type { AgentRequest, Emit, ModelEndpoint, Outcome } from '../types.ts'
import { modelsOf } from './choices.ts'
import { RunningAgent } from './running-agent.ts'
import { withStartupNotices } from './startup.ts'

export type AgentLimits = {
  /** Idle time in milliseconds after which a session or the process is closed. Longer for agents that can't restore sessions. */
  idleMs: number
  /** Grace period of a cancelled turn or a terminated process. */
  graceMs: number
  /** How many idle sessions stay open in an agent. */
  maxIdle?: number
  startMs?: number
}

export type OfferedModel = { id: string; label: string }

const IDLE_MS = 10 * 60_000
/** Idle time factor for agents that can't restore a session and would lose it. */
const NO_RESTORE_FACTOR = 6
const GRACE_MS = 2_000

export class ExternalAgents {
  readonly clock: Clock
  readonly version: string
  /** Used unless the settings of an agent say otherwise. */
  readonly limits: AgentLimits
  readonly #log: (line: string) => void
  readonly #running = new Map<string, RunningAgent>()
  /** Processes removed from `#running` that have not ended yet. */
  readonly #ending = new Set<Promise<void>>()
  readonly #offered = new Map<string, OfferedModel[]>()
  /** How to sign in to agents to which nobody is, by home and agent. */
  readonly #signIns = new Map<string, SignIn>()
  #isClosed = false

  constructor(
    clock: Clock,
    version: string,
    log: (line: string) => void,
    limits: Partial<AgentLimits> = {},
  ) {
    this.clock = clock
    this.version = version
    this.limits = { idleMs: IDLE_MS, graceMs: GRACE_MS, ...limits }
    this.#log = log
  }

  /** Runs a turn of the agent at the request's endpoint. Never rejects. */
  run(request: AgentRequest, emit: Emit): Promise<Outcome> {
    return runExternalTurn(this, request, emit)
  }

  /** Runs `work` with the agent's process, which isn't stopped until `work` settles. `say` receives notices while it starts. */
  async use<T>(
    endpoint: ModelEndpoint,
    external: ExternalAgentContext,
    work: (running: RunningAgent) => Promise<T>,
    say: (message: Words) => void = () => undefined,
  ): Promise<T> {
    if (this.#isClosed) throw new Error('The service is shutting down.')
    const key = keyOf(endpoint, external.home)
    const running = this.#running.get(key) ?? new RunningAgent(key, endpoint, external, this)
    this.#running.set(key, running)
    running.cancelStop()
    running.users++
    const agent = `${external.home}\n${endpoint.agent?.id}`
    try {
      if (!running.isStarted) await withStartupNotices(running, say)
      const result = await work(running).catch((error: unknown) => {
        const signedOut = error instanceof SignedOut ? error : toSignedOut(error, running)
        if (!signedOut) throw error
        this.#signIns.set(agent, signedOut.signIn)
        // Many read their login at their start only.
        running.retire()
        throw signedOut
      })
      if (running.sessions.size > 0) this.#signIns.delete(agent)
      const models = [...running.sessions.values()].map(modelsOf).findLast(list => list.length > 0)
      if (models) this.#offered.set(agent, models)
      return result
    } finally {
      this.#release(running)
    }
  }

  /** The models an agent offers; empty until it has run for this home. */
  modelsOf(home: string, id: string): OfferedModel[] {
    return this.#offered.get(`${home}\n${id}`) ?? []
  }

  /** Null unless the agent has said that nobody is signed in to it. */
  signIn(home: string, id: string): SignIn | null {
    return this.#signIns.get(`${home}\n${id}`) ?? null
  }

  /** The agent's session of one of ours, if the agent is running. */
  peek(endpoint: ModelEndpoint, home: string, sessionKey: string) {
    const running = this.#running.get(keyOf(endpoint, home))
    const session = running?.sessions.get(sessionKey)
    return running && session ? { running, session } : null
  }

  /** The chat was deleted: no agent keeps a session for it. */
  forget(sessionKey: string): void {
    for (const running of this.#running.values()) running.forget(sessionKey)
  }

  /** How many processes run. */
  running(): number {
    return this.#running.size
  }

  /** An agent's output may contain a key. */
  log(line: string): void {
    this.#log(redact(line))
  }

  /** Lets no further turns use it. */
  remove(running: RunningAgent): void {
    if (this.#running.get(running.key) === running) this.#running.delete(running.key)
  }

  /** Lets no further turns use it, and stops its process. */
  stop(running: RunningAgent): void {
    this.remove(running)
    running.cancelStop()
    const stopped = running.child.stop()
    this.#ending.add(stopped)
    void stopped.finally(() => this.#ending.delete(stopped))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const running of [...this.#running.values()]) this.stop(running)
    await Promise.all(this.#ending)
  }

  /** Stops an unused process: at once if it was removed, else after its idle time. */
  #release(running: RunningAgent): void {
    running.users--
    running.sweep()
    if (running.users > 0) return
    if (this.#running.get(running.key) !== running) this.stop(running)
    else {
      const wait = running.idleMs(NO_RESTORE_FACTOR)
      running.cancelStop = this.clock.timer(wait, () => this.stop(running))
    }
  }
}

const keyOf = ({ agent, command }: ModelEndpoint, home: string): string =>
  JSON.stringify([home, agent?.id, command, agent?.settings?.env, agent?.settings?.files])
