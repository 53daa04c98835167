/**
 * Attributes of files that other programs may change, looked up once for each iteration of the event loop: settings and
 * sign-in are asked for several times in each request, and for each open stream.
 */
import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { onWrite } from './write-reports.ts'

/** File times have a limited resolution: a file changed this recently may change again with the same time and size. */
const TICK_MS = 50

export const changedJustNow = ({ mtimeMs }: BigIntStats): boolean =>
  Math.abs(Date.now() - Number(mtimeMs)) <= TICK_MS

type Found = BigIntStats | undefined

const createStats = (lookUp: (path: string) => Found) => {
  const known = new Map<string, Found>()
  const forget = () => known.clear()
  // Of any file: the same one can have another name.
  onWrite(forget)

  return (path: string): Found => {
    if (known.has(path)) return known.get(path)
    const found = lookUp(path)
    if (found && changedJustNow(found)) return found
    if (known.size === 0) setImmediate(forget)
    known.set(path, found)
    return found
  }
}

// Missing files are asked for hundreds of times in a turn, and an error costs as much as ten answers.
const OPTIONS = { bigint: true, throwIfNoEntry: false } as const

/** Undefined when there is no such file, or its link dangles. Throws the file system's other errors. */
export const statNow = (path: string): Found => statSync(path, OPTIONS)

/** The same of a link itself. */
export const lstatNow = (path: string): Found => lstatSync(path, OPTIONS)

export const statOnce = createStats(statNow)
export const lstatOnce = createStats(lstatNow)
