/** Converts a turn record to its wire form: one entry per file, renames detected. */
import type { Checkpoint, CheckpointFile, CheckpointStep } from '../../schema/checkpoint.ts'
import type { FileChange, StepRecord, TurnRecord } from './records.ts'

const MAX_FILES = 500

const statusOf = ({ before, after }: FileChange): CheckpointFile['status'] => {
  if (!before) return 'added'
  if (!after) return 'deleted'
  return before.kind === after.kind ? 'modified' : 'typechange'
}

/** Pairs a deleted with an added file of the same bytes as a rename. Empty files are skipped: they all have the same bytes. */
const moves = (changes: readonly FileChange[]): Map<FileChange, FileChange> => {
  const deleted = changes.filter(({ before, after }) => before && !after)
  const pairs = new Map<FileChange, FileChange>()
  for (const change of changes) {
    const { before, after } = change
    if (before || !after || after.id === EMPTY_BLOB_ID) continue
    const from = deleted.find(
      each => each.before?.id === after.id && ![...pairs.values()].includes(each),
    )
    if (from) pairs.set(change, from)
  }
  return pairs
}

/** Git's object id of an empty blob. */
const EMPTY_BLOB_ID = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
/** Renames are not detected in larger changes: the search is quadratic. */
const MAX_PAIRED = 1_000

const MAX_STEP_FILES = 100

const toStep = ({ calls, at, files }: StepRecord): CheckpointStep => ({
  calls,
  at,
  files: files?.slice(0, MAX_STEP_FILES).map(([path]) => path) ?? null,
})

export const toCheckpoint = (record: TurnRecord): Checkpoint => {
  const { id, changes, folders_made: _made, folders_gone: _gone, steps, ...rest } = record
  const moved = changes.length > MAX_PAIRED ? new Map<FileChange, FileChange>() : moves(changes)
  const sources = new Set(moved.values())
  const files = changes
    .filter(change => !sources.has(change))
    .map(change => {
      const { path, before, after } = change
      // Only its permissions changed: no line did.
      const isSame = before !== null && before.id === after?.id
      const { added, removed } = isSame ? { added: 0, removed: 0 } : change
      const from = moved.get(change)
      return from
        ? { path, old_path: from.path, status: 'renamed' as const, added: 0, removed: 0 }
        : { path, status: statusOf(change), added, removed }
    })
  const sum = (side: 'added' | 'removed') =>
    files.reduce((total, file) => total + (file[side] ?? 0), 0)
  return {
    checkpoint: id,
    ...rest,
    files: files.slice(0, MAX_FILES),
    ...(steps && { steps: steps.map(toStep) }),
    truncated: files.length > MAX_FILES,
    file_count: files.length,
    added: sum('added'),
    removed: sum('removed'),
  }
}
