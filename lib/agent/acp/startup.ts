/** Startup timeout of an agent, and notices while it starts. */
import { basename } from 'node:path'
import type { Clock } from '../../base/clock.ts'

const START_MS = 60_000
/** For agents downloaded on start, which can be hundreds of megabytes. */
const FETCH_MS = 15 * 60_000
const FIRST_NOTE_MS = 15_000
const FETCH_NOTE_MS = 3_000
const NEXT_NOTE_MS = 60_000

const FETCHERS = new Set(['npx', 'pnpx', 'bunx', 'uvx', 'pipx', 'dlx'])

/** Whether the command downloads the agent if it isn't installed. */
export const isFetched = ([file = '', ...args]: readonly string[]): boolean =>
  FETCHERS.has(basename(file).replace(/\.(?:cmd|exe)$/i, '')) || args[0] === 'dlx'

export const startTimeoutMs = (command: readonly string[]): number =>
  isFetched(command) ? FETCH_MS : START_MS

/** Notifies the user while `work` takes long. */
export const withStartupNotices = async <T>(
  work: Promise<T>,
  {
    name,
    command,
    clock,
    notify,
  }: {
    name: string
    command: readonly string[]
    clock: Clock
    notify: (words: string) => void
  },
): Promise<T> => {
  const startedAt = clock.monotonic()
  const first = isFetched(command)
    ? `${name} is starting. ${basename(command[0] ?? '')} downloads it first if it isn't on this machine, which can take minutes.`
    : `${name} is starting.`
  const note = (words: string) => {
    notify(words)
    cancel = clock.timer(NEXT_NOTE_MS, () => {
      const minutes = Math.max(1, Math.round((clock.monotonic() - startedAt) / 60_000))
      note(`${name} is still starting after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`)
    })
  }
  let cancel = clock.timer(isFetched(command) ? FETCH_NOTE_MS : FIRST_NOTE_MS, () => note(first))
  try {
    return await work
  } finally {
    cancel()
  }
}
