/** A parsed file that other programs may change: stat'ed at every use, read and parsed again only when it differs. */
import { statSync } from 'node:fs'
import { type FileText, type ReadOptions, readText } from './read-text.ts'

export type { FileText }

/** File times advance in ticks: a file this young may change again and keep its time and size. */
const TICK_MS = 50

/** Identity, size and times; empty for a file that cannot be reached, undefined while it is too young to be trusted. */
const stampOf = (path: string): string | undefined => {
  try {
    const found = statSync(path, { bigint: true })
    const ageMs = Math.abs(Date.now() - Number(found.mtimeMs))
    if (ageMs <= TICK_MS) return undefined
    return `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`
  } catch {
    // Reading it will say what is wrong.
    return ''
  }
}

/**
 * Returns a function giving the parsed file. The same content gives the same object, so whoever derives something
 * from it may compare identities; treat the value as frozen. `parse` must not throw.
 */
export const fileView = <T>(
  path: string,
  parse: (file: FileText) => T,
  options: ReadOptions = {},
): (() => T) => {
  let last: { stamp: string | undefined; file: FileText; value: T } | undefined
  return () => {
    const stamp = stampOf(path)
    if (last && stamp !== undefined && stamp !== '' && stamp === last.stamp) return last.value
    const file = readText(path, options)
    const same = last && last.file.text === file.text && last.file.problem === file.problem
    last = { stamp, file, value: same && last ? last.value : parse(file) }
    return last.value
  }
}
