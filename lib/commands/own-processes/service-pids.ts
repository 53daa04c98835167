/** The processes that end the service when they end: itself and those that started it. Known by number, not by name. */
import { readProc } from './own-processes.ts'

type Stat = { parent: number; group: number }

/** Undefined without /proc, or when the process has exited. */
const statOf = (pid: number): Stat | undefined => {
  // The name is in parentheses and may contain anything.
  const [, parent, group] = /.*\) \S (\d+) (\d+)/s.exec(readProc(`${pid}/stat`) ?? '') ?? []
  return parent === undefined ? undefined : { parent: Number(parent), group: Number(group) }
}

/** By pid, with the process group; outside of Linux the service and its parent alone, without groups. */
const serviceProcesses = (): Map<number, number | undefined> => {
  const found = new Map<number, number | undefined>()
  for (let pid = process.pid; pid > 0 && !found.has(pid); ) {
    const stat = statOf(pid)
    found.set(pid, stat?.group)
    pid = stat?.parent ?? (pid === process.pid ? process.ppid : 0)
  }
  return found
}

/** Whether a signal to `target` reaches the service, as kill(2) reads it: below 0 a process group, -1 every process. */
export const isServiceTarget = (target: number): boolean => {
  const all = serviceProcesses()
  return target < 0 ? target === -1 || [...all.values()].includes(-target) : all.has(target)
}
