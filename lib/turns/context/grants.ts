/** Permanent approvals of a profile: one command in one folder, or a rule. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { sha256 } from '../../base/sha256.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { z } from 'zod'
import type { ApprovalRequest } from '../../agent/types.ts'
import { CHANGES } from '../../agent/shell/labels.ts'
import { coveringPrefixes } from '../../agent/shell/prefix.ts'
import { unavailable } from '../../errors.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { JsonFile } from '../../store/json-file.ts'
import { AnyCall, type Rule, type RuleScope } from '../../schema/question.ts'

const MAX_GRANTS = 1_000

export const Grant = z
  .object({
    id: z.string(),
    profile: z.string(),
    /** As it was shown. The id, a digest of the real command, is what is matched. */
    command: z.string(),
    cwd: z.string(),
    /** Where it applies: below `cwd`, or in the whole profile; absent: exactly in `cwd`. */
    scope: z.enum(['workspace', 'profile']).optional(),
    /** All calls of the tool or all changes of the files that `command` names. */
    any: AnyCall.shape.of.optional(),
    reasons: z.array(z.string()),
    granted_at: z.number(),
  })
  .meta({ id: 'Grant' })
export type Grant = z.infer<typeof Grant>

export const GrantFile = z.object({ version: z.literal(1), grants: z.array(Grant) })

const digest = (...parts: unknown[]): string => sha256(JSON.stringify(parts))

/**
 * Identifies what was shown: one command, or one call with its arguments or its change, in one folder with its reasons. A
 * script that has become more dangerous since has other reasons and needs a new approval.
 */
export const grantId = ({ command, cwd, patternKeys, diff, whole }: ApprovalRequest): string =>
  digest(
    command.trim(),
    cwd,
    [...patternKeys].sort(),
    ...(diff === undefined && whole === undefined ? [] : [diff ?? '', whole ?? '']),
  )

/** Identifies all calls of the tool, all changes of the files. */
export const anyId = ({ of, key }: NonNullable<ApprovalRequest['any']>): string =>
  digest('any', of, key)

/** Identifies a rule that was given for `ask`, with the same reasons and, for a workspace rule, the workspace. */
export const ruleId = (
  { command, patternKeys }: ApprovalRequest,
  { scope, words }: Rule,
  workspace: string,
): string =>
  digest(
    scope,
    scope === 'workspace' ? realPath(workspace) : '',
    words ?? command.trim(),
    [...patternKeys].sort(),
  )

/**
 * Whether the ids that are granted cover a request: the whole command, or each part of it that can change something (`cd x &&
 * npm test | tail` is covered by a rule for `npm test`).
 */
export const isCovered = (
  ask: ApprovalRequest,
  workspace: string,
  has: (ids: readonly string[]) => boolean,
): boolean => {
  if (has(coveringIds(ask, workspace))) return true
  const { lines = [], patternKeys } = ask
  // With another reason, it is not known which part has it.
  return (
    lines.length > 0 &&
    patternKeys.every(key => key === CHANGES) &&
    lines.every(command => has(coveringIds({ ...ask, command }, workspace)))
  )
}

/** Identifies the permission of a workspace to reach a destination. */
export const networkGrantId = (key: string, workspace: string): string =>
  digest('network', realPath(workspace), key)

/** Every id that an approval covering this request may have, in any scope. */
export const coveringIds = (ask: ApprovalRequest, workspace: string): string[] => {
  if (ask.any) return [grantId(ask), anyId(ask.any)]
  const scopes: RuleScope[] = isInside(realPath(workspace), realPath(ask.cwd))
    ? ['session', 'workspace', 'profile']
    : ['session', 'profile']
  const all = [null, ...coveringPrefixes(ask.command, ask.patternKeys)]
  return [
    grantId(ask),
    ...scopes.flatMap(scope => all.map(words => ruleId(ask, { scope, words }, workspace))),
  ]
}

/** The permanent approvals of all profiles, in one file of the state directory. */
export class Grants {
  readonly #path: string
  readonly #clock: Clock
  readonly #file: JsonFile<Grant[]>

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    this.#file = new JsonFile(path, value =>
      value === undefined ? [] : GrantFile.parse(value).grants,
    )
  }

  list(profile: string): Grant[] {
    return this.#read().filter(grant => grant.profile === profile)
  }

  /** With an unreadable file nothing is granted, and the user is asked. */
  has(profile: string, ids: readonly string[]): boolean {
    return (
      this.#file.problem() === null &&
      this.#file.read().some(grant => grant.profile === profile && ids.includes(grant.id))
    )
  }

  /** `command` is the command as the user saw it. */
  add(profile: string, added: Omit<Grant, 'profile' | 'granted_at'>): void {
    const others = this.#read().filter(({ id, profile: of }) => id !== added.id || of !== profile)
    const grant = { ...added, profile, granted_at: toSeconds(this.#clock.now()) }
    this.#write([...others, grant].slice(-MAX_GRANTS))
  }

  /** False when there was none. */
  remove(profile: string, id: string): boolean {
    const before = this.#read()
    const after = before.filter(grant => grant.profile !== profile || grant.id !== id)
    if (after.length < before.length) this.#write(after)
    return after.length < before.length
  }

  /** An unreadable file is not treated as empty: the next write would lose its grants. */
  #read(): Grant[] {
    const reason = this.#file.problem()
    if (reason !== null)
      throw unavailable(`${this.#path} cannot be read: ${reason}. Fix or delete the file.`, {
        code: 'file_unreadable',
        values: { file: this.#path, reason },
      })
    return this.#file.read()
  }

  #write(grants: Grant[]): void {
    // The command line does not create the state directory.
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    this.#file.write({ version: 1, grants })
  }
}
