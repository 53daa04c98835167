/** Unsupported guards the user accepted, by profile, key and value. A changed value must be accepted again. */
import type { Words } from '../../base/sentences.ts'
import { sha256 } from '../../base/sha256.ts'
import { z } from 'zod'
import { isObjectOrArray } from '../../base/json.ts'
import { conflict } from '../../errors.ts'
import { JsonFile } from '../../store/json-file.ts'
import type { UnsupportedGuard } from './guard-rules.ts'

/** Profile → key → id of the value. */
export const AcceptedGuardsFile = z.record(z.string(), z.record(z.string(), z.string()))
type AcceptedGuardsFile = z.output<typeof AcceptedGuardsFile>

/** Sorts keys, so that their order does not matter. */
const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isObjectOrArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, ordered(each)]),
  )
}

/** A hash that identifies a value. The value itself may contain a secret. */
export const valueId = ({ key, value }: { key: string; value: unknown }): string =>
  sha256(JSON.stringify([key, ordered(value)]) ?? '').slice(0, 32)

/** An unreadable file accepts nothing. */
export class AcceptedGuards {
  readonly #file: JsonFile<AcceptedGuardsFile>

  constructor(path: string) {
    this.#file = new JsonFile(path, value => AcceptedGuardsFile.parse(value ?? {}))
  }

  problem(): Words | null {
    return this.#file.problem()
  }

  #all(): AcceptedGuardsFile {
    return this.#file.problem() === null ? this.#file.read() : {}
  }

  has(profile: string, guard: UnsupportedGuard): boolean {
    const own = this.#all()[profile]
    return own !== undefined && Object.hasOwn(own, guard.key) && own[guard.key] === valueId(guard)
  }

  /** Throws a UserError (409) when the value has changed since it was shown. */
  set(profile: string, guard: UnsupportedGuard, seenId: string, accepted: boolean): void {
    const id = valueId(guard)
    if (seenId !== id)
      throw conflict(`${guard.key} has changed. Review its value again.`, {
        code: 'guard_changed',
      })
    const before = this.#file.read()
    const { [guard.key]: _, ...others } = before[profile] ?? {}
    this.#file.write({ ...before, [profile]: accepted ? { ...others, [guard.key]: id } : others })
  }
}
