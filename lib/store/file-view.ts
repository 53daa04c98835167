/** A parsed file that other programs may change: stat'ed at every use, read and parsed again only when it differs. */
import { readFileSync, statSync } from 'node:fs'
import { messageOf } from '../errors.ts'

/** File times advance in ticks: a file this young may change again and keep its time and size. */
const TICK_MS = 50

/** `text` is null for a missing file; `problem` says why an existing one could not be read. */
export type FileText = { text: string | null; problem: string | null }

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')

const readText = (path: string): FileText => {
  try {
    return { text: readFileSync(path, 'utf8').replace(/^\uFEFF/, ''), problem: null }
  } catch (error) {
    // Missing is an ordinary state; anything else is told to whoever parses.
    return { text: null, problem: isMissing(error) ? null : messageOf(error) }
  }
}

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
export const fileView = <T>(path: string, parse: (file: FileText) => T): (() => T) => {
  let last: { stamp: string | undefined; file: FileText; value: T } | undefined
  return () => {
    const stamp = stampOf(path)
    if (last && stamp !== undefined && stamp !== '' && stamp === last.stamp) return last.value
    const file = readText(path)
    const same = last && last.file.text === file.text && last.file.problem === file.problem
    last = { stamp, file, value: same && last ? last.value : parse(file) }
    return last.value
  }
}
