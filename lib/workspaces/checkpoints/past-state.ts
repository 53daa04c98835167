/** Derives from the records of a workspace which versions its files had at a point of a turn. Reads no file. */
import { missing } from '../../errors.ts'
import type { StepRecord, TurnRecord, Version } from './records.ts'

/** Before the turn, after it, or after a tool call that a step of its record names. */
export type Point = 'before' | 'after' | { call: string }

export type PastState = {
  /** Seconds since 1970. A file without a version here is as it was if it has not changed since. */
  at: number
  /** Recorded versions; null: the file did not exist. */
  files: ReadonlyMap<string, Version | null>
  /** Files of the turn whose version at the point was not recorded. */
  unknown: ReadonlySet<string>
}

type Versions = Map<string, Version | null>

/** Throws when no step of the record names the call. */
const indexOf = (steps: readonly StepRecord[], call: string): number => {
  const index = steps.findIndex(({ calls }) => calls.includes(call))
  if (index < 0) throw missing('Step not found', { code: 'checkpoint_not_found' })
  return index
}

const versionsAt = (
  turn: TurnRecord,
  point: Point,
): Pick<PastState, 'at' | 'unknown'> & { files: Versions } => {
  const { changes, steps = [] } = turn
  const files: Versions = new Map()
  const unknown = new Set<string>()
  if (typeof point === 'string') {
    for (const change of changes) files.set(change.path, change[point])
    return { at: point === 'before' ? turn.at : turn.ended_at, files, unknown }
  }
  const index = indexOf(steps, point.call)
  const past = steps.slice(0, index + 1)
  // A file that a step changed and a later one restored is in no change of the turn: it ended as it began.
  for (const { files: left } of steps)
    for (const [path, version] of left ?? []) files.set(path, version)
  for (const { path, before } of changes) files.set(path, before)
  for (const { files: left } of past)
    for (const [path, version] of left ?? []) files.set(path, version)
  const lost = past.findLastIndex(each => each.files === null)
  const known = new Set(
    past.slice(lost + 1).flatMap(({ files: left }) => (left ?? []).map(([path]) => path)),
  )
  if (lost >= 0) for (const path of files.keys()) if (!known.has(path)) unknown.add(path)
  return { at: past.at(-1)?.at ?? turn.at, files, unknown }
}

/** `records`: all of the workspace, in any order. */
export const pastStateOf = (
  records: readonly TurnRecord[],
  turn: TurnRecord,
  point: Point,
): PastState => {
  const { at, files, unknown } = versionsAt(turn, point)
  const later = records.filter(each => each.id !== turn.id && each.at >= turn.at)
  for (const { changes } of later.toSorted((a, b) => a.at - b.at))
    for (const { path, before } of changes) if (!files.has(path)) files.set(path, before)
  return { at, files, unknown }
}
