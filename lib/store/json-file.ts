/** One JSON file: read as it stands now, replaced whole, never overwritten while it cannot be understood. */
import { basename } from 'node:path'
import { conflict, messageOf } from '../errors.ts'
import { fileView } from './file-view.ts'
import { replaceText } from './replace.ts'

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

/** `parse` turns any JSON value into T; it gets undefined for a missing file, and may throw on a wrong shape. */
export const jsonFile = <T>(path: string, parse: (value: unknown) => T): JsonFile<T> => {
  let good: { value: T } | undefined
  const view = fileView(path, ({ text, problem }): { value: T; problem: string | null } => {
    if (text === null) {
      if (problem === null) good = undefined
      return { value: good ? good.value : parse(undefined), problem }
    }
    try {
      good = { value: parse(JSON.parse(text)) }
      return { value: good.value, problem: null }
    } catch (error) {
      // Half-written or mistyped: go on with what we knew, and say so to whoever asks.
      return { value: good ? good.value : parse(undefined), problem: messageOf(error) }
    }
  })
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
