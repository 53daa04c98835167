/** Links to shared chats, and whether they are allowed: a private file with hashes of their tokens, so that both survive a restart. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../base/sha256.ts'
import { type Clock, fromSeconds, toSeconds } from '../../base/clock.ts'
import { z } from 'zod'
import { conflict, unavailable } from '../../errors.ts'
import { Share, type ShareOptions } from '../../schema/share.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import { errorCode } from '../../store/file-error.ts'
import { readWholeText } from '../../store/read-text.ts'

const MAX_SHARES = 200
const DAY_MS = 86_400_000
/** How old the stored time of the last opening may become: not every request writes the file. */
const OPENED_STEP_MS = 60_000

/** Recognizable, so that `lib/base/redact/shapes.ts` masks tokens although only their hashes are known. */
const PREFIX = 'awl_'

const StoredShare = Share.extend({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** The journal's next line number when the link was made: a link that is not live shows only lines before it. */
  before: z.number().int().positive(),
})
export type StoredShare = z.infer<typeof StoredShare>
export const SharesFile = z.object({
  version: z.literal(1),
  enabled: z.boolean(),
  shares: z.array(StoredShare),
})
type SharesFile = z.infer<typeof SharesFile>

const NONE: SharesFile = { version: 1, enabled: false, shares: [] }

const toShare = ({ hash: _, before: __, ...share }: StoredShare): Share => share

export type NewShare = ShareOptions &
  Pick<StoredShare, 'session_id' | 'profile' | 'title' | 'before'> & { days: number }

const read = (path: string): SharesFile | 'damaged' => {
  try {
    return SharesFile.parse(JSON.parse(readWholeText(path)))
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? NONE : 'damaged'
  }
}

/** An unreadable file keeps all links off and is not replaced. */
export class Shares {
  readonly #path: string
  readonly #clock: Clock
  readonly #log: { info(text: string): void }
  readonly #isDamaged: boolean
  #state: SharesFile

  constructor(path: string, clock: Clock, log: { info(text: string): void }) {
    this.#path = path
    this.#clock = clock
    this.#log = log
    const file = read(path)
    this.#isDamaged = file === 'damaged'
    this.#state = file === 'damaged' ? NONE : file
  }

  #isCurrent({ expires_at }: StoredShare): boolean {
    return fromSeconds(expires_at) > this.#clock.now()
  }

  #current(shares: readonly StoredShare[] = this.#state.shares): StoredShare[] {
    return shares.filter(share => this.#isCurrent(share))
  }

  /** On disk first: a link that was not stored must not work until the next start only. */
  #write(next: Partial<SharesFile>): void {
    const path = this.#path
    if (this.#isDamaged)
      throw unavailable(`${path} is damaged. Repair or remove it, then restart the server.`, {
        code: 'file_damaged',
        values: { path },
      })
    const state = { ...this.#state, ...next }
    const file = { ...state, shares: this.#current(state.shares) }
    writeAtomic(path, `${JSON.stringify(file, null, 1)}\n`)
    this.#state = file
  }

  /** Removes matching links; returns how many there were. */
  #remove(matches: (share: StoredShare) => boolean): number {
    const { shares } = this.#state
    const removed = shares.filter(matches)
    if (removed.length === 0) return 0
    this.#write({ shares: shares.filter(share => !matches(share)) })
    for (const { id, session_id } of removed)
      this.#log.info(`share link ${id} of chat ${session_id} revoked`)
    return removed.length
  }

  isEnabled(): boolean {
    return this.#state.enabled
  }

  /** Links that have not expired, oldest first. */
  list(): Share[] {
    return this.#current().map(toShare)
  }

  setEnabled(enabled: boolean): void {
    if (enabled === this.#state.enabled && !this.#isDamaged) return
    this.#write({ enabled })
    this.#log.info(`share links turned ${enabled ? 'on' : 'off'}`)
  }

  /** `token` is not stored, so this is the only time it can be shown. */
  create({ days, ...fields }: NewShare): { share: Share; token: string } {
    if (!this.#state.enabled)
      throw conflict('Share links are off. Turn them on in Settings → Access.', {
        code: 'shares_off',
      })
    if (this.#current().length >= MAX_SHARES)
      throw conflict(`There are ${MAX_SHARES} share links already. Revoke one first.`, {
        code: 'too_many_shares',
        values: { max: MAX_SHARES },
      })
    const token = `${PREFIX}${randomBytes(32).toString('base64url')}`
    const now = this.#clock.now()
    const share: StoredShare = {
      ...fields,
      id: randomBytes(8).toString('hex'),
      created_at: Math.floor(toSeconds(now)),
      expires_at: Math.floor(toSeconds(now + days * DAY_MS)),
      opened_at: null,
      hash: sha256(token),
    }
    this.#write({ shares: [...this.#state.shares, share] })
    const until = new Date(fromSeconds(share.expires_at)).toISOString()
    this.#log.info(`share link ${share.id} of chat ${share.session_id} created, expires ${until}`)
    return { share: toShare(share), token }
  }

  revoke(id: string): boolean {
    return this.#remove(share => share.id === id) > 0
  }

  revokeAll(): number {
    return this.#remove(() => true)
  }

  /** For a deleted profile: a later one of the same name must not be reachable through its links. */
  endProfile(profile: string): number {
    return this.#remove(share => share.profile === profile)
  }

  /** The link of a token; undefined when it is unknown, revoked or expired, or all links are off. Compares hashes only. */
  find(token: string): StoredShare | undefined {
    const hash = sha256(token)
    const share = this.#state.shares.find(each => each.hash === hash)
    return this.#state.enabled && share && this.#isCurrent(share) ? share : undefined
  }

  noteOpened({ id, session_id, opened_at }: StoredShare, address: string): void {
    const now = this.#clock.now()
    if (opened_at !== null && now - fromSeconds(opened_at) < OPENED_STEP_MS) return
    const at = Math.floor(toSeconds(now))
    const { shares } = this.#state
    this.#log.info(`share link ${id} of chat ${session_id} opened from ${address}`)
    try {
      this.#write({
        shares: shares.map(each => (each.id === id ? { ...each, opened_at: at } : each)),
      })
    } catch {
      // A full disk: the page itself does not depend on it.
    }
  }
}
