/** Which guards that are not kept the person accepted, by profile, key and value: another value is another question. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isObjectOrArray } from '../base/json.ts'
import { conflict } from '../errors.ts'
import { type JsonFile, jsonFile } from '../store/json-file.ts'
import type { UnsupportedGuard } from './guard-rules.ts'

/** Profile → key → what identifies the value. */
const Accepted = z.record(z.string(), z.record(z.string(), z.string()))
type Accepted = z.output<typeof Accepted>

/** The same value written in another order of keys is the same. */
const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isObjectOrArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, ordered(each)]),
  )
}

/** What stands for a value where it is accepted: the value may hold a secret. */
export const valueId = ({ key, value }: Pick<UnsupportedGuard, 'key' | 'value'>): string =>
  createHash('sha256')
    .update(JSON.stringify([key, ordered(value)]) ?? '')
    .digest('hex')
    .slice(0, 32)

export type AcceptedGuards = {
  has(profile: string, guard: UnsupportedGuard): boolean
  /** Refuses when the value is no longer the one the person was shown. */
  set(profile: string, guard: UnsupportedGuard, shown: string, accepted: boolean): void
  problem(): string | null
}

/** A file that cannot be read accepts nothing. */
export const createAcceptedGuards = (path: string): AcceptedGuards => {
  const file: JsonFile<Accepted> = jsonFile(path, value => Accepted.parse(value ?? {}))
  const all = (): Accepted => (file.problem() === null ? file.read() : {})
  return {
    has: (profile, guard) => {
      const own = all()[profile]
      return own !== undefined && Object.hasOwn(own, guard.key) && own[guard.key] === valueId(guard)
    },
    set(profile, guard, shown, accepted) {
      const id = valueId(guard)
      if (shown !== id)
        throw conflict(`${guard.key} has changed in the meantime. Look at its value again.`, {
          code: 'guard_changed',
        })
      const before = file.read()
      const { [guard.key]: _, ...others } = before[profile] ?? {}
      file.write({ ...before, [profile]: accepted ? { ...others, [guard.key]: id } : others })
    },
    problem: file.problem,
  }
}
