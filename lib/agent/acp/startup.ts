/** Startup timeout of an agent, and notices while it starts. */
import { sentence, type Words } from '../../base/sentences.ts'
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
  notify: (message: Words) => void,
): Promise<void> => {
  const first = isFetched(command)
    ? sentence('turn.agent_downloads', { name, program: basename(command[0] ?? '') })
    : sentence('turn.agent_starts', { name })
  const note = (message: Words, minutes: number) => {
    notify(message)
    const next = sentence('turn.agent_still_starts', { name, count: minutes })
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
