/** Which changes of a turn are undone now, derived from the records of undos. */
import type { TurnChange } from '../workspace/turn-changes.ts'

export type UndoState = {
  /** The last undo of each file that is undone as a whole. */
  files: ReadonlyMap<string, TurnChange>
  /** All files, some of them or parts of them, or none. */
  undone: 'all' | 'some' | 'none'
  /** The undo that can be undone for all files at once. */
  last: TurnChange | null
}

/** Records of the session, in any order. */
export const undoStateOf = (turn: TurnChange, records: readonly TurnChange[]): UndoState => {
  const byId = new Map(records.map(record => [record.checkpoint, record]))
  /** How many undos led from the turn to this record; 0 when it belongs to another turn. */
  const depthOf = (record: TurnChange): number => {
    let depth = 0
    for (let at: TurnChange | undefined = record; at; at = byId.get(at.undo_of ?? '')) {
      if (at.checkpoint === turn.checkpoint) return depth
      depth++
    }
    return 0
  }
  const files = new Map<string, TurnChange>()
  const parts = new Set<string>()
  let last: TurnChange | null = null
  const undos = records.filter(record => record.undo_of !== null && depthOf(record) > 0)
  for (const record of undos.toSorted((a, b) => a.at - b.at)) {
    const isUndo = depthOf(record) % 2 === 1
    const paths = record.files.flatMap(({ path, old_path }) => [path, old_path ?? path])
    if (record.is_partial) {
      for (const path of paths) {
        if (isUndo) parts.add(path)
        else parts.delete(path)
      }
      continue
    }
    for (const path of paths) {
      parts.delete(path)
      if (isUndo) files.set(path, record)
      else files.delete(path)
    }
    last = isUndo ? record : null
  }
  const isAll = turn.files.length > 0 && turn.files.every(({ path }) => files.has(path))
  const undone = isAll ? 'all' : files.size + parts.size > 0 ? 'some' : 'none'
  const covers = (record: TurnChange) => record.file_count >= turn.file_count
  return { files, undone, last: isAll && last && covers(last) ? last : null }
}
