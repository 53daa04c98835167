/** Client of the search worker, which starts on first use and stops after a minute without requests. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { messageOf, unavailable } from '../errors.ts'
import { removeDatabase } from '../store/sqlite.ts'
import type { IndexHit } from './ranked-hits.ts'
import type { Term } from './search-query.ts'

export type SearchRequest = { ask: number; maxWaitMs: number } & (
  | { what: 'search'; terms: Term[]; limit: number }
  /** Catch up, and remove the content of deleted sessions from the file. */
  | { what: 'purge' }
)
export type SearchResponse = { ask: number; hits: IndexHit[]; done: boolean; error?: string }

export type SearchClientOptions = {
  clock: Pick<Clock, 'timer'>
  file: string
  catalog: string
  dir: string
  addon?: string | undefined
  log: (line: string, extra?: Record<string, unknown>) => void
  /** The single-file build starts its embedded worker here. */
  startWorker?: (() => Worker) | undefined
  idleMs?: number
  /** How long a search waits for sessions that are not indexed yet. Only the first one after a rebuild does. */
  maxWaitMs?: number
}

/** With these limits a worker adds about 6 MB instead of 19. */
export const WORKER_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 48 }

const startFromSource = (): Worker =>
  new Worker(new URL('./search-worker.ts', import.meta.url), { resourceLimits: WORKER_LIMITS })

type Waiting = { resolve: (answer: SearchResponse) => void; reject: (error: unknown) => void }
type Question = { what: 'search'; terms: Term[]; limit: number } | { what: 'purge' }

export const createSearchClient = (options: SearchClientOptions) => {
  const { clock, file, catalog, dir, addon, log, startWorker = startFromSource } = options
  const { idleMs = 60_000, maxWaitMs = 5_000 } = options
  const waiting = new Map<number, Waiting>()
  let worker: Worker | null = null
  let cancelIdle = (): void => undefined
  let asks = 0
  let closed = false

  const lose = (lost: Worker, error: unknown): void => {
    if (worker !== lost) return
    worker = null
    log('the search worker stopped', { error: messageOf(error) })
    for (const { reject } of waiting.values()) {
      reject(unavailable('Message search is unavailable right now', { code: 'search_unavailable' }))
    }
    waiting.clear()
  }

  const start = (): Worker => {
    const started = startWorker()
    started.unref()
    started.on('message', (answer: SearchResponse) => {
      const asker = waiting.get(answer.ask)
      waiting.delete(answer.ask)
      if (waiting.size === 0) rest()
      if (answer.error === undefined) asker?.resolve(answer)
      else {
        log('the search worker failed', { error: answer.error })
        asker?.reject(
          unavailable('Message search is unavailable right now', { code: 'search_unavailable' }),
        )
      }
    })
    started.on('error', error => lose(started, error))
    started.on('exit', code => lose(started, new Error(`it ended with code ${code}`)))
    started.postMessage({ file, catalog, dir, addon })
    return started
  }

  const stop = async (): Promise<void> => {
    const ending = worker
    worker = null
    if (!ending) return
    // The process must not exit before the worker has closed its files.
    ending.ref()
    const gone = new Promise(resolve => ending.once('exit', resolve))
    ending.postMessage('close')
    await gone
  }

  /** Call when no request is pending: stops the worker after `idleMs` unless a request arrives. */
  const rest = (): void => {
    // A pending request keeps the process alive, an idle worker does not.
    worker?.unref()
    cancelIdle()
    cancelIdle = clock.timer(idleMs, () => {
      if (waiting.size === 0) void stop()
    })
  }

  const ask = (question: Question): Promise<SearchResponse> => {
    if (closed)
      return Promise.reject(unavailable('The server is shutting down', { code: 'shutting_down' }))
    worker ??= start()
    worker.ref()
    cancelIdle()
    asks += 1
    const number = asks
    const answered = new Promise<SearchResponse>((resolve, reject) => {
      waiting.set(number, { resolve, reject })
    })
    worker.postMessage({ ...question, ask: number, maxWaitMs: maxWaitMs })
    return answered
  }

  return {
    /** `done` is false when some sessions were not indexed yet. */
    search: (terms: Term[], limit: number) => ask({ what: 'search', terms, limit }),
    /** Removes the content of deleted sessions from the index file. Resolves immediately when there is no index. */
    async purgeDeleted(): Promise<void> {
      if (worker || existsSync(file)) await ask({ what: 'purge' })
    },
    get running() {
      return worker !== null
    },
    /** Deletes the index. The next search rebuilds it. */
    async remove(): Promise<void> {
      await stop()
      removeDatabase(file)
    },
    async close(): Promise<void> {
      closed = true
      cancelIdle()
      await stop()
    },
  }
}
export type SearchClient = ReturnType<typeof createSearchClient>
