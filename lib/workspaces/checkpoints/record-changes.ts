/** Captures the files of a workspace before a turn changes them, and computes the changes when the turn ends. */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { toSeconds } from '../../base/clock.ts'
import { structuredPatch } from 'diff'
import type { Bounds } from '../../store/dir-handle.ts'
import { realPath } from '../../store/path-within.ts'
import { readContent } from './file-content.ts'
import { type CheckpointStore, deleteOpenRecord } from './checkpoint-store.ts'
import {
  type Change,
  type OpenRecord,
  sameVersion,
  type StepRecord,
  type TurnRecord,
  type Version,
} from './records.ts'
import { DEFAULT_LIMITS, type Scan, type ScanLimits, scanWorkspace } from './scan-workspace.ts'

export const MAX_TOUCHED_BYTES = 50 * 1024 * 1024
/** How many names one note lists. */
const MAX_LISTED_NAMES = 5

export type CheckpointContext = {
  store: CheckpointStore
  /** The workspace, without what is hidden from requests. */
  bounds: Bounds
  limits?: ScanLimits | undefined
}

/** Bounds and relative path of a recorded file. Files outside the workspace are recorded by their absolute path. */
export const resolvePath = (bounds: Bounds, path: string): [Bounds, string] =>
  path.startsWith('/') ? [{ ...bounds, root: '/' }, path.slice(1)] : [bounds, path]

/** The path to record: relative to the workspace, or absolute for a file outside it. */
export const recordedPath = (root: string, real: string): string => {
  const path = relative(root, real)
  return path !== '' && path !== '..' && !path.startsWith('../') ? path : real
}

const listNames = (names: readonly string[]): string =>
  names.length > MAX_LISTED_NAMES
    ? `${names.slice(0, MAX_LISTED_NAMES).join(', ')} and ${names.length - MAX_LISTED_NAMES} more`
    : names.join(', ')

/** Stores the current versions of files that are about to be written, once per turn. Resolves to notes about what cannot be recorded. */
export const captureFiles = async (
  { store, bounds }: CheckpointContext,
  open: OpenRecord,
  paths: readonly string[],
): Promise<string[]> => {
  const known = new Set(open.touched.map(([path]) => path))
  const notes: string[] = []
  const stored: string[] = []
  for (const given of paths) {
    const path = recordedPath(bounds.root, realPath(given))
    if (known.has(path)) continue
    known.add(path)
    const [within, name] = resolvePath(bounds, path)
    const found = readContent(within, name, MAX_TOUCHED_BYTES)
    if ('problem' in found) {
      notes.push(`${path} can't be undone: ${found.problem}.`)
      continue
    }
    const version = found.content && (await store.put(found.content))
    if (version) stored.push(version.id)
    open.touched.push([path, version])
    for (let folder = dirname(path); !isTop(folder); folder = dirname(folder)) {
      if (existsSync(join(bounds.root, folder)) || open.absent.includes(folder)) break
      open.absent.push(folder)
    }
  }
  await store.git?.protect(open.id, stored)
  return notes
}

/** Folders are recorded inside the workspace only. */
const isTop = (folder: string) => folder === '.' || folder.startsWith('/')

export const takeScan = async ({ store, bounds, limits = DEFAULT_LIMITS }: CheckpointContext) => {
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
    // Most likely a damaged index, or a file deleted while it was read. Retry with a new index.
    git.dropIndex()
    return take()
  }
}

/** Permissions that git does not store. */
export const permsOf = (scan: Scan): Record<string, number> =>
  Object.fromEntries([...scan.files].filter(([, perm]) => perm !== 0o644 && perm !== 0o755))

const notesOf = ({ large, unreadable, withoutBuildFolders: withoutProducts }: Scan): string[] => [
  ...(large.size > 0
    ? [`Too large to record, so changes can't be undone: ${listNames([...large.keys()])}.`]
    : []),
  ...(unreadable.length > 0 ? [`Unreadable, so not recorded: ${listNames(unreadable)}.`] : []),
  ...(withoutProducts
    ? ["This folder is large, so dist, build, target and similar folders aren't recorded."]
    : []),
]

