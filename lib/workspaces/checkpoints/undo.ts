/** Restores the files of a turn: byte for byte, only where they have not changed since, and recorded as an undoable change. */
import { isUtf8 } from 'node:buffer'
import { toSeconds } from '../../base/clock.ts'
import { conflict, invalid, messageOf, missing, UserError } from '../../errors.ts'
import { toUserError } from '../../store/file-error.ts'
import {
  type ReadResult,
  makeFolder,
  readContent,
  removeContent,
  removeFolder,
  writeContent,
} from './file-content.ts'
import { blobId, type CheckpointContext, type CheckpointStore } from './checkpoint-store.ts'
import { type FileChange, sameVersion, type TurnRecord, type Version } from './records.ts'
import { hunksTakenBack, withoutHunks } from './hunks.ts'
import { diffTexts } from './past-files.ts'
import { resolvePath, toChanges } from './record-changes.ts'

const MAX_DIFF_BYTES = 400_000

export type RestoreResult = {
  restored: string[]
  /** Already in the earlier state. */
  unchanged: string[]
  failed: { path: string; error: string }[]
  /** Id of the checkpoint that records this undo; null when nothing changed. */
  checkpoint: string | null
}

/** Compares kind, permissions and content, regardless of where the bytes are stored. */
const matchesVersion = (file: ReadResult, version: Version | null): boolean => {
  if ('problem' in file) return false
  const { content } = file
  if (!content || !version) return !content && !version
  return sameVersion({ ...content, id: blobId(content.bytes) }, version)
}

export type UndoInput = {
  /** All files of the turn when absent. */
  paths?: readonly string[] | undefined
  force: boolean
  /** Id of the new record, and its time in milliseconds since 1970. */
  id: string
  now: number
  /** Called with the paths before the first file is changed. An error leaves all files as they are. */
  beforeFiles?: ((paths: string[]) => void) | undefined
}

type Plan = { change: FileChange; file: ReadResult }

/** A folder the turn created where a file was: its content is removed with it, so the path counts as empty. */
const withoutMade = ({ folders_made }: TurnRecord, path: string, file: ReadResult): ReadResult =>
  'isFolder' in file && folders_made.includes(path) ? { content: null } : file

/** Which files to restore. Throws a conflict with the paths when files have changed since and `force` is not set. */
const plan = ({ bounds }: CheckpointContext, turn: TurnRecord, { paths, force }: UndoInput) => {
  const pathSet = new Set(paths ?? turn.changes.map(({ path }) => path))
  const chosen = turn.changes.filter(({ path }) => pathSet.has(path))
  if (chosen.length < pathSet.size || chosen.length === 0)
    throw missing('Change not found', { code: 'checkpoint_not_found' })
  const unchanged: string[] = []
  const todo: Plan[] = []
  const conflicts: string[] = []
  for (const change of chosen) {
    const file = withoutMade(turn, change.path, readContent(...resolvePath(bounds, change.path)))
    if (matchesVersion(file, change.before)) unchanged.push(change.path)
    else {
      todo.push({ change, file })
      if (!matchesVersion(file, change.after)) conflicts.push(change.path)
    }
  }
  if (conflicts.length > 0 && !force)
    throw conflict(
      conflicts.length === 1
        ? `${conflicts[0]} has changed since. Nothing was restored.`
        : `${conflicts.length} files have changed since. Nothing was restored.`,
      { code: 'restore_conflict', values: { paths: conflicts.slice(0, 5) }, conflicts },
    )
  return { todo, unchanged }
}

const apply = async (
  { store, bounds }: CheckpointContext,
  { path, before }: FileChange,
): Promise<void> => {
  const [within, name] = resolvePath(bounds, path)
  if (!before) return removeContent(within, name)
  const bytes = await store.get(before.id)
  if (blobId(bytes) !== before.id) throw new Error('its earlier content is damaged')
  writeContent(within, name, { kind: before.kind, perm: before.perm, bytes })
}

