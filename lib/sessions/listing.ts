/** The session list, newest first: a page by key, or the whole body kept for as long as it is asked for again. */
import { createHash, randomBytes } from 'node:crypto'
import { invalid } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { Catalog } from './catalog.ts'
import type { ListPage } from './types.ts'

const MAX_PAGE = 500
const KEEP_MS = 60_000

const formatCursor = (ms: number, id: string): string =>
  Buffer.from(`${ms}.${id}`).toString('base64url')

const parseCursor = (cursor: string): { ms: number; id: string } => {
  const match = /^(-?\d{1,16})\.(.+)$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match?.[1] || !match[2] || !SESSION_ID.test(match[2])) throw invalid('Invalid cursor')
  return { ms: Number(match[1]), id: match[2] }
}

export const createListing = (catalog: Catalog) => {
  /** A version number of one process means nothing to the next. */
  const boot = randomBytes(4).toString('hex')
  let kept: { version: number; profile: string | null; body: Buffer } | null = null
  let drop: NodeJS.Timeout | null = null

  const whole = (profile: string | null): ListPage => {
    const { version } = catalog
    if (kept?.version !== version || kept.profile !== profile) {
      kept = { version, profile, body: catalog.whole(profile) }
    }
    if (drop) clearTimeout(drop)
    drop = setTimeout(() => {
      kept = null
    }, KEEP_MS)
    drop.unref()
    const { body } = kept
    return { body, next: null, etag: `${boot}-${version}-${encodeURIComponent(profile ?? '')}` }
  }

  const page = (limit: number, cursor: string | undefined, profile: string | null): ListPage => {
    const size = Math.min(Math.max(Math.trunc(limit), 1), MAX_PAGE)
    const after = cursor === undefined ? null : parseCursor(cursor)
    const rows = catalog.page(after, size + 1, profile)
    const shown = rows.slice(0, size)
    const last = shown.at(-1)
    const body = Buffer.from(`[${shown.map(({ row }) => row).join(',')}]`)
    const next = rows.length > size && last ? formatCursor(last.ms, last.id) : null
    const hash = createHash('sha1')
      .update(body)
      .update(next ?? '')
      .digest('base64url')
    return { body, next, etag: hash }
  }

  return {
    list({
      limit,
      cursor,
      profile,
    }: {
      limit?: number | undefined
      cursor?: string | undefined
      profile?: string | undefined
    } = {}): ListPage {
      // A blank value is an absent one, as everywhere in a query.
      const after = cursor || undefined
      if (limit === undefined && after === undefined) return whole(profile || null)
      return page(limit ?? 100, after, profile || null)
    },
    /** The kept body may hold words that were just erased. */
    drop(): void {
      kept = null
    },
    close(): void {
      if (drop) clearTimeout(drop)
      kept = null
    },
  }
}
export type Listing = ReturnType<typeof createListing>