/** Stores the state of the whole workspace, once per turn. Resolves to notes about what cannot be recorded. */
export const captureWorkspace = async (
  context: CheckpointContext,
  open: OpenRecord,
): Promise<string[]> => {
  if (open.scan) return []
  const taken = await takeScan(context)
  if (!taken)
    return [
      "git isn't installed, so changes made by commands can't be undone. Changes made by the file tools can.",
    ]
  const { scan, tree } = taken
  await context.store.git?.protect(open.id, [tree])
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

export const toVersion = (mode: string, id: string, perm: number | undefined): Version | null => {
  if (/^0+$/.test(mode)) return null
  if (mode === '120000') return { kind: 'link', perm: 0, id, store: 'git' }
  return { kind: 'file', perm: perm ?? (mode === '100755' ? 0o755 : 0o644), id, store: 'git' }
}

/** Adds what differs between the earlier scan and the workspace now to `pairs`. Returns created and deleted folders. */
const scanAfter = async (
  context: CheckpointContext,
  open: OpenRecord,
  pairs: Map<string, Pair>,
) => {
  const { scan: before } = open
  const { git } = context.store
  if (!before || !git) return { created: [], deleted: [] }
  const taken = await takeScan(context)
  if (!taken) return { created: [], deleted: [] }
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
    open.notes.push(`Changed, but too large to undo: ${listNames([...changed, ...lost])}.`)
  const known = new Set(before.folders)
  return {
    created: [...scan.folders].filter(folder => !known.has(folder)),
    deleted: before.folders.filter(folder => !scan.folders.has(folder)),
  }
}

const MAX_COUNTED_BYTES = 1024 * 1024

/** Counts lines without git. Null for binary, large or very different versions. */
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

/** Stores both versions of every pair under the turn's name and counts changed lines. */
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

/** The record of a turn that ends: everything that differs from the captured state. `now`: milliseconds since 1970. */
const finishRecord = async (
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
      open.notes.push(`${path} can't be undone: ${found.problem}.`)
      pairs.delete(path)
      continue
    }
    pairs.set(path, { before, after: found.content && (await store.put(found.content)) })
  }
  const { touched: _touched, absent, scan: _scan, ...about } = open
  const created = absent.filter(folder => existsSync(join(bounds.root, folder)))
  return {
    ...about,
    ended_at: toSeconds(now),
    changes: await toChanges(store, open.id, pairs),
    folders_made: [...new Set([...folders.created, ...created])],
    folders_gone: folders.deleted,
    notes: [...new Set(open.notes)],
    interrupted,
  }
}

/** Protects the versions of the steps. False when one no longer exists; the steps are of no use then. */
const keepVersions = async (
  { git }: CheckpointStore,
  name: string,
  steps: readonly StepRecord[],
): Promise<boolean> => {
  const ids = steps.flatMap(({ files }) =>
    (files ?? []).flatMap(([, version]) => version?.id ?? []),
  )
  if (!git || ids.length === 0) return true
  try {
    await git.storeSteps(name, [...new Set(ids)])
    return true
  } catch {
    // A record from before versions of running turns were protected, or a damaged store.
    return false
  }
}

/** Completes and saves the record of a turn, if it changed anything, and deletes the oldest beyond `maxTurns`. */
export const saveTurn = async (
  context: CheckpointContext,
  open: OpenRecord,
  { now, interrupted, maxTurns }: { now: number; interrupted: boolean; maxTurns: number },
): Promise<void> => {
  const { store } = context
  const record = await finishRecord(context, open, { now, interrupted })
  if (record.steps && !(await keepVersions(store, record.id, record.steps))) delete record.steps
  const { changes, folders_gone, folders_made } = record
  if (changes.length + folders_gone.length + folders_made.length > 0) store.writeTurn(record)
  deleteOpenRecord(store.dir, open.id)
  await store.git?.release(open.id)
  const turns = store.turns()
  await store.deleteTurns(turns.slice(0, Math.max(0, turns.length - maxTurns)).map(({ id }) => id))
}
