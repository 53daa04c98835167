/** Helper processes of the benchmarks, with requests and responses over IPC. */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Child = { process: ChildProcess; ask<A>(question: unknown): Promise<A>; end(): void }

export const startChild = (file: string): Child => {
  const child = fork(join(import.meta.dirname, file))
  return {
    process: child,
    ask: <A>(question: unknown) =>
      new Promise<A>((resolve, reject) => {
        const gone = (code: number | null) => reject(new Error(`${file} ended with ${code}`))
        child.once('exit', gone)
        child.once('message', answer => {
          child.off('exit', gone)
          resolve(answer as A)
        })
        child.send(question as object)
      }),
    end: () => void child.kill('SIGKILL'),
  }
}

/** Resident memory in MB, current or peak. */
export const memoryMb = (pid: number | undefined, what: 'VmRSS' | 'VmHWM' = 'VmRSS'): number => {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(text)?.[1] ?? 0) / 1024
}

/** Processor time of a process so far, in milliseconds: a busy machine changes it less than anything that is waited for. */
export const cpuMs = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  // Of a hundredth of a second each.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)
