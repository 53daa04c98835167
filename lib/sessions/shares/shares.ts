/** Links to shared chats, and whether they are allowed: a private file with hashes of their tokens, so that both survive a restart. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../base/sha256.ts'
import { type Clock, fromSeconds, toSeconds } from '../../base/clock.ts'
import { z } from 'zod'
import { conflict, unavailable } from '../../errors.ts'
import { Share, type ShareOptions } from '../../schema/share.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import { readWholeText } from '../../store/read-text.ts'

const MAX_SHARES = 200
const DAY_MS = 86_400_000
/** How old the stored time of the last opening may become: not every request writes the file. */
const OPENED_STEP_MS = 60_000

/** Recognizable, so that `lib/base/redact/shapes.ts` masks tokens although only their hashes are known. */
const PREFIX = 'awl_'

const Stored = Share.extend({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** The journal's next line number when the link was made: a link that is not live shows only lines before it. */
  before: z.number().int().positive(),
})
export type StoredShare = z.infer<typeof Stored>
export const SharesFile = z.object({
  version: z.literal(1),
  enabled: z.boolean(),
  shares: z.array(Stored),
})
type SharesFile = z.infer<typeof SharesFile>

const toShare = ({ hash: _, before: __, ...share }: StoredShare): Share => share

export type NewShare = ShareOptions &
  Pick<StoredShare, 'session_id' | 'profile' | 'title' | 'before'> & { days: number }

export type Shares = ReturnType<typeof openShares>

/** An unreadable file keeps all links off and is not replaced. */
export const openShares = (
  path: string,
  { clock, log }: { clock: Pick<Clock, 'now'>; log: { info(text: string): void } },
) => {
  const none: SharesFile = { version: 1, enabled: false, shares: [] }
  const read = (): SharesFile | 'damaged' => {
    try {
      return SharesFile.parse(JSON.parse(readWholeText(path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none
      return 'damaged'
    }
  }
  const found = read()
  let state = found === 'damaged' ? none : found

  const isCurrent = ({ expires_at }: StoredShare): boolean => fromSeconds(expires_at) > clock.now()

  /** On disk first: a link that was not stored must not work until the next start only. */
  const write = (next: SharesFile): void => {
    if (found === 'damaged')
      throw unavailable(`${path} is damaged. Repair or remove it, then restart the server.`, {
        code: 'file_damaged',
        values: { path },
      })
    const kept = { ...next, shares: next.shares.filter(isCurrent) }
    writeAtomic(path, `${JSON.stringify(kept, null, 1)}\n`)
    state = kept
  }

  /** Removes matching links; returns how many there were. */
  const remove = (matches: (share: StoredShare) => boolean): number => {
    const removed = state.shares.filter(matches)
    if (removed.length === 0) return 0
    write({ ...state, shares: state.shares.filter(share => !matches(share)) })
    for (const { id, session_id } of removed)
      log.info(`share link ${id} of chat ${session_id} revoked`)
    return removed.length
  }

  return {
    isEnabled: (): boolean => state.enabled,
    /** Links that have not expired, oldest first. */
    list: (): Share[] => state.shares.filter(isCurrent).map(toShare),
    setEnabled(enabled: boolean): void {
      if (enabled === state.enabled && found !== 'damaged') return
      write({ ...state, enabled })
      log.info(`share links turned ${enabled ? 'on' : 'off'}`)
    },
    /** `token` is not stored, so this is the only time it can be shown. */
    create({ days, ...given }: NewShare): { share: Share; token: string } {
      if (!state.enabled)
        throw conflict('Share links are off. Turn them on in Settings → Security.', {
          code: 'shares_off',
        })
      if (state.shares.filter(isCurrent).length >= MAX_SHARES)
        throw conflict(`There are ${MAX_SHARES} share links already. Revoke one first.`, {
          code: 'too_many_shares',
          values: { max: MAX_SHARES },
        })
      const token = `${PREFIX}${randomBytes(32).toString('base64url')}`
      const now = clock.now()
      const share: StoredShare = {
        ...given,
        id: randomBytes(8).toString('hex'),
        created_at: Math.floor(toSeconds(now)),
        expires_at: Math.floor(toSeconds(now + days * DAY_MS)),
        opened_at: null,
        hash: sha256(token),
      }
      write({ ...state, shares: [...state.shares, share] })
      const until = new Date(fromSeconds(share.expires_at)).toISOString()
      log.info(`share link ${share.id} of chat ${share.session_id} created, expires ${until}`)
      return { share: toShare(share), token }
    },
    revoke: (id: string): boolean => remove(share => share.id === id) > 0,
    revokeAll: (): number => remove(() => true),
    /** For a deleted profile: a later one of the same name must not be reachable through its links. */
    endProfile: (profile: string): number => remove(share => share.profile === profile),
    /** The link of a token; undefined when it is unknown, revoked or expired, or all links are off. Compares hashes only. */
    find(token: string): StoredShare | undefined {
      const hash = sha256(token)
      const share = state.shares.find(each => each.hash === hash)
      return state.enabled && share && isCurrent(share) ? share : undefined
    },
    noteOpened({ id, session_id, opened_at }: StoredShare, address: string): void {
      const now = clock.now()
      if (opened_at !== null && now - fromSeconds(opened_at) < OPENED_STEP_MS) return
      const at = Math.floor(toSeconds(now))
      const shares = state.shares.map(each => (each.id === id ? { ...each, opened_at: at } : each))
      log.info(`share link ${id} of chat ${session_id} opened from ${address}`)
      try {
        write({ ...state, shares })
      } catch {
        // A full disk: the page itself does not depend on it.
      }
    },
  }
}
