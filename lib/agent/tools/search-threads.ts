/** Hands the files of a search to its threads, and ends them when the time is up or the pattern does not come back. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import {
  type FileCount,
  type SearchAsk,
  type SearchHit,
  type SearchSetup,
  type SearchTold,
  searchWorker,
} from './search-worker.ts'

/** So many files at a time: enough to be worth a message, few enough to lose little when the time is up. */
const BATCH = 64
/** Below it a second thread takes longer to start than it saves. */
const FILES_FOR_MORE = 400
const MAX_THREADS = 4
const MAX_PATTERN_MS = 3_000
const LOOK_EVERY_MS = 100

export type Limits = {
  signal: AbortSignal /** In milliseconds of `performance.now()`. */
  until: number
}

type Thread = {
  ask: (ask: SearchAsk) => Promise<SearchTold>
  /** Whether the pattern has been running on the same text since the look before. */
  isStuck: () => boolean
  end: () => void
}

const tooLong = () =>
  new Error('The pattern takes too long. Avoid nested repetitions such as (a+)+.')

/** Threads for one search; `end` must be called. */
export const openThreads = (setup: Omit<SearchSetup, 'pulse'>, { signal, until }: Limits) => {
  const threads: Thread[] = []
  let fail: (reason: unknown) => void = () => {}
  const over = new Promise<never>((_, reject) => {
    fail = reject
  })
  // Whoever awaits it sees it; a search that is done by then does not.
  over.catch(() => null)
  let stuckFor = 0
  const watch = setInterval(() => {
    stuckFor = threads.some(thread => thread.isStuck()) ? stuckFor + LOOK_EVERY_MS : 0
    if (signal.aborted) fail(signal.reason)
    else if (stuckFor > MAX_PATTERN_MS) fail(tooLong())
    else if (performance.now() > until) fail(TIME_IS_UP)
  }, LOOK_EVERY_MS)
  const start = (): Thread => {
    const thread = startThread(setup, fail)
    threads.push(thread)
    return thread
  }

  return {
    /** In order; undefined for files that were not reached in time. */
    async count(places: readonly string[]): Promise<(FileCount | undefined)[]> {
      const counts: (FileCount | undefined)[] = places.map(() => undefined)
      let next = 0
      const work = async (thread: Thread) => {
        while (next < places.length) {
          const from = next
          next += BATCH
          const batch = places.slice(from, next)
          const told = await thread.ask({ kind: 'count', places: batch })
          for (const [at, count] of (told.counts ?? []).entries()) counts[from + at] = count
        }
      }
      const wanted =
        places.length < FILES_FOR_MORE ? 1 : Math.min(MAX_THREADS, availableParallelism())
      const all = Promise.all(Array.from({ length: wanted }, () => work(start())))
      await orTimeIsUp(Promise.race([all, over]))
      return counts
    },
    async lines(ask: Omit<Extract<SearchAsk, { kind: 'lines' }>, 'kind'>): Promise<SearchHit[]> {
      const thread = threads[0] ?? start()
      const told = Promise.race([thread.ask({ kind: 'lines', ...ask }), over])
      return (await orTimeIsUp(told))?.hits ?? []
    },
    end(): void {
      clearInterval(watch)
      for (const thread of threads) thread.end()
    },
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

const startThread = (
  setup: Omit<SearchSetup, 'pulse'>,
  fail: (reason: unknown) => void,
): Thread => {
  const pulse = new SharedArrayBuffer(8)
  const beat = new Int32Array(pulse)
  const worker = new Worker(`(${searchWorker})()`, {
    eval: true,
    workerData: { ...setup, pulse } satisfies SearchSetup,
    env: {},
  })
  worker.unref()
  // A pattern can need more memory or depth than there is.
  worker.on('error', fail)
  let last = -1
  return {
    ask: ask =>
      new Promise(resolve => {
        worker.once('message', resolve)
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
