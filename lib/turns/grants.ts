/** What a person has allowed for good: exactly one command, in one folder, of one profile. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { ApprovalAsk } from '../agent/types.ts'
import { writeAtomic } from '../store/atomic.ts'

const MAX_GRANTS = 1_000

export const Grant = z
  .object({
    id: z.string(),
    profile: z.string(),
    /** As it was shown; what counts is the id, a digest of what it really is. */
    command: z.string(),
    cwd: z.string(),
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
export const grantId = ({ command, cwd, patternKeys }: ApprovalAsk): string =>
  createHash('sha256')
    .update(JSON.stringify([command.trim(), cwd, [...patternKeys].sort()]))
    .digest('hex')

export type Grants = ReturnType<typeof createGrants>

/** `path`: one file for all profiles, in the state directory. */
export const createGrants = ({ path, now }: { path: string; now: () => number }) => {
  /** A file that cannot be read grants nothing, and is never taken for an empty one. */
  const read = (): Grant[] => {
    let text: string
    try {
      text = readFileSync(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
    return GrantFile.parse(JSON.parse(text)).grants
  }
  const write = (grants: Grant[]) =>
    writeAtomic(path, `${JSON.stringify({ version: 1, grants }, null, 1)}\n`)
  return {
    list: (profile: string): Grant[] => read().filter(grant => grant.profile === profile),
    has(profile: string, ask: ApprovalAsk): boolean {
      const id = grantId(ask)
      return read().some(grant => grant.profile === profile && grant.id === id)
    },
    /** `shown` is the command as the person saw it. */
    add(profile: string, ask: ApprovalAsk, shown: string): void {
      const id = grantId(ask)
      const others = read().filter(grant => grant.id !== id || grant.profile !== profile)
      const added: Grant = {
        id,
        profile,
        command: shown,
        cwd: ask.cwd,
        reasons: ask.patternKeys,
        granted_at: now(),
      }
      write([...others, added].slice(-MAX_GRANTS))
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
