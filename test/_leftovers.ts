/** Ends what a test run left when it was interrupted. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'

const environmentOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    // It has ended, belongs to someone else, or this is not Linux.
    return ''
  }
}

/** Kills the other processes with a path below `directory` in their environment (on Linux), and deletes it. */
export const removeLeftovers = (directory: string): void => {
  if (!directory.includes('agent-webui-test-')) throw new Error(`not of a test run: ${directory}`)
  const pids = process.platform === 'linux' ? readdirSync('/proc').filter(Number) : []
  for (const pid of pids.filter(each => environmentOf(each).includes(directory)))
    if (Number(pid) !== process.pid) process.kill(Number(pid), 'SIGKILL')
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
}
