/** The session list, newest first: keyset pages, or the whole list cached while it is requested repeatedly. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { invalid } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Catalog } from './catalog.ts'
import { createRecentReads } from './recent-reads.ts'
import { isEmptyRow } from './list-row.ts'
import { createWholeList } from './whole-list.ts'
import type { ListPage, ProfileFilter, Sessions } from './types.ts'

const MAX_PAGE = 500
const CACHE_MS = 60_000
/** More than anyone pins; the page shows them all at once. */
const MAX_PINNED = 200

type ListEntry = { ms: number; id: string; row: string }
type ListCursor = { ms: number; id: string }

const formatCursor = ({ ms, id }: ListCursor): string =>
  Buffer.from(`${ms}.${id}`).toString('base64url')

const parseCursor = (cursor: string): ListCursor => {
  const match = /^(-?\d{1,16})\.(.+)$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match?.[1] || !match[2] || !SESSION_ID.test(match[2])) throw invalid('Invalid cursor')
  return { ms: Number(match[1]), id: match[2] }
}

/** The order of the catalog: newest first, equal times by id. */
const isBefore = (a: ListCursor, b: ListCursor): boolean =>
  a.ms === b.ms ? a.id < b.id : a.ms > b.ms

const sorted = (entries: readonly ListEntry[]): ListEntry[] =>
  entries.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))

const merge = (own: readonly ListEntry[], foreign: readonly ListEntry[]): ListEntry[] =>
  foreign.length === 0 ? [...own] : sorted([...own, ...foreign])

const toListEntry = (row: SessionRow): ListEntry => ({
  ms: Math.round(row.updated_at * 1000),
  id: row.session_id,
  row: JSON.stringify(row),
})

const bodyOf = (rows: readonly ListEntry[]): Buffer =>
  Buffer.from(`[${rows.map(({ row }) => row).join(',')}]`)

const NONE: readonly SessionRow[] = []

/** The rows of a page. */
export const rowsOf = (body: readonly Buffer[]): SessionRow[] =>
  JSON.parse(Buffer.concat(body).toString())

/** What the catalog is asked for: null is all profiles, which one query answers. */
export const toProfiles = (filter: ProfileFilter): readonly (string | null)[] =>
  typeof filter === 'object' ? filter : [filter || null]

type Profiles = ReturnType<typeof toProfiles>

type Kept = {
  version: number
  profiles: string
  foreign: readonly SessionRow[]
  body: readonly Buffer[]
  count: number
  /** Hash of the foreign rows: the catalog version does not change with them. */
  mark: string
}

