/**
 * Attributes of files that other programs may change and that every request asks for, such as settings and sign-in: kept
 * while the directory is watched and reports no change of them.
 */
import { type BigIntStats, type FSWatcher, lstatSync, statSync, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { onWrite } from './write-reports.ts'

/** File times have a limited resolution: a file changed this recently may change again with the same time and size. */
const TICK_MS = 50
/** Network file systems and some mounts of containers do not report what changed elsewhere. */
const LOOK_AGAIN_MS = 1_000

export const changedJustNow = ({ mtimeMs }: BigIntStats): boolean =>
  Math.abs(Date.now() - Number(mtimeMs)) <= TICK_MS

type FileStat = BigIntStats | undefined

// Missing files are asked for hundreds of times in a turn, and an error costs as much as ten answers.
const OPTIONS = { bigint: true, throwIfNoEntry: false } as const

/** Undefined when there is no such file, or its link dangles. Throws the file system's other errors. */
export const statNow = (path: string): FileStat => statSync(path, OPTIONS)

/** The same of a link itself. */
export const lstatNow = (path: string): FileStat => lstatSync(path, OPTIONS)

export class DirectoryWatches {
  readonly #changed: (path: string | null) => void
  readonly #watch: typeof watch
  /** Null: the system does not watch it. */
  readonly #watchers = new Map<string, FSWatcher | null>()

  /** `changed`: called with the path of an entry that changed; null: any of them. */
  constructor(changed: (path: string | null) => void, watchDirectory: typeof watch = watch) {
    this.#changed = changed
    this.#watch = watchDirectory
  }

  #drop(dir: string): void {
    this.#watchers.get(dir)?.close()
    this.#watchers.delete(dir)
  }

  /** A table of watches that is full does not become free within this iteration of the event loop. */
  #giveUp(dir: string): void {
    this.#drop(dir)
    this.#watchers.set(dir, null)
    setTimeout(() => this.#drop(dir), LOOK_AGAIN_MS).unref()
  }

  #open(dir: string): void {
    try {
      const watcher = this.#watch(dir, { persistent: false }, (_, name) => {
        // The directory itself was moved or deleted: another one may have its path now.
        const isAll = name === null || name === basename(dir)
        if (isAll) this.#drop(dir)
        this.#changed(isAll ? null : join(dir, name))
      })
      this.#watchers.set(dir, watcher)
      watcher.on('error', () => {
        this.#giveUp(dir)
        this.#changed(null)
      })
    } catch {
      // It is missing, or the system has no watches left.
      this.#giveUp(dir)
    }
  }

  /** Whether changes of its entries are reported from now on. */
  covers(dir: string): boolean {
    if (!this.#watchers.has(dir)) this.#open(dir)
    return Boolean(this.#watchers.get(dir))
  }
}

const caches = new Set<Map<string, unknown>>()

const forget = (path: string | null): void => {
  for (const each of caches) {
    if (path === null) each.clear()
    else each.delete(path)
  }
}

const watches = new DirectoryWatches(forget)
// Of any file: the same one can have another name.
onWrite(() => forget(null))

type LookUp = (path: string) => { stats: FileStat; isLink?: boolean }

/** `isReported`: whether changes below a directory are reported from now on. */
const statCache = (lookUp: LookUp, isReported: (dir: string) => boolean) => {
  const cache = new Map<string, { stats: FileStat; until: number }>()
  caches.add(cache)

  return (path: string): FileStat => {
    const last = cache.get(path)
    if (last && performance.now() < last.until) return last.stats
    // First, so that a change after the lookup is reported.
    const isWatched = isReported(dirname(path))
    const { stats, isLink = false } = lookUp(path)
    cache.delete(path)
    if (stats && changedJustNow(stats)) return stats
    cache.set(path, { stats, until: performance.now() + LOOK_AGAIN_MS })
    // A link's target is in another directory.
    if (!isWatched || isLink) setImmediate(() => cache.delete(path))
    return stats
  }
}

/** Call before a change to what was read, so that it is made to what another program wrote a moment ago. */
export const lookAgain = (): void => forget(null)

/** `stat`, and `lstat`, which answers for a link itself. */
const bothStats = (isReported: (dir: string) => boolean) => ({
  stat: statCache(path => {
    const entry = lstatNow(path)
    return entry?.isSymbolicLink() ? { stats: statNow(path), isLink: true } : { stats: entry }
  }, isReported),
  lstat: statCache(path => ({ stats: lstatNow(path) }), isReported),
})

/** What is asked for several times in an iteration of the event loop is looked up once in it, and again after a write of ours. */
export const { stat: statOnce, lstat: lstatOnce } = bothStats(() => false)

/**
 * As `statNow`, but what is watched and has not changed is not looked up. Linux reports a change before the next request is
 * read; elsewhere, and on network file systems, it may be seen only after `LOOK_AGAIN_MS`. What is not watched, and what is behind a
 * link, is looked up once in an iteration of the event loop.
 */
export const { stat: statWatched, lstat: lstatWatched } = bothStats(dir => watches.covers(dir))
