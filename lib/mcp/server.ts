/** One configured MCP server of one home: started on demand, restarted after failures, stopped when idle. */
import type { Client } from '@modelcontextprotocol/client'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Clock, toSeconds } from '../base/clock.ts'
import { failed, messageOf, wordsOf } from '../errors.ts'
import { type Sentence, sentence, type Words } from '../base/sentences.ts'
import type { ServerConfig } from './config.ts'
import { type Connection, connect, type McpTarget } from './connect.ts'
import { answerForm } from '../agent/elicitation.ts'
import { type Listing, readListing } from './list-tools.ts'
import { SignInNeeded, type TokenSource } from './oauth/token-source.ts'
import { Sampling, type SamplingCaller } from './sampling.ts'

/** Pause after the n-th failure in a row. None after the first: most servers that crash once work when restarted. */
const BACKOFF_MS = [0, 0, 2_000, 10_000, 30_000, 60_000]

export type ServerState = 'stopped' | 'starting' | 'ready' | 'failed'

export type ServerOptions = {
  target: McpTarget
  clock: Clock
  /** Without calls for this long the server is stopped. */
  idleMs: number
}

const MAX_OUTPUT_CHARS = 16_000
const LIST_TIMEOUT_MS = 15_000
const PING_TIMEOUT_MS = 3_000
const ROOTS_WAIT_MS = 500

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT'

/** Resolves with null when the user does not answer, or `signal` withdrew the question. */
type AskUser = (question: string, choices: string[], signal?: AbortSignal) => Promise<string | null>

/** The call that a request of the server belongs to. `signal` is aborted when its turn ends. */
export type Caller = SamplingCaller & { askUser: AskUser }

/** After a call that timed out, its turn continues: the server asks nothing more of it. */
const duringCall = (caller: Caller, over: AbortSignal): Caller => ({
  ...caller,
  signal: AbortSignal.any([caller.signal, over]),
  askUser: async (question, choices, canceled) =>
    over.aborted
      ? null
      : caller.askUser(question, choices, canceled ? AbortSignal.any([over, canceled]) : over),
})

const isScopeError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'InsufficientScopeError'

/** The server still rejects the token after it was renewed, or asks for permissions that were not granted (RFC 6750 §3.1). */
const signInNeeded = (error: unknown, tokens: TokenSource | undefined): SignInNeeded | null => {
  if (!(error instanceof Error) || !tokens) return null
  if (error instanceof SignInNeeded) return error
  if (isScopeError(error))
    return tokens.needed('requiredScope' in error ? String(error.requiredScope ?? '') : '')
  return 'status' in error && error.status === 401 ? tokens.needed() : null
}

const timeoutMessage = (ms: number): Sentence =>
  sentence('mcp.timeout', { seconds: Math.round(toSeconds(ms)) })

