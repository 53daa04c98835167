/** One server of one home while it is needed: started on demand, restarted with patience, stopped when nobody uses it. */
import type { Client } from '@modelcontextprotocol/client'
import { messageOf } from '../errors.ts'
import type { ServerConfig } from './config.ts'
import { type Connection, connect, type McpTarget } from './connect.ts'
import { type AskUser, answerElicitation } from './elicitation.ts'
import { type Listing, readListing } from './list-tools.ts'

export type ServerState = 'stopped' | 'starting' | 'ready' | 'failed'

export type ServerOptions = {
  target: McpTarget
  /** Milliseconds since 1970. */
  now: () => number
  idleMs: number
}

export type McpServer = ReturnType<typeof createMcpServer>

const MAX_OUTPUT_CHARS = 16_000
const LIST_TIMEOUT_MS = 15_000
const PING_TIMEOUT_MS = 3_000
const MINUTE_MS = 60_000
const STARTS_PER_MINUTE = 5
/** After the n-th failure in a row. The first costs nothing: most servers that die once work when started again. */
const BACKOFF_MS = [0, 0, 2_000, 10_000, 30_000, 60_000]

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT'

/** Resolves with the work, after `ms`, or with the signal; whichever is first. Never rejects. */
const waitAtMost = async (
  work: Promise<unknown>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> => {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const clock = setTimeout(resolve, ms)
  signal?.addEventListener('abort', () => resolve(), { once: true })
  if (signal?.aborted) resolve()
  const done = () => resolve()
  await Promise.race([work.then(done, done), over])
  clearTimeout(clock)
}

export const createMcpServer = (config: ServerConfig, { target, now, idleMs }: ServerOptions) => {
  let connection: Connection | null = null
  let starting: { work: Promise<void>; since: number; stop: AbortController } | null = null
  let listing: Listing | null = null
  let refreshing: Promise<void> | null = null
  let stale = false
  let error: string | null = null
  let output = ''
  let failures = 0
  let failedAt = 0
  let starts: number[] = []
  let idle: NodeJS.Timeout | undefined
  let closed = false
  const callers = new Set<AskUser>()
  let inFlight = 0

  const appendOutput = (text: string): void => {
    output = (output + text).slice(-MAX_OUTPUT_CHARS)
  }

  const fail = (sentence: string): void => {
    error = sentence
    failures += 1
    failedAt = now()
  }

  const scheduleIdleStop = (): void => {
    clearTimeout(idle)
    if (closed || !connection) return
    idle = setTimeout(() => (inFlight > 0 ? scheduleIdleStop() : void stop()), idleMs)
    idle.unref()
  }

  const onClose = (ended: Connection): void => {
    if (connection !== ended) return
    connection = null
    clearTimeout(idle)
    const how = ended.ending()
    fail(how ? `The server is gone: ${how}.` : 'The server closed the connection.')
  }

  const list = async (client: Client, signal: AbortSignal): Promise<void> => {
    stale = false
    listing = await readListing(client, { timeout: LIST_TIMEOUT_MS, signal })
  }

  const run = async (stopping: AbortController): Promise<void> => {
    const { signal } = stopping
    // The library's own limit counts answers; this one counts everything, a program that never speaks included.
    const clock = setTimeout(
      () => stopping.abort(new Error(timeoutMessage(config.connectTimeoutMs))),
      config.connectTimeoutMs,
    )
    try {
      const made: Connection = await connect(config, target, {
        signal,
        onOutput: appendOutput,
        onClose: () => onClose(made),
        onChange: () => {
          stale = true
        },
        elicit: params =>
          answerElicitation(params, callers.size === 1 ? [...callers][0] : undefined),
      })
      try {
        await list(made.client, signal)
      } catch (cause) {
        const how = made.ending()
        await made.close()
        throw how ? new Error(`The server is gone: ${how}.`) : cause
      }
      connection = made
      error = null
      scheduleIdleStop()
    } catch (cause) {
      const reason: unknown = signal.aborted ? signal.reason : cause
      fail(isTimeout(reason) ? timeoutMessage(config.connectTimeoutMs) : messageOf(reason))
    } finally {
      clearTimeout(clock)
      starting = null
    }
  }

  /** Whether another start is due, or null and the reason why not yet. */
  const mayStart = (): boolean => {
    starts = starts.filter(at => now() - at < MINUTE_MS)
    const pause = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 0
    return starts.length < STARTS_PER_MINUTE && (failures === 0 || now() - failedAt >= pause)
  }

  const start = (): void => {
    if (closed || connection || starting) return
    starts.push(now())
    output = ''
    const stopping = new AbortController()
    starting = { work: Promise.resolve(), since: now(), stop: stopping }
    starting.work = run(stopping)
  }

  const refresh = (): Promise<void> => {
    const held = connection
    if (!held) return Promise.resolve()
    refreshing ??= list(held.client, AbortSignal.timeout(LIST_TIMEOUT_MS))
      .catch((cause: unknown) => {
        // The tools it had are still offered; a call then says what is wrong.
        stale = true
        appendOutput(`\n[Its tools could not be listed again: ${messageOf(cause)}]\n`)
      })
      .finally(() => {
        refreshing = null
      })
    return refreshing
  }

  /** Ends what runs; the next need starts it anew. */
  const stop = async (): Promise<void> => {
    clearTimeout(idle)
    starting?.stop.abort(new Error('The server was stopped.'))
    const held = connection
    connection = null
    await Promise.allSettled([starting?.work, held?.close()])
  }

  /** A server that let a call run out of time may be stuck altogether: then the next call gets a fresh one. */
  const check = async (held: Connection): Promise<void> => {
    try {
      await held.client.ping({ timeout: PING_TIMEOUT_MS })
    } catch {
      if (connection !== held) return
      connection = null
      fail('The server stopped answering.')
      await held.close()
    }
  }

  const ensureStarted = async (waitMs: number, signal?: AbortSignal): Promise<void> => {
    if (!connection && !starting && mayStart()) start()
    if (starting) {
      // A server that is slow to start is waited for once, not by every turn until it is there.
      await waitAtMost(starting.work, Math.max(0, starting.since + waitMs - now()), signal)
    } else if (stale) await waitAtMost(refresh(), waitMs, signal)
    scheduleIdleStop()
  }

  return {
    config,
    /** Timeouts and filters that have changed take effect without a restart. */
    updateConfig: (next: ServerConfig) => void Object.assign(config, next),
    ensureStarted: ensureStarted,
    stop,
    state: (): ServerState =>
      connection ? 'ready' : starting ? 'starting' : error ? 'failed' : 'stopped',
    error: () => error,
    output: () => output,
    /** What it offered last; kept while it is being restarted. */
    listing: () => listing,
    version: () => connection?.client.getServerVersion() ?? null,

    /** Forgets what went wrong before: somebody wants it tried now. */
    resetBackoff(): void {
      failures = 0
      starts = []
    },

    /** Works with the running server, started if need be; throws sentences. */
    async use<T>(
      work: (client: Client) => Promise<T>,
      { askUser, signal, waitMs }: { askUser: AskUser; signal: AbortSignal; waitMs: number },
    ): Promise<T> {
      await ensureStarted(waitMs, signal)
      signal.throwIfAborted()
      const held = connection
      if (!held) throw new Error(error ?? 'The server is still starting; try again in a moment.')
      inFlight += 1
      callers.add(askUser)
      try {
        const value = await work(held.client)
        failures = 0
        return value
      } catch (cause) {
        if (signal.aborted) throw cause
        const how = held.ending()
        if (connection !== held)
          throw new Error(
            `The server was lost while it was working${how ? `: ${how}` : ''}. It is started anew by the next call.`,
          )
        if (!isTimeout(cause)) throw cause
        void check(held)
        throw new Error(timeoutMessage(config.timeoutMs))
      } finally {
        inFlight -= 1
        callers.delete(askUser)
        scheduleIdleStop()
      }
    },

    async close(): Promise<void> {
      closed = true
      await stop()
    },
  }
}

const timeoutMessage = (ms: number): string =>
  `The server did not answer within ${Math.round(ms / 1_000)} seconds.`
