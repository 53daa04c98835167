/** Records what a turn changes: how files stood before its first change, and what has become of them at its end. */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { structuredPatch } from 'diff'
import type { Bounds } from '../store/dir-handle.ts'
import { realPath } from '../store/path-within.ts'
import { readContent } from './file-content.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import {
  type Change,
  type OpenRecord,
  sameVersion,
  type TurnRecord,
  type Version,
} from './records.ts'
import { DEFAULT_LIMITS, type Scan, type ScanLimits, scanWorkspace } from './scan-workspace.ts'

const MAX_TOUCHED_BYTES = 50 * 1024 * 1024
/** Longer lists of what could not be recorded help nobody. */
const MAX_LISTED_NAMES = 5

export type CheckpointContext = {
  store: CheckpointStore
  /** The workspace, without what is hidden from requests. */
  bounds: Bounds
  limits?: ScanLimits
}

/** Files outside of the workspace are named by their absolute path. */
export const resolvePath = (bounds: Bounds, path: string): [Bounds, string] =>
  path.startsWith('/') ? [{ ...bounds, root: '/' }, path.slice(1)] : [bounds, path]

const nameOf = (root: string, place: string): string => {
  const way = relative(root, place)
  return way !== '' && way !== '..' && !way.startsWith('../') ? way : place
}

const few = (names: readonly string[]): string =>
  names.length > MAX_LISTED_NAMES
    ? `${names.slice(0, MAX_LISTED_NAMES).join(', ')} and ${names.length - MAX_LISTED_NAMES} more`
    : names.join(', ')

/** Before files are written: those not seen yet in this turn. Answers what could not be recorded. */
export const captureFiles = async (
  { store, bounds }: CheckpointContext,
  open: OpenRecord,
  places: readonly string[],
): Promise<string[]> => {
  const known = new Set(open.touched.map(([path]) => path))
  const notes: string[] = []
  for (const place of places) {
    const path = nameOf(bounds.root, realPath(place))
    if (known.has(path)) continue
    known.add(path)
    const [within, name] = resolvePath(bounds, path)
    const found = readContent(within, name, MAX_TOUCHED_BYTES)
    if ('problem' in found) {
      notes.push(`${path} cannot be undone: ${found.problem}.`)
      continue
    }
    const version = found.content && (await store.put(found.content))
    open.touched.push([path, version])
    for (let folder = dirname(path); !isTop(folder); folder = dirname(folder)) {
      if (existsSync(join(bounds.root, folder)) || open.absent.includes(folder)) break
      open.absent.push(folder)
    }
  }
  return notes
}

/** Folders are recorded inside the workspace only. */
const isTop = (folder: string) => folder === '.' || folder.startsWith('/')

const takeScan = async ({ store, bounds, limits = DEFAULT_LIMITS }: CheckpointContext) => {
  const { git } = store
  if (!git) return null
  const { root, isHidden } = bounds
  const scan = await scanWorkspace({ root, isHidden, limits })
  const take = async () => {
    const gone = [...(await git.entries()).keys()].filter(path => !scan.files.has(path))
    await git.update([...scan.files.keys()], gone)
    return { scan, tree: await git.tree(), entries: await git.entries() }
  }
  try {
    return await take()
  } catch {
    // A damaged index, most likely, or a file that went while it was read: once more from nothing.
    git.dropIndex()
    return take()
  }
}

/** Permissions that git does not keep. */
const permsOf = (scan: Scan): Record<string, number> =>
  Object.fromEntries([...scan.files].filter(([, perm]) => perm !== 0o644 && perm !== 0o755))

const notesOf = ({ large, unreadable, withoutBuildFolders: withoutProducts }: Scan): string[] => [
  ...(large.size > 0
    ? [`Too large to be recorded, so changes to them cannot be undone: ${few([...large.keys()])}.`]
    : []),
  ...(unreadable.length > 0 ? [`Cannot be read, so not recorded: ${few(unreadable)}.`] : []),
  ...(withoutProducts
    ? ['The folder is large: dist, build, target and the like are not recorded.']
    : []),
]

/** Before anything in the workspace may change. */
export const captureWorkspace = async (
  context: CheckpointContext,
  open: OpenRecord,
): Promise<string[]> => {
  if (open.scan) return []
  const taken = await takeScan(context)
  if (!taken)
    return [
      'git is not installed: what commands change cannot be undone, only what the file tools write.',
    ]
  const { scan, tree } = taken
  open.scan = {
    tree,
    perms: permsOf(scan),
    folders: [...scan.folders],
    large: Object.fromEntries(scan.large),
    without_products: scan.withoutBuildFolders,
  }
  return notesOf(scan)
}

type Pair = { before: Version | null; after: Version | null }

