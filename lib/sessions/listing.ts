/** The session list, newest first: keyset pages, or the whole list. */
import { createHash } from 'node:crypto'
import { invalid } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Catalog, PageRow, ListPosition } from './catalog.ts'
import { isEmptyRow } from './list-row.ts'
import type { WholeList } from './whole-list.ts'

const MAX_PAGE = 500
/** More than anyone pins; the page shows them all at once. */
const MAX_PINNED = 200

/** One profile, several, or all (undefined, or an empty text). No session is in an empty list. */
export type ProfileFilter = string | readonly string[] | undefined

export type ListOptions = {
  limit?: number | undefined
  cursor?: string | undefined
  profile?: ProfileFilter
  /** Rows of the host agent to merge in by time, newest first; ours win. */
  foreign?: readonly SessionRow[] | undefined
  /** False: without runs of scheduled tasks, except those that are pinned or wait for the user. */
  scheduled?: boolean | undefined
}

export type ListPage = {
  /** JSON array text of rows, in parts: those of the whole list stay the same while their rows do, so they are masked once. */
  body: readonly Buffer[]
  /** Pinned rows of the pages after a first one, as JSON array text; null when there are no such pages. */
  pinned: Buffer | null
  next: string | null
  /** Without quotes. */
  etag: string
  /** How many of the foreign rows are in the list: those whose id is not one of ours. */
  foreign: number
}

const formatCursor = ({ ms, id }: ListPosition): string =>
  Buffer.from(`${ms}.${id}`).toString('base64url')

const parseCursor = (cursor: string): ListPosition => {
  const match = /^(-?\d{1,16})\.(.+)$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match?.[1] || !match[2] || !SESSION_ID.test(match[2])) throw invalid('Invalid cursor')
  return { ms: Number(match[1]), id: match[2] }
}

/** The order of the catalog: newest first, equal times by id. */
const isBefore = (a: ListPosition, b: ListPosition): boolean =>
  a.ms === b.ms ? a.id < b.id : a.ms > b.ms

const sorted = (entries: readonly PageRow[]): PageRow[] =>
  entries.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))

const toPageRow = (row: SessionRow): PageRow => ({
  ms: Math.round(row.updated_at * 1000),
  id: row.session_id,
  row: JSON.stringify(row),
})

const bodyOf = (rows: readonly PageRow[]): Buffer =>
  Buffer.from(`[${rows.map(({ row }) => row).join(',')}]`)

const hashOf = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha1')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url')
}

/** The rows of a page. */
export const rowsOf = (body: readonly Buffer[]): SessionRow[] =>
  JSON.parse(Buffer.concat(body).toString())

/** What the catalog is asked for: null is all profiles, which one query answers. */
export const toProfiles = (filter: ProfileFilter): readonly (string | null)[] =>
  typeof filter === 'object' ? filter : [filter || null]

type Profiles = ReturnType<typeof toProfiles>

/** An empty session of ours is not listed and does not hide a foreign row. */
const isListed = (catalog: Catalog, id: string): boolean => {
  const row = catalog.row(id)
  return row !== undefined && !isEmptyRow(row)
}

/** The foreign rows of the profiles whose ids are not ours. */
const admitted = (
  catalog: Catalog,
  foreign: readonly SessionRow[],
  profiles: Profiles,
): PageRow[] =>
  foreign
    .filter(
      ({ session_id: id, profile: owner }) =>
        (profiles.includes(null) || profiles.includes(owner)) &&
        !isListed(catalog, id) &&
        catalog.alias(id) === undefined,
    )
    .map(toPageRow)

/** `boot`: version numbers restart with the process, so the ETag includes it. */
const listWhole = (
  catalog: Catalog,
  whole: WholeList,
  boot: string,
  profiles: Profiles,
  theirs: PageRow[],
): ListPage => {
  const bodies = profiles.map(profile => whole.read(profile))
  const [only] = bodies
  const own = encodeURIComponent(profiles.map(each => each ?? '').join())
  const etag = `${boot}-${catalog.version}-${own}`
  const page = { pinned: null, next: null, foreign: theirs.length }
  if (only && bodies.length === 1 && theirs.length === 0) return { ...page, body: only, etag }
  const body = bodyOf(sorted([...bodies.flatMap(rowsOf).map(toPageRow), ...theirs]))
  // The version of the catalog does not change with the foreign rows.
  return { ...page, body: [body], etag: `${etag}-${hashOf(bodyOf(theirs))}` }
}

export const listSessions = (
  catalog: Catalog,
  whole: WholeList,
  boot: string,
  { limit, cursor, profile, foreign = [], scheduled = true }: ListOptions,
): ListPage => {
  const profiles = toProfiles(profile)
  const list = scheduled ? foreign : foreign.filter(row => row.source_tag !== 'cron' || row.pinned)
  const theirs = admitted(catalog, list, profiles)
  // A blank query parameter counts as absent.
  if (limit === undefined && !cursor && scheduled)
    return listWhole(catalog, whole, boot, profiles, theirs)
  const size = Math.min(Math.max(Math.trunc(limit ?? 100), 1), MAX_PAGE)
  const after = cursor ? parseCursor(cursor) : null
  const rows = sorted([
    ...profiles.flatMap(each => catalog.page(after, size + 1, each, scheduled)),
    ...theirs.filter(place => after === null || isBefore(after, place)),
  ])
  const last = rows.length > size ? rows[size - 1] : undefined
  const body = bodyOf(rows.slice(0, size))
  const next = last ? formatCursor(last) : null
  // The first page also returns the pinned rows of later pages.
  const pinned =
    last && after === null
      ? bodyOf(
          sorted(profiles.flatMap(each => catalog.pinnedBelow(last, MAX_PINNED, each))).slice(
            0,
            MAX_PINNED,
          ),
        )
      : null
  const etag = hashOf(body, pinned ?? '', next ?? '', String(theirs.length))
  return { body: [body], pinned, next, etag, foreign: theirs.length }
}
