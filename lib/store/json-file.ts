/** One JSON file: read as it stands now, replaced whole, never overwritten while it cannot be understood. */
import { basename } from 'node:path'
import { conflict, messageOf } from '../errors.ts'
import { type FileText, cachedFile } from './cached-file.ts'
import type { ReadOptions } from './read-text.ts'
import { replaceText } from './atomic-write.ts'

export type JsonFile<T> = {
  readonly path: string
  /** The parsed value; treat it as frozen. Of a broken file: the last good value of this process, else the empty one. */
  read(): T
  /** Why the file cannot be understood, or null. */
  problem(): string | null
  /** It cannot be understood, and never could since this process began: `read` answers the empty value. */
  isLost(): boolean
  /** Refuses while the file is broken, so that what somebody mistyped can still be mended by hand. */
  write(value: unknown): void
}

/** What is wrong with a JSON text, by its line. Never in the words of the parser: those quote the text, which may hold keys. */
export const jsonReason = (error: unknown, text: string): string => {
  if (!(error instanceof SyntaxError))
    return error instanceof Error && error.name === 'ZodError'
      ? 'it does not have the shape this service writes'
      : messageOf(error)
  const [, position] = /position (\d+)/.exec(error.message) ?? []
  const isCut = /end of JSON|Unterminated/i.test(error.message)
  const before = position === undefined || isCut ? text : text.slice(0, Number(position))
  const line = before.split('\n').length
  return `line ${line}: ${isCut ? 'its JSON ends too early' : 'it is not valid JSON'}`
}

/** `parse` turns any JSON value into T; it gets undefined for a missing file, and may throw on a wrong shape. */
export const jsonFile = <T>(
  path: string,
  parse: (value: unknown) => T,
  options: ReadOptions = { mayDangle: true },
): JsonFile<T> => {
  let good: { value: T } | undefined
  const read = ({ text, problem }: FileText): { value: T; problem: string | null } => {
    if (text === null) {
      if (problem === null) good = undefined
      return { value: good ? good.value : parse(undefined), problem }
    }
    try {
      good = { value: parse(JSON.parse(text)) }
      return { value: good.value, problem: null }
    } catch (error) {
      // Half-written or mistyped: go on with what we knew, and say so to whoever asks.
      return { value: good ? good.value : parse(undefined), problem: jsonReason(error, text) }
    }
  }
  const view = cachedFile(path, read, options)
  return {
    path,
    read: () => view().value,
    problem: () => view().problem,
    isLost: () => view().problem !== null && !good,
    write(value) {
      const { problem } = view()
      if (problem)
        throw conflict(`${basename(path)} cannot be read; mend or remove it first (${problem})`)
      replaceText(path, `${JSON.stringify(value, null, 2)}\n`)
    },
  }
}
