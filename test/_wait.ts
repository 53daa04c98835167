/** Waiting for what no event announces, and time limits that hold on a machine whose CPUs are taken away for a while. */
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'

/** A minute on an idle machine. Rounds are counted, not time: a pause of the whole machine uses up only one. */
const ROUNDS = 6_000

/** Asks every 10 ms until `happened`; fails after a minute with `what` was waited for. */
export const until = async (
  happened: () => boolean | Promise<boolean>,
  what = 'what the test waits for',
): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) {
    if (await happened()) return
    await sleep(10)
  }
  throw new Error(`never happened: ${what}`)
}

/** Call after a write in the test, as by another program, before a service in the same process is asked: its watches have reported the change. */
export const changesReported = async (): Promise<void> => {
  // Elsewhere, changes are reported later or only seen after a second.
  if (process.platform !== 'linux') return sleep(1_100)
  // The event loop polls between two of them.
  await immediate()
  await immediate()
}

/** Writes as another program did a minute ago. */
export const writeOld = (path: string, text: string): void => {
  writeFileSync(path, text)
  const ago = Date.now() / 1_000 - 60
  utimesSync(path, ago, ago)
}

/** A zombie has ended, although its number is still taken: the init process of a container may never wait for it. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    const stat = `/proc/${pid}/stat`
    return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'))
  } catch {
    // It has ended, before the first question or between the two.
    return false
  }
}

/** Resolves when the process has ended. */
export const ended = (pid: number): Promise<void> => until(() => !isAlive(pid), `the end of ${pid}`)