export const createListing = (catalog: Catalog, clock: Clock) => {
  /** Version numbers restart with the process, so the ETag includes this. */
  const boot = randomBytes(4).toString('hex')
  let kept: Kept | null = null
  let cancel = (): void => undefined
  const recent = createRecentReads({ clock })
  const wholeList = createWholeList(catalog)
  let knownForeign: readonly SessionRow[] = NONE

  /** An empty session of ours is not listed and does not hide a foreign row. */
  const isListed = (id: string): boolean => {
    const text = catalog.rowText(id)
    return text !== undefined && !isEmptyRow(JSON.parse(text) as SessionRow)
  }

  /** The foreign rows of the profile whose ids are not ours. */
  const admitted = (foreign: readonly SessionRow[], profiles: Profiles): ListEntry[] =>
    foreign
      .filter(
        ({ session_id: id, profile: owner }) =>
          (profiles.includes(null) || profiles.includes(owner)) &&
          !isListed(id) &&
          catalog.alias(id) === undefined,
      )
      .map(toListEntry)

  const fill = (profiles: Profiles, foreign: readonly SessionRow[]): Kept => {
    const { version } = catalog
    const same = { version, profiles: JSON.stringify(profiles), foreign }
    const theirs = admitted(foreign, profiles)
    const [only = null] = profiles
    if (theirs.length === 0 && profiles.length === 1) {
      return { ...same, body: wholeList.read(only), count: 0, mark: '' }
    }
    const own = profiles.flatMap(each => rowsOf(wholeList.read(each))).map(toListEntry)
    const mark = createHash('sha1').update(bodyOf(theirs)).digest('base64url')
    return {
      ...same,
      body: [bodyOf(sorted([...own, ...theirs]))],
      count: theirs.length,
      mark: `-${mark}`,
    }
  }

  const forget = (): void => {
    kept = null
    wholeList.drop()
  }

  const whole = (profiles: Profiles, foreign: readonly SessionRow[]): ListPage => {
    const { version } = catalog
    const key = JSON.stringify(profiles)
    const fits = kept?.version === version && kept.profiles === key && kept.foreign === foreign
    const now = fits && kept ? kept : fill(profiles, foreign)
    kept = now
    cancel()
    cancel = clock.timer(CACHE_MS, forget)
    const etag = `${boot}-${version}-${encodeURIComponent(profiles.map(each => each ?? '').join())}${now.mark}`
    return { body: now.body, pinned: null, next: null, etag, foreign: now.count }
  }

  const makePage = (
    limit: number,
    cursor: string | undefined,
    profiles: Profiles,
    foreign: readonly SessionRow[],
    scheduled: boolean,
  ): ListPage => {
    const size = Math.min(Math.max(Math.trunc(limit), 1), MAX_PAGE)
    const after = cursor === undefined ? null : parseCursor(cursor)
    const theirs = admitted(
      scheduled ? foreign : foreign.filter(row => row.source_tag !== 'cron' || row.pinned),
      profiles,
    )
    const below = theirs.filter(place => after === null || isBefore(after, place))
    const own = profiles.flatMap(each => catalog.page(after, size + 1, each, scheduled))
    const rows = profiles.length === 1 ? merge(own, below) : sorted([...own, ...below])
    const shown = rows.slice(0, size)
    const last = shown.at(-1)
    const body = bodyOf(shown)
    const next = rows.length > size && last ? formatCursor(last) : null
    // The first page also returns the pinned rows of later pages.
    const pinned =
      next !== null && last && after === null
        ? bodyOf(
            sorted(profiles.flatMap(each => catalog.pinnedBelow(last, MAX_PINNED, each))).slice(
              0,
              MAX_PINNED,
            ),
          )
        : null
    const hash = createHash('sha1')
      .update(body)
      .update(pinned ?? '')
      .update(next ?? '')
      .update(String(theirs.length))
      .digest('base64url')
    return { body: [body], pinned, next, etag: hash, foreign: theirs.length }
  }

  /** Devices that come back ask for the same page, mostly without a change. */
  const page = (...asked: Parameters<typeof makePage>): ListPage => {
    const [limit, cursor, profiles, foreign, scheduled] = asked
    if (foreign !== knownForeign) recent.clear()
    knownForeign = foreign
    const key = JSON.stringify([limit, cursor, profiles, scheduled])
    return recent.read(
      key,
      String(catalog.version),
      () => makePage(...asked),
      ({ body, pinned }) =>
        body.reduce((sum, { length }) => sum + length, 0) + (pinned?.length ?? 0),
    )
  }

  return {
    list({
      limit,
      cursor,
      profile,
      foreign = NONE,
      scheduled = true,
    }: Parameters<Sessions['list']>[0] = {}): ListPage {
      // A blank query parameter counts as absent.
      const after = cursor || undefined
      if (limit === undefined && after === undefined && scheduled)
        return whole(toProfiles(profile), foreign)
      return page(limit ?? 100, after, toProfiles(profile), foreign, scheduled)
    },
    /** Drops the cached list, which may contain deleted content. */
    drop(): void {
      forget()
      recent.clear()
    },
    close(): void {
      cancel()
      forget()
      recent.clear()
    },
  }
}
export type Listing = ReturnType<typeof createListing>