const toVersion = (mode: string, id: string, perm: number | undefined): Version | null => {
  if (/^0+$/.test(mode)) return null
  if (mode === '120000') return { kind: 'link', perm: 0, id, store: 'git' }
  return { kind: 'file', perm: perm ?? (mode === '100755' ? 0o755 : 0o644), id, store: 'git' }
}

/** What is another in the workspace than at the scan before. */
const scanAfter = async (
  context: CheckpointContext,
  open: OpenRecord,
  pairs: Map<string, Pair>,
) => {
  const { scan: before } = open
  const { git } = context.store
  if (!before || !git) return { made: [], gone: [] }
  const taken = await takeScan(context)
  if (!taken) return { made: [], gone: [] }
  const { scan, tree, entries } = taken
  const perms = permsOf(scan)
  for (const { path, from, to } of await git.diffTrees(before.tree, tree))
    pairs.set(path, {
      before: toVersion(from.mode, from.id, before.perms[path]),
      after: toVersion(to.mode, to.id, perms[path]),
    })
  for (const path of new Set([...Object.keys(before.perms), ...Object.keys(perms)])) {
    const entry = entries.get(path)
    if (!entry || pairs.has(path) || before.perms[path] === perms[path]) continue
    pairs.set(path, {
      before: toVersion(entry.mode, entry.id, before.perms[path]),
      after: toVersion(entry.mode, entry.id, perms[path]),
    })
  }
  const changed = [...scan.large]
    .filter(([path, stamp]) => before.large[path] !== stamp)
    .map(([path]) => path)
  const lost = Object.keys(before.large).filter(
    path => !scan.large.has(path) && !scan.files.has(path),
  )
  if (changed.length + lost.length > 0)
    open.notes.push(`Changed and too large to be undone: ${few([...changed, ...lost])}.`)
  const known = new Set(before.folders)
  return {
    made: [...scan.folders].filter(folder => !known.has(folder)),
    gone: before.folders.filter(folder => !scan.folders.has(folder)),
  }
}

const MAX_COUNTED_BYTES = 1024 * 1024

/** Where git does not count. */
const countLines = async (store: CheckpointStore, { before, after }: Pair) => {
  const [old, current] = await Promise.all(
    [before, after].map(version => (version ? store.get(version) : Buffer.alloc(0))),
  )
  if (!old || !current || old.length + current.length > MAX_COUNTED_BYTES) return null
  if (old.includes(0) || current.includes(0)) return null
  const options = { context: 0, timeout: 300 }
  const patch = structuredPatch('', '', old.toString(), current.toString(), '', '', options)
  const lines = patch?.hunks.flatMap(hunk => hunk.lines)
  const starting = (sign: string) => lines?.filter(line => line.startsWith(sign)).length ?? 0
  return lines ? { added: starting('+'), removed: starting('-') } : null
}

/** Keeps both versions of every pair under the turn's name and counts their lines. */
export const toChanges = async (
  store: CheckpointStore,
  id: string,
  pairs: ReadonlyMap<string, Pair>,
): Promise<Change[]> => {
  const list = [...pairs].filter(([, { before, after }]) => !sameVersion(before, after))
  if (list.length === 0) return []
  const counts = store.git
    ? await store.git.storeTurn(
        id,
        list.map(([, { before, after }]) => ({
          before: before?.id ?? null,
          after: after?.id ?? null,
        })),
      )
    : undefined
  const changes: Change[] = []
  for (const [at, [path, pair]] of list.entries()) {
    const isSame = pair.before?.id === pair.after?.id
    const count = isSame ? null : counts ? counts.get(at) : await countLines(store, pair)
    changes.push({ path, ...pair, added: count?.added ?? null, removed: count?.removed ?? null })
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The end of a turn: everything that is another now than before. */
export const finishRecord = async (
  context: CheckpointContext,
  open: OpenRecord,
  { now, interrupted }: { now: number; interrupted: boolean },
): Promise<TurnRecord> => {
  const { store, bounds } = context
  const pairs = new Map<string, Pair>()
  const folders = await scanAfter(context, open, pairs)
  for (const [path, before] of open.touched) {
    const [within, name] = resolvePath(bounds, path)
    const found = readContent(within, name, MAX_TOUCHED_BYTES)
    if ('problem' in found) {
      open.notes.push(`${path} cannot be undone: ${found.problem}.`)
      pairs.delete(path)
      continue
    }
    pairs.set(path, { before, after: found.content && (await store.put(found.content)) })
  }
  const { touched: _touched, absent, scan: _scan, ...about } = open
  const made = absent.filter(folder => existsSync(join(bounds.root, folder)))
  return {
    ...about,
    ended_at: now,
    changes: await toChanges(store, open.id, pairs),
    folders_made: [...new Set([...folders.made, ...made])],
    folders_gone: folders.gone,
    notes: [...new Set(open.notes)],
    interrupted,
  }
}