/** Resolves when `work` has settled, after `ms`, or when `signal` is aborted. Never rejects. */
const waitAtMost = async (
  clock: Clock,
  work: Promise<unknown>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> => {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const cancel = clock.timer(ms, resolve)
  signal?.addEventListener('abort', () => resolve(), { once: true })
  if (signal?.aborted) resolve()
  const finish = () => resolve()
  await Promise.race([work.then(finish, finish), over])
  cancel()
}

/** The workspaces of the turns that use a server (MCP roots): added with a turn's first call, removed when the turn ends. `onChange` is called when the list differs from the last one. */
class Roots {
  readonly #onChange: () => void
  readonly #byTurn = new Map<AbortSignal, string>()
  #lastList = '[]'

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  #workspaces(): string[] {
    return [...new Set(this.#byTurn.values())].toSorted()
  }

  #announce(): boolean {
    const now = JSON.stringify(this.#workspaces())
    if (now === this.#lastList) return false
    this.#lastList = now
    this.#onChange()
    return true
  }

  /** `turn` is aborted when the turn ends. True when the list has changed. */
  add(workspace: string, turn: AbortSignal): boolean {
    if (this.#byTurn.has(turn) || turn.aborted) return false
    this.#byTurn.set(turn, workspace)
    turn.addEventListener(
      'abort',
      () => {
        this.#byTurn.delete(turn)
        this.#announce()
      },
      { once: true },
    )
    return this.#announce()
  }

  list(): { roots: { uri: string; name: string }[] } {
    return {
      roots: this.#workspaces().map(path => ({
        uri: pathToFileURL(path).href,
        name: basename(path),
      })),
    }
  }
}

export class McpServer {
  readonly config: ServerConfig
  readonly #options: ServerOptions
  /** Failures in a row, and the time of the last one. */
  #failures = 0
  #failedAtMs = 0
  #connection: Connection | null = null
  #starting: { work: Promise<void>; since: number; abort: AbortController } | null = null
  #listing: Listing | null = null
  #refreshing: Promise<void> | null = null
  /** The server has announced other tools than those of `#listing`. */
  #isStale = false
  #error: Words | null = null
  #output = ''
  #cancelIdle = (): void => {}
  #isClosed = false
  /** One for each running call. */
  readonly #callers = new Set<Caller>()
  readonly #roots = new Roots(() => this.#announceRoots())
  readonly #sampling: Sampling
  /** Called when the server fetches the roots. */
  #onRootsFetch = () => {}
  #inFlight = 0

  constructor(config: ServerConfig, options: ServerOptions) {
    this.config = config
    this.#options = options
    this.#sampling = new Sampling(config.name, options.clock)
  }

  get #clock(): Clock {
    return this.#options.clock
  }

  /** Applies new timeouts and tool filters without a restart. */
  updateConfig(next: ServerConfig): void {
    Object.assign(this.config, next)
  }

  state(): ServerState {
    if (this.#connection) return 'ready'
    if (this.#starting) return 'starting'
    return this.#error ? 'failed' : 'stopped'
  }

  error = (): Words | null => this.#error
  /** Its standard error, and what it prints that is no message. */
  output = (): string => this.#output
  /** The newest list of its tools; kept while the server restarts. */
  listing = (): Listing | null => this.#listing
  /** The sign-in of a server over HTTP. */
  tokens = (): TokenSource | null => this.#options.target.tokens ?? null
  version = () => this.#connection?.client.getServerVersion() ?? null

  /** Allows the next start at once: the user has asked for one. */
  resetBackoff(): void {
    this.#failures = 0
  }

  /** Starts the server if it may start now, and waits for it at most `waitMs`. Never rejects: see `state` and `error`. */
  async ensureStarted(waitMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#connection && !this.#starting && this.#mayStart()) this.#start()
    if (this.#starting) {
      // Counted from the start: a slow server delays one turn, not every turn until it is ready.
      const leftMs = this.#starting.since + waitMs - this.#clock.monotonic()
      await waitAtMost(this.#clock, this.#starting.work, Math.max(0, leftMs), signal)
    } else if (this.#isStale) await waitAtMost(this.#clock, this.#refresh(), waitMs, signal)
    this.#scheduleIdleStop()
  }

  /** Calls `work` with the running server, started if need be. Rejects with a sentence for the model. */
  async use<T>(
    work: (client: Client) => Promise<T>,
    { caller, waitMs }: { caller: Caller; waitMs: number },
  ): Promise<T> {
    const { signal } = caller
    await this.ensureStarted(waitMs, signal)
    signal.throwIfAborted()
    const connection = this.#connection
    if (!connection)
      throw failed(this.#error ?? 'The server is still starting; try again in a moment.')
    const over = new AbortController()
    const running = duringCall(caller, over.signal)
    this.#inFlight += 1
    this.#callers.add(running)
    try {
      if (this.config.hasRoots) await this.#shareRoot(connection, caller)
      const value = await work(connection.client)
      this.#failures = 0
      return value
    } catch (cause) {
      throw signal.aborted ? cause : this.#callError(connection, cause)
    } finally {
      over.abort()
      this.#inFlight -= 1
      this.#callers.delete(running)
      this.#scheduleIdleStop()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stop()
  }

  /** The sign-in has changed: the next use connects with it. */
  async restart(): Promise<void> {
    this.tokens()?.reset()
    await this.#stop()
    this.#error = null
    this.resetBackoff()
  }

  #callError(connection: Connection, cause: unknown): unknown {
    const reason = connection.exitReason()
    if (this.#connection !== connection)
      return new Error(
        `The server was lost during the call${reason ? `: ${reason}` : ''}. The next call restarts it.`,
      )
    const needed = signInNeeded(cause, this.#options.target.tokens)
    if (needed) {
      // Without a permission for one tool, the others still work.
      if (!isScopeError(cause)) void this.#drop(connection, needed.message)
      return needed
    }
    if (!isTimeout(cause)) return cause
    void this.#dropIfStuck(connection)
    return failed(timeoutMessage(this.config.timeoutMs))
  }

  #mayStart(): boolean {
    const pauseMs = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] ?? 0
    return this.#failures === 0 || this.#clock.monotonic() - this.#failedAtMs >= pauseMs
  }

  #appendOutput(text: string): void {
    this.#output = (this.#output + text).slice(-MAX_OUTPUT_CHARS)
  }

  #fail(words: Words): void {
    this.#error = words
    this.#failures += 1
    this.#failedAtMs = this.#clock.monotonic()
  }

  #scheduleIdleStop(): void {
    this.#cancelIdle()
    if (this.#isClosed || !this.#connection) return
    this.#cancelIdle = this.#clock.timer(this.#options.idleMs, () =>
      this.#inFlight > 0 ? this.#scheduleIdleStop() : void this.#stop(),
    )
  }

  #onClose(ended: Connection): void {
    if (this.#connection !== ended) return
    this.#connection = null
    this.#cancelIdle()
    const reason = ended.exitReason()
    this.#fail(reason ? sentence('mcp.gone', { reason }) : sentence('mcp.closed'))
  }

  async #list(client: Client, signal: AbortSignal): Promise<void> {
    this.#isStale = false
    this.#listing = await readListing(client, { timeout: LIST_TIMEOUT_MS, signal })
  }

  #start(): void {
    if (this.#isClosed) return
    this.#output = ''
    const abort = new AbortController()
    this.#starting = { work: Promise.resolve(), since: this.#clock.monotonic(), abort }
    this.#starting.work = this.#run(abort)
  }

  async #run(abort: AbortController): Promise<void> {
    const { signal } = abort
    const { connectTimeoutMs } = this.config
    // The timeout of the library starts with a request; this one also covers a program that never answers.
    const cancel = this.#clock.timer(connectTimeoutMs, () =>
      abort.abort(failed(timeoutMessage(connectTimeoutMs))),
    )
    try {
      this.#connection = await this.#connect(signal)
      this.#error = null
      this.#scheduleIdleStop()
    } catch (cause) {
      const why: unknown = signal.aborted ? signal.reason : cause
      const reason = signInNeeded(why, this.#options.target.tokens) ?? why
      this.#fail(isTimeout(reason) ? timeoutMessage(connectTimeoutMs) : wordsOf(reason))
    } finally {
      cancel()
      this.#starting = null
    }
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const connection: Connection = await connect(this.config, this.#options.target, {
      signal,
      onOutput: text => this.#appendOutput(text),
      onClose: () => this.#onClose(connection),
      onChange: () => {
        this.#isStale = true
      },
      elicit: (params, canceled) => {
        const caller = this.#onlyCaller()
        return answerForm(
          params,
          caller ? (question, choices) => caller.askUser(question, choices, canceled) : null,
        )
      },
      sample: (params, canceled) =>
        this.#sampling.answer(params, this.config.sampling, this.#onlyCaller(), canceled),
      roots: () => {
        this.#onRootsFetch()
        return this.#roots.list()
      },
    })
    try {
      await this.#list(connection.client, signal)
      return connection
    } catch (cause) {
      const reason = connection.exitReason()
      await connection.close()
      throw reason ? new Error(`The server is gone: ${reason}.`) : cause
    }
  }

  /** With several calls running, a request of the server cannot be attributed to one of them. */
  #onlyCaller(): Caller | undefined {
    return this.#callers.size === 1 ? [...this.#callers][0] : undefined
  }

  #announceRoots(): void {
    const client = this.#connection?.client
    // In the newer protocol, servers ask for the roots when they need them.
    if (!this.config.hasRoots || !client || client.getProtocolEra() === 'modern') return
    client.sendRootsListChanged().catch((cause: unknown) => {
      this.#appendOutput(`\n[Couldn't announce the workspace: ${messageOf(cause)}]\n`)
    })
  }

  /** A server that fetches the list of roots after each change has the new one before the call, if it is quick. */
  async #shareRoot({ client }: Connection, { workspace, signal }: Caller): Promise<void> {
    const { promise: fetched, resolve } = Promise.withResolvers<void>()
    this.#onRootsFetch = resolve
    const isNew = this.#roots.add(workspace, signal)
    if (isNew && client.getProtocolEra() !== 'modern')
      await waitAtMost(this.#clock, fetched, ROOTS_WAIT_MS, signal)
  }

  #refresh(): Promise<void> {
    const connection = this.#connection
    if (!connection) return Promise.resolve()
    this.#refreshing ??= this.#list(connection.client, AbortSignal.timeout(LIST_TIMEOUT_MS))
      .catch((cause: unknown) => {
        // The former tools are still offered; a call to one that no longer exists fails with the server's message.
        this.#isStale = true
        this.#appendOutput(`\n[Couldn't list its tools again: ${messageOf(cause)}]\n`)
      })
      .finally(() => {
        this.#refreshing = null
      })
    return this.#refreshing
  }

  /** The next call starts it again. */
  async #stop(): Promise<void> {
    this.#cancelIdle()
    this.#starting?.abort.abort(new Error('The server was stopped.'))
    const connection = this.#connection
    this.#connection = null
    await Promise.allSettled([this.#starting?.work, connection?.close()])
  }

  /** After a call has timed out: a server that does not answer a ping is stuck, and the next call gets a new one. */
  async #dropIfStuck(connection: Connection): Promise<void> {
    try {
      await connection.client.ping({ timeout: PING_TIMEOUT_MS })
    } catch {
      await this.#drop(connection, 'The server stopped answering.')
    }
  }

  async #drop(connection: Connection, why: string): Promise<void> {
    if (this.#connection !== connection) return
    this.#connection = null
    this.#fail(why)
    await connection.close()
  }
}
