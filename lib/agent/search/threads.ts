/** Distributes the files of a search to worker threads; terminates them at the time limit or when the pattern hangs. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import {
  type FileCount,
  type LinePlaces,
  NOT_TEXT_HEADS,
  type SearchRequest,
  type SearchHit,
  type SearchSetup,
  type SearchResponse,
  searchWorker,
} from './worker.ts'

/** Files per message: enough to be worth it, few enough to lose little at the time limit. */
const BATCH = 64
/** With fewer files a second thread costs more than it saves. */
const FILES_FOR_MORE = 400
const MAX_THREADS = 4
const MAX_PATTERN_MS = 3_000
const LOOK_EVERY_MS = 100
/** When the time of the search is up, a pattern that has run this long on one text is the reason. */
const SLOW_PATTERN_MS = 500

export type Limits = {
  signal: AbortSignal /** In milliseconds of `performance.now()`. */
  until: number
}

/** What was found in a list of files, by their places in it. */
export type Findings = {
  /** Undefined for files not reached, or not read to their end, in time. */
  counts: (FileCount | undefined)[]
  /** Matching lines of files that were not read to their end. */
  partial: Map<number, number>
  /** The first matching lines, as many as were asked for. */
  hits: Map<number, SearchHit[]>
}

/** The lines that a search shows. */
export type Page = { lines: number; context: number }

export type Setup = Omit<SearchSetup, 'pulse' | 'notText'>

type Thread = {
  /** Resolves after the last response. */
  ask: (ask: SearchRequest, use: (response: SearchResponse) => void) => Promise<void>
  /** Whether the pattern is still running on the same text as at the previous check. */
  isStuck: () => boolean
  end: () => void
}

const tooLong = () =>
  new Error('The pattern takes too long. Avoid nested repetitions such as (a+)+.')

/** Worker threads for one search; call `end` afterwards. */
export const openThreads = (setup: Setup, { signal, until }: Limits) => {
  const threads: Thread[] = []
  let fail: (reason: unknown) => void = () => {}
  const over = new Promise<never>((_, reject) => {
    fail = reject
  })
  // Awaited by callers; a finished search ignores the rejection.
  over.catch(() => null)
  // In CPU time, because a busy machine may run a thread seldom.
  let stuckFor = 0
  let usage = process.cpuUsage()
  const watch = setInterval(() => {
    const { user } = process.cpuUsage(usage)
    usage = process.cpuUsage()
    const ranMs = Math.min(LOOK_EVERY_MS, user / 1_000)
    stuckFor = threads.some(thread => thread.isStuck()) ? stuckFor + ranMs : 0
    if (signal.aborted) fail(signal.reason)
    else if (stuckFor > MAX_PATTERN_MS) fail(tooLong())
    else if (performance.now() > until) fail(stuckFor > SLOW_PATTERN_MS ? tooLong() : TIME_IS_UP)
  }, LOOK_EVERY_MS)
  const start = (): Thread => {
    const thread = startThread(setup, fail)
    threads.push(thread)
    return thread
  }

  return {
    async count(fullPaths: readonly string[], { lines, context }: Page): Promise<Findings> {
      const findings = emptyFindings(fullPaths.length)
      const { counts } = findings
      let next = 0
      /** Files counted without a gap, and their lines: later files need not return those that are shown already. */
      let [counted, found] = [0, 0]
      const linesLeft = (): number => {
        for (; counts[counted] !== undefined; counted++) found += numberOf(counts[counted])
        return Math.max(0, lines - found)
      }
      const work = async (thread: Thread) => {
        while (next < fullPaths.length && performance.now() < until) {
          const from = next
          next += BATCH
          const batch = fullPaths.slice(from, next)
          const ask = { kind: 'count', fullPaths: batch, take: linesLeft(), context } as const
          await thread.ask(ask, collect(findings, from))
        }
      }
      const wanted =
        fullPaths.length < FILES_FOR_MORE ? 1 : Math.min(MAX_THREADS, availableParallelism())
      const all = Promise.all(Array.from({ length: wanted }, () => work(start())))
      await orTimeIsUp(Promise.race([all, over]))
      return findings
    },
    /** The count of one file, tested only at these places; null: whole. */
    async countAt(
      fullPath: string,
      places: LinePlaces | null,
      { lines: take, context }: Page,
    ): Promise<Findings> {
      const findings = emptyFindings(1)
      if (performance.now() > until) return findings
      const thread = threads[0] ?? start()
      const ask = { kind: 'count', fullPaths: [fullPath], places, take, context } as const
      await orTimeIsUp(Promise.race([thread.ask(ask, collect(findings, 0)), over]))
      return findings
    },
    async lines(
      ask: Omit<Extract<SearchRequest, { kind: 'lines' }>, 'kind'>,
    ): Promise<SearchHit[]> {
      const hits: SearchHit[] = []
      const thread = threads[0] ?? start()
      const work = thread.ask({ kind: 'lines', ...ask }, response => {
        for (const { of: _, ...hit } of response.hits) hits.push(hit)
      })
      await orTimeIsUp(Promise.race([work, over]))
      return hits
    },
    end(): void {
      clearInterval(watch)
      for (const thread of threads) thread.end()
    },
  }
}

const emptyFindings = (files: number): Findings => ({
  counts: Array.from({ length: files }),
  partial: new Map(),
  hits: new Map(),
})

const numberOf = (count: FileCount | undefined): number => (typeof count === 'number' ? count : 0)

/** Adds the responses to a request for the files from `first` on. */
const collect = ({ counts, partial, hits }: Findings, first: number) => {
  let next = first
  return (response: SearchResponse): void => {
    for (const count of response.counts) {
      partial.delete(next)
      counts[next++] = count
    }
    if (response.partial > 0) partial.set(next, response.partial)
    for (const { of, ...hit } of response.hits) {
      const known = hits.get(first + of)
      if (known) known.push(hit)
      else hits.set(first + of, [hit])
    }
  }
}

const TIME_IS_UP = Symbol('time is up')

const orTimeIsUp = async <T>(work: Promise<T>): Promise<T | null> => {
  try {
    return await work
  } catch (reason) {
    if (reason === TIME_IS_UP) return null
    throw reason
  }
}

const startThread = (setup: Setup, fail: (reason: unknown) => void): Thread => {
  const pulse = new SharedArrayBuffer(8)
  const beat = new Int32Array(pulse)
  const worker = new Worker(`(${searchWorker})()`, {
    eval: true,
    workerData: { ...setup, notText: NOT_TEXT_HEADS, pulse } satisfies SearchSetup,
    env: {},
  })
  worker.unref()
  // A pattern can exhaust memory or the stack.
  worker.on('error', fail)
  let last = -1
  return {
    ask: (ask, use) =>
      new Promise(resolve => {
        const onMessage = (response: SearchResponse): void => {
          use(response)
          if (!response.isLast) return
          worker.off('message', onMessage)
          resolve()
        }
        worker.on('message', onMessage)
        worker.postMessage(ask)
      }),
    isStuck() {
      const now = beat[0] ?? 0
      const isSame = now === last && beat[1] === 1
      last = now
      return isSame
    },
    end: () => void worker.terminate(),
  }
}
