/** Client of the search worker, which starts on first use and stops after ten seconds without requests. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { messageOf, unavailable } from '../errors.ts'
import { removeDatabase } from '../store/sqlite.ts'
import type { Term } from './search-query.ts'
import type { IndexHit } from './search-text.ts'

/** `terms`: without them, deleted content is removed from the file. */
export type SearchRequest = { ask: number; maxWaitMs: number; terms: Term[] | null; limit: number }
/** `done` is false when some sessions were not indexed yet. */
export type SearchResponse = { ask: number; hits: IndexHit[]; done: boolean; error?: string }

export type SearchSources = {
  file: string
  catalog: string
  dir: string
  addon?: string | undefined
}

export type SearchClientOptions = SearchSources & {
  clock: Clock
  log: (line: string, extra?: Record<string, unknown>) => void
  /** The single-file build starts its embedded worker here. */
  startWorker?: (() => Worker) | undefined
}

/** A worker holds 15 to 20 MB, and starts in less time than a person notices. */
export const IDLE_MS = 10_000
/** How long a search waits for sessions that are not indexed yet. Only the first one after a rebuild does. */
const MAX_WAIT_MS = 5_000

/** With these limits a worker adds about 6 MB instead of 19. */
export const WORKER_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 48 }

const startFromSource = (): Worker =>
  new Worker(new URL('./search-worker.ts', import.meta.url), { resourceLimits: WORKER_LIMITS })

const searchUnavailable = () =>
  unavailable('Message search is unavailable right now', { code: 'search_unavailable' })

type Waiting = { resolve: (answer: SearchResponse) => void; reject: (error: unknown) => void }

export class SearchClient {
  readonly #options: SearchClientOptions
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #cancelIdle = (): void => undefined
  #asks = 0
  #isClosed = false

  constructor(options: SearchClientOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  #lose(lost: Worker, error: unknown): void {
    if (this.#worker !== lost) return
    this.#worker = null
    this.#options.log('the search worker stopped', { error: messageOf(error) })
    for (const { reject } of this.#waiting.values()) reject(searchUnavailable())
    this.#waiting.clear()
  }

  #start(): Worker {
    const { log, file, catalog, dir, addon, startWorker = startFromSource } = this.#options
    const started = startWorker()
    started.on('message', (answer: SearchResponse) => {
      const asker = this.#waiting.get(answer.ask)
      this.#waiting.delete(answer.ask)
      if (this.#waiting.size === 0) this.#rest()
      if (answer.error === undefined) asker?.resolve(answer)
      else {
        log('the search worker failed', { error: answer.error })
        asker?.reject(searchUnavailable())
      }
    })
    started.on('error', error => this.#lose(started, error))
    started.on('exit', code => this.#lose(started, new Error(`it ended with code ${code}`)))
    started.postMessage({ file, catalog, dir, addon } satisfies SearchSources)
    return started
  }

  async #stop(): Promise<void> {
    this.#cancelIdle()
    const ending = this.#worker
    this.#worker = null
    if (!ending) return
    // The process must not exit before the worker has closed its files.
    ending.ref()
    const gone = new Promise(resolve => ending.once('exit', resolve))
    ending.postMessage('close')
    await gone
  }

  /** When no request is pending: stops the worker after a while unless a request arrives. */
  #rest(): void {
    // A pending request keeps the process alive, an idle worker does not.
    this.#worker?.unref()
    this.#cancelIdle()
    this.#cancelIdle = this.#options.clock.timer(IDLE_MS, () => {
      if (this.#waiting.size === 0) void this.#stop()
    })
  }

  async #ask(terms: Term[] | null, limit: number): Promise<SearchResponse> {
    if (this.#isClosed) throw unavailable('The server is shutting down', { code: 'shutting_down' })
    const worker = this.#worker ?? this.#start()
    this.#worker = worker
    worker.ref()
    this.#cancelIdle()
    this.#asks += 1
    const request: SearchRequest = { ask: this.#asks, maxWaitMs: MAX_WAIT_MS, terms, limit }
    const { promise, resolve, reject } = Promise.withResolvers<SearchResponse>()
    this.#waiting.set(request.ask, { resolve, reject })
    worker.postMessage(request)
    return promise
  }

  search(terms: Term[], limit: number): Promise<SearchResponse> {
    return this.#ask(terms, limit)
  }

  /** Removes the content of deleted sessions from the index file. Resolves immediately when there is no index. */
  async purgeDeleted(): Promise<void> {
    if (this.#worker || existsSync(this.#options.file)) await this.#ask(null, 0)
  }

  /** Deletes the index. The next search rebuilds it. */
  async remove(): Promise<void> {
    await this.#stop()
    removeDatabase(this.#options.file)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stop()
  }
}
