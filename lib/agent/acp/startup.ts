/** Startup timeout of an agent, and notices while it starts. */
import { basename } from 'node:path'
import type { RunningAgent } from './running-agent.ts'

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

/** Resolves when it has started. Notifies the user while that takes long. */
export const withStartupNotices = async (
  { name, command, clock, started }: RunningAgent,
  notify: (words: string) => void,
): Promise<void> => {
  const first = isFetched(command)
    ? `${name} is starting. ${basename(command[0] ?? '')} downloads it first if it isn't on this machine, which can take minutes.`
    : `${name} is starting.`
  const note = (words: string, minutes: number) => {
    notify(words)
    const next = `${name} is still starting after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
    cancel = clock.timer(NEXT_NOTE_MS, () => note(next, minutes + 1))
  }
  const firstMs = isFetched(command) ? FETCH_NOTE_MS : FIRST_NOTE_MS
  let cancel = clock.timer(firstMs, () => note(first, 1))
  try {
    await started
  } finally {
    cancel()
  }
}