const errorText = (error: unknown): string => {
  const userError = toUserError(error)
  return userError instanceof UserError ? userError.message : messageOf(error)
}

const deepestFirst = (folders: readonly string[]) => folders.toSorted((a, b) => b.length - a.length)

/** Writes the record before the first file, so that an undo that is killed can itself be undone, or repeated. */
export const undoTurn = async (
  context: CheckpointContext,
  turn: TurnRecord,
  input: UndoInput,
): Promise<RestoreResult> => {
  const { store, bounds } = context
  const { todo, unchanged } = plan(context, turn, input)
  if (todo.length === 0) return { restored: [], unchanged, failed: [], checkpoint: null }
  const pairs = new Map<string, { before: Version | null; after: Version | null }>()
  const failed: RestoreResult['failed'] = []
  const ready: FileChange[] = []
  for (const { change, file } of todo) {
    if ('problem' in file) {
      failed.push({ path: change.path, error: file.problem })
      continue
    }
    ready.push(change)
    pairs.set(change.path, {
      before: file.content && store.put(file.content),
      after: change.before,
    })
  }
  const isWhole = input.paths === undefined
  const record: TurnRecord = {
    ...turn,
    id: input.id,
    at: toSeconds(input.now),
    ended_at: toSeconds(input.now),
    undo_of: turn.id,
    changes: await toChanges(store, pairs),
    folders_made: isWhole ? turn.folders_gone : [],
    folders_gone: isWhole ? turn.folders_made : [],
    notes: [],
    interrupted: false,
    is_partial: turn.is_partial,
  }
  input.beforeFiles?.(ready.map(({ path }) => path))
  store.writeTurn(record)
  const restored: string[] = []
  // Deletions first: a folder may be where a file was.
  const order = ready.toSorted((a, b) => Number(a.before !== null) - Number(b.before !== null))
  const removing = order.filter(({ before }) => !before)
  const writing = order.filter(({ before }) => before)
  const each = async (change: FileChange) => {
    try {
      await apply(context, change)
      restored.push(change.path)
    } catch (error) {
      failed.push({ path: change.path, error: errorText(error) })
    }
  }
  for (const change of removing) await each(change)
  if (isWhole) for (const folder of deepestFirst(turn.folders_made)) removeFolder(bounds, folder)
  for (const change of writing) await each(change)
  if (isWhole)
    for (const folder of deepestFirst(turn.folders_gone).reverse()) {
      try {
        makeFolder(bounds, folder)
      } catch (error) {
        failed.push({ path: folder, error: errorText(error) })
      }
    }
  if (failed.length > 0) {
    const paths = new Set(restored)
    store.writeTurn({ ...record, changes: record.changes.filter(({ path }) => paths.has(path)) })
  }
  return { restored, unchanged, failed, checkpoint: restored.length > 0 ? input.id : null }
}

/** Undefined for files that have no diff by lines: binary, in another encoding, or too large. */
const toText = (...contents: readonly Buffer[]): string[] | undefined => {
  const size = contents.reduce((total, { length }) => total + length, 0)
  const isText = (bytes: Buffer) => !bytes.includes(0) && isUtf8(bytes)
  return size <= MAX_DIFF_BYTES * 2 && contents.every(isText)
    ? contents.map(bytes => bytes.toString())
    : undefined
}

export type HunksInput = Omit<UndoInput, 'paths' | 'force'> & {
  path: string
  /** Headers of hunks in the diff of the file. */
  hunks: readonly string[] | 'all'
}

/**
 * Restores parts of one file. Lines that changed since elsewhere in the file are kept; where the lines themselves have
 * changed it throws a conflict. A file that was created, deleted, or is a link has one part: it is restored as a whole.
 */
