/** Captures the files that a turn is about to change, and computes the changes when it ends. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { structuredPatch } from 'diff'
import { toSeconds } from '../../base/clock.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { realPath } from '../../store/path-within.ts'
import {
  type CheckpointContext,
  type CheckpointStore,
  deleteOpenRecord,
  listNames,
} from './checkpoint-store.ts'
import { readContent } from './file-content.ts'
import {
  type FileChange,
  type OpenRecord,
  type Snapshot,
  sameVersion,
  type TurnRecord,
  type Version,
} from './records.ts'
import { isIgnored } from './scan-workspace.ts'

export const MAX_TOUCHED_BYTES = 50 * 1024 * 1024

/** Bounds and relative path of a recorded file. Files outside the workspace are recorded by their absolute path. */
export const resolvePath = (bounds: Bounds, path: string): [Bounds, string] =>
  path.startsWith('/') ? [{ ...bounds, root: '/' }, path.slice(1)] : [bounds, path]

/** The path to record: relative to the workspace, or absolute for a file outside it. */
export const recordedPath = (root: string, fullPath: string): string => {
  const real = realPath(fullPath)
  const path = relative(root, real)
  return path !== '' && path !== '..' && !path.startsWith('../') ? path : real
}

const parentsOf = (path: string): string[] => {
  const parent = dirname(path)
  return parent === '.' || parent === '/' ? [] : [parent, ...parentsOf(parent)]
}

/** Whether a file is in the snapshot, or was not there then. */
const isCovered = ({ skipped, withoutBuildFolders }: Snapshot, path: string): boolean =>
  !path.startsWith('/') &&
  !isIgnored(path, withoutBuildFolders) &&
  ![path, ...parentsOf(path)].some(each => skipped.has(each))

/** Stores the current versions of files that are about to be written, once per turn. Returns notes about what cannot be recorded. */
export const captureFiles = (
  { store, bounds }: CheckpointContext,
  open: OpenRecord,
  snapshot: Snapshot | null,
  paths: readonly string[],
): Sentence[] => {
  const recorded = new Set(open.touched.map(([path]) => path))
  const notes: Sentence[] = []
  for (const path of paths.map(each => recordedPath(bounds.root, each))) {
    if (recorded.has(path) || (snapshot && isCovered(snapshot, path))) continue
    recorded.add(path)
    const result = readContent(...resolvePath(bounds, path), MAX_TOUCHED_BYTES)
    if ('problem' in result) {
      notes.push(sentence('checkpoint.file', { file: path, reason: result.problem }))
      continue
    }
    open.touched.push([path, result.content && store.put(result.content)])
    // Folders are recorded inside the workspace only.
    if (!path.startsWith('/'))
      open.absent.push(
        ...parentsOf(path).filter(
          each => !existsSync(join(bounds.root, each)) && !open.absent.includes(each),
        ),
      )
  }
  return notes
}

type Pair = { before: Version | null; after: Version | null }

const MAX_COUNTED_BYTES = 1024 * 1024
/** The lines of further files are not counted. */
const MAX_COUNTED_FILES = 500
const COUNT_MS = 3_000

/** Null for binary, large or very different versions. */
const countLines = async (store: CheckpointStore, { before, after }: Pair) => {
  const [old, current] = await Promise.all(
    [before, after].map(version => (version ? store.get(version.id) : Buffer.alloc(0))),
  )
  if (!old || !current || old.length + current.length > MAX_COUNTED_BYTES) return null
  if (old.includes(0) || current.includes(0)) return null
  const options = { context: 0, timeout: 300 }
  const patch = structuredPatch('', '', old.toString(), current.toString(), '', '', options)
  const lines = patch?.hunks.flatMap(hunk => hunk.lines)
  const starting = (sign: string) => lines?.filter(line => line.startsWith(sign)).length ?? 0
  return lines ? { added: starting('+'), removed: starting('-') } : null
}

/** The pairs that differ, sorted by path, with their numbers of changed lines. */
export const toChanges = async (
  store: CheckpointStore,
  pairs: ReadonlyMap<string, Pair>,
): Promise<FileChange[]> => {
  const until = performance.now() + COUNT_MS
  const changes: FileChange[] = []
  for (const [path, pair] of [...pairs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (sameVersion(pair.before, pair.after)) continue
    const isCounted =
      pair.before?.id !== pair.after?.id &&
      changes.length < MAX_COUNTED_FILES &&
      performance.now() < until
    const { added = null, removed = null } = (isCounted && (await countLines(store, pair))) || {}
    changes.push({ path, ...pair, added, removed })
  }
  return changes
}

/** What differs between two snapshots, as far as both know. */
export const differences = (before: Snapshot, after: Snapshot): Map<string, Pair> => {
  const isKnown = (path: string) => isCovered(before, path) && isCovered(after, path)
  const pairs = [...new Set([...before.files.keys(), ...after.files.keys()])].map(
    path =>
      [
        path,
        { before: before.files.get(path) ?? null, after: after.files.get(path) ?? null },
      ] as const,
  )
  return new Map(
    pairs.filter(([path, pair]) => !sameVersion(pair.before, pair.after) && isKnown(path)),
  )
}

/** The record of a turn that ends: everything that differs from the captured state. `now`: milliseconds since 1970. */
const finishRecord = async (
  context: CheckpointContext,
  open: OpenRecord,
  { now, interrupted }: { now: number; interrupted: boolean },
): Promise<TurnRecord> => {
  const { store, bounds } = context
  const { touched, absent, snapshot, ...about } = open
  const notes = [...open.notes]
  const before = snapshot === null ? null : await store.readSnapshot(snapshot)
  const after = before && (await store.takeSnapshot(context))
  const pairs = before && after ? differences(before, after) : new Map<string, Pair>()
  const newFolders = absent.filter(folder => existsSync(join(bounds.root, folder)))
  const gone: string[] = []
  if (before && after) {
    newFolders.push(...after.folders.difference(before.folders))
    gone.push(...before.folders.difference(after.folders))
    const grown = [...after.skipped].filter(([path, stamp]) => before.skipped.get(path) !== stamp)
    const lost = [...before.skipped.keys()].filter(
      path => !after.skipped.has(path) && !after.files.has(path),
    )
    const names = [...grown.map(([path]) => path), ...lost]
    if (names.length > 0) notes.push(`Changed, but too large to undo: ${listNames(names)}.`)
  }
  for (const [path, version] of touched) {
    const result = readContent(...resolvePath(bounds, path), MAX_TOUCHED_BYTES)
    if ('problem' in result) {
      notes.push(`${sentence('checkpoint.file', { file: path, reason: result.problem })}`)
      pairs.delete(path)
    } else
      pairs.set(path, {
        before: version,
        after: result.content && store.put(result.content),
      })
  }
  return {
    ...about,
    ended_at: toSeconds(now),
    changes: await toChanges(store, pairs),
    folders_made: [...new Set(newFolders)],
    folders_gone: gone,
    notes: [...new Set(notes)],
    interrupted,
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
  const { changes, folders_gone, folders_made } = record
  if (changes.length + folders_gone.length + folders_made.length > 0) store.writeTurn(record)
  deleteOpenRecord(store.dir, open.id)
  store.saveKnown()
  const turns = store.turns()
  await store.deleteTurns(turns.slice(0, Math.max(0, turns.length - maxTurns)).map(({ id }) => id))
}
