/** What a person has allowed for good in a profile: one command in one folder, or a rule of their own. */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { ApprovalRequest } from '../agent/types.ts'
import { coveringPrefixes } from '../agent/shell/prefix.ts'
import { unavailable } from '../errors.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { jsonFile } from '../store/json-file.ts'
import type { Rule, RuleScope } from '../schema/question.ts'

const MAX_GRANTS = 1_000

export const Grant = z
  .object({
    id: z.string(),
    profile: z.string(),
    /** As it was shown; what counts is the id, a digest of what it really is. */
    command: z.string(),
    cwd: z.string(),
    /** Where it holds: below `cwd`, or everywhere in the profile; absent: exactly in `cwd`. */
    scope: z.enum(['workspace', 'profile']).optional(),
    reasons: z.array(z.string()),
    granted_at: z.number(),
  })
  .meta({ id: 'Grant' })
export type Grant = z.infer<typeof Grant>

const GrantFile = z.object({ version: z.literal(1), grants: z.array(Grant) })

/**
 * Names one command in one folder with the reasons it was asked about. A script that has become more dangerous since
 * has other reasons, and is asked about again.
 */
export const grantId = ({ command, cwd, patternKeys }: ApprovalRequest): string =>
  createHash('sha256')
    .update(JSON.stringify([command.trim(), cwd, [...patternKeys].sort()]))
    .digest('hex')

const digest = (...parts: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** Names a rule as it is given for `ask`; with the same reasons, and for a workspace only there. */
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

/** Every id under which a yes to this may be kept, in any scope. */
export const coveringIds = (ask: ApprovalRequest, workspace: string): string[] => {
  const scopes: RuleScope[] = isInside(realPath(workspace), realPath(ask.cwd))
    ? ['session', 'workspace', 'profile']
    : ['session', 'profile']
  const all = [null, ...coveringPrefixes(ask.command, ask.patternKeys)]
  return [
    grantId(ask),
    ...scopes.flatMap(scope => all.map(words => ruleId(ask, { scope, words }, workspace))),
  ]
}

export type Grants = ReturnType<typeof createGrants>

/** `path`: one file for all profiles, in the state directory. */
export const createGrants = ({ path, now }: { path: string; now: () => number }) => {
  const file = jsonFile(path, value => (value === undefined ? [] : GrantFile.parse(value).grants))
  /** A file that cannot be read is never taken for an empty one. */
  const read = (): Grant[] => {
    const problem = file.problem()
    if (problem !== null)
      throw unavailable(`${path} cannot be read: ${problem}. Mend it, or remove it.`)
    return file.read()
  }
  const write = (grants: Grant[]): void => {
    // At a terminal nothing else has made the folder.
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    file.write({ version: 1, grants })
  }
  return {
    list: (profile: string): Grant[] => read().filter(grant => grant.profile === profile),
    has: (profile: string, ids: readonly string[]): boolean =>
      // Where it cannot be read nothing is granted: the person is asked.
      file.problem() === null &&
      file.read().some(grant => grant.profile === profile && ids.includes(grant.id)),
    /** `command` is what is allowed as the person saw it. */
    add(profile: string, added: Omit<Grant, 'profile' | 'granted_at'>): void {
      const { id } = added
      const others = read().filter(grant => grant.id !== id || grant.profile !== profile)
      write([...others, { ...added, profile, granted_at: now() }].slice(-MAX_GRANTS))
    },
    /** False when there was none. */
    remove(profile: string, id: string): boolean {
      const before = read()
      const after = before.filter(grant => grant.profile !== profile || grant.id !== id)
      if (after.length < before.length) write(after)
      return after.length < before.length
    },
  }
}