export const undoHunks = async (
  context: CheckpointContext,
  turn: TurnRecord,
  { path, hunks, ...input }: HunksInput,
): Promise<RestoreResult> => {
  const { store, bounds } = context
  const change = turn.changes.find(each => each.path === path)
  if (!change) throw missing('Change not found', { code: 'checkpoint_not_found' })
  const { before, after } = change
  const whole = { ...input, paths: [path], force: false }
  if (before?.kind !== 'file' || after?.kind !== 'file') return undoTurn(context, turn, whole)
  const file = readContent(...resolvePath(bounds, path))
  if (matchesVersion(file, before))
    return { restored: [], unchanged: [path], failed: [], checkpoint: null }
  const changed = (): UserError =>
    conflict(`These lines of ${path} have changed since. Nothing was restored.`, {
      code: 'restore_conflict',
      values: { paths: [path] },
      conflicts: [path],
    })
  if ('problem' in file || file.content?.kind !== 'file') throw changed()
  const { content } = file
  const texts = toText(await store.get(before.id), await store.get(after.id), content.bytes)
  if (!texts)
    throw invalid(`${path} can only be restored as a whole.`, {
      code: 'restore_whole',
      values: { path },
    })
  const [old = '', current = '', now = ''] = texts
  const result = withoutHunks({ before: old, after: current, now }, hunks)
  if (result === 'unknown') throw missing('Change not found', { code: 'checkpoint_not_found' })
  if (result === 'conflict') throw changed()
  const bytes = Buffer.from(result.text)
  const perm = blobId(bytes) === before.id ? before.perm : content.perm
  const part: TurnRecord = {
    ...turn,
    is_partial: true,
    changes: [
      {
        ...change,
        before: store.put({ kind: 'file', perm, bytes }),
        // Compared again before it is written: the file may change until then.
        after: store.put(content),
      },
    ],
  }
  return undoTurn(context, part, whole)
}

/** Headers of the parts of a changed file that its current text no longer has. */
export const undoneHunks = async (
  { store, bounds }: CheckpointContext,
  { path, before, after }: FileChange,
): Promise<string[]> => {
  if (before?.kind !== 'file' || after?.kind !== 'file') return []
  const file = readContent(...resolvePath(bounds, path))
  if ('problem' in file || file.content?.kind !== 'file') return []
  const versions = [await store.get(before.id), await store.get(after.id), file.content.bytes]
  const [old, current, now] = toText(...versions) ?? []
  if (old === undefined || current === undefined || now === undefined) return []
  return hunksTakenBack({ before: old, after: current, now })
}

export type ChangeDiff = { path: string; diff: string; binary: boolean; truncated: boolean }

/** The unified diff of one change, from the stored versions. */
export const diffOf = async (store: CheckpointStore, change: FileChange): Promise<ChangeDiff> => {
  const { path, before, after } = change
  const [old, current] = await Promise.all(
    [before, after].map(async version => (version ? store.get(version.id) : Buffer.alloc(0))),
  )
  if (!old || !current) throw missing('Change not found', { code: 'checkpoint_not_found' })
  const head = modeLines(change)
  if (old.includes(0) || current.includes(0) || !isUtf8(old) || !isUtf8(current))
    return { path, diff: head, binary: true, truncated: false }
  if (old.length + current.length > MAX_DIFF_BYTES)
    return { path, diff: head, binary: false, truncated: true }
  const patch = diffTexts(path, before && old.toString(), after && current.toString())
  return { path, diff: head + (patch ?? ''), binary: false, truncated: patch === undefined }
}

const modeOf = ({ kind, perm }: Version): string =>
  kind === 'link' ? '120000' : `100${perm.toString(8).padStart(3, '0')}`

/** Changed permissions in git's format. */
const modeLines = ({ before, after }: FileChange): string => {
  if (!before || !after || modeOf(before) === modeOf(after)) return ''
  return `old mode ${modeOf(before)}\nnew mode ${modeOf(after)}\n`
}
