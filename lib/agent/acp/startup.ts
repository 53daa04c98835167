/** How long an agent may take to start, and what is said while it does. */
import { basename } from 'node:path'

const START_MS = 60_000
/** One that is fetched first weighs hundreds of megabytes. */
const FETCH_MS = 15 * 60_000
const FIRST_NOTE_MS = 15_000
const FETCH_NOTE_MS = 3_000
const NEXT_NOTE_MS = 60_000

const FETCHERS = new Set(['npx', 'pnpx', 'bunx', 'uvx', 'pipx', 'dlx'])

/** Its program is fetched when it is not on this machine yet. */
export const isFetched = ([file = '', ...args]: readonly string[]): boolean =>
  FETCHERS.has(basename(file).replace(/\.(?:cmd|exe)$/i, '')) || args[0] === 'dlx'

export const startTimeoutMs = (command: readonly string[]): number =>
  isFetched(command) ? FETCH_MS : START_MS

/** Says what is going on while `work` takes long. */
export const withStartupNotices = async <T>(
  work: Promise<T>,
  {
    name,
    command,
    notify,
  }: { name: string; command: readonly string[]; notify: (words: string) => void },
  firstMs = isFetched(command) ? FETCH_NOTE_MS : FIRST_NOTE_MS,
): Promise<T> => {
  const startedAt = performance.now()
  const first = isFetched(command)
    ? `${name} is being started. ${basename(command[0] ?? '')} fetches it first where it is not on this machine yet, which can take minutes.`
    : `${name} is being started.`
  let timer: NodeJS.Timeout
  const note = (words: string) => {
    notify(words)
    timer = setTimeout(() => {
      const minutes = Math.max(1, Math.round((performance.now() - startedAt) / 60_000))
      note(
        `${name} is still being started, for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} now.`,
      )
    }, NEXT_NOTE_MS)
  }
  timer = setTimeout(() => note(first), firstMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}
