/** The files of a workspace at an earlier point: recorded versions, and files that have not changed since. Writes nothing. */
import { isUtf8 } from 'node:buffer'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { fromSeconds } from '../../base/clock.ts'
import { missing } from '../../errors.ts'
import type { PastFile, PastFileState } from '../../schema/checkpoint.ts'
import { blobId, type CheckpointContext } from './checkpoint-store.ts'
import { type ReadResult, readContent } from './file-content.ts'
import { DIFF_OPTIONS } from './hunks.ts'
import { MAX_TOUCHED_BYTES, resolvePath } from './record-changes.ts'
import type { TurnRecord, Version, Versions } from './records.ts'
import { isIgnored, scanWorkspace, WorkspaceTooLargeError } from './scan-workspace.ts'

/** Before the turn, after it, or after a tool call that a step of its record names. */
export type Point = 'before' | 'after' | { call: string }

export type PastState = {
  /** Seconds since 1970. A file without a version here is as it was if it has not changed since. */
  at: number
  /** Recorded versions; null: the file did not exist. */
  files: Versions
  /** Files of the turn whose version at the point was not recorded. */
  unknown: ReadonlySet<string>
}

const stateInTurn = ({ changes, steps = [], ...turn }: TurnRecord, point: Point): PastState => {
  const files: Versions = new Map()
  if (typeof point === 'string') {
    for (const change of changes) files.set(change.path, change[point])
    return { at: point === 'before' ? turn.at : turn.ended_at, files, unknown: new Set() }
  }
  const index = steps.findIndex(({ calls }) => calls.includes(point.call))
  const past = steps.slice(0, index + 1)
  const reached = past.at(-1)
  if (!reached) throw missing('Step not found', { code: 'checkpoint_not_found' })
  const add = (from: typeof steps) => {
    for (const [path, version] of from.flatMap(step => step.files ?? [])) files.set(path, version)
  }
  // A file that a step changed and a later one restored is in no change of the turn: it ended as it began.
  add(steps)
  for (const { path, before } of changes) files.set(path, before)
  add(past)
  const lost = past.findLastIndex(each => each.files === null)
  const knownPaths = new Set(
    past.slice(lost + 1).flatMap(step => (step.files ?? []).map(([path]) => path)),
  )
  const unknown = lost < 0 ? [] : [...files.keys()].filter(path => !knownPaths.has(path))
  return { at: reached.at, files, unknown: new Set(unknown) }
}

/** Which versions the files had at a point of a turn. `records`: all of the workspace, in any order. Reads no file. */
export const pastStateOf = (
  records: readonly TurnRecord[],
  turn: TurnRecord,
  point: Point,
): PastState => {
  const state = stateInTurn(turn, point)
  const later = records.filter(each => each.id !== turn.id && each.at >= turn.at)
  for (const { changes } of later.toSorted((a, b) => a.at - b.at))
    for (const { path, before } of changes)
      if (!state.files.has(path)) state.files.set(path, before)
  return state
}

const MAX_LISTED = 5_000
const MAX_TEXT_BYTES = 400_000
/** Files compared without a pause. */
const BATCH = 50

/** Of a file whose version is recorded, in comparison with the file now. */
const stateOf = (version: Version | null, now: ReadResult): PastFileState => {
  const exists = !('problem' in now) && now.content !== null
  if (!version) return exists || 'problem' in now ? 'later' : 'same'
  if (!exists) return 'problem' in now ? 'changed' : 'gone'
  const { content } = now
  return content && blobId(content.bytes) === version.id && content.kind === version.kind
    ? 'same'
    : 'changed'
}

/** Whether a file is as it was: any write, rename, or change of permissions sets its change time, which no program can choose. */
const isUntouched = (path: string, at: number): boolean => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && Math.floor(stat.ctimeMs) <= Math.round(fromSeconds(at))
}

/** Empty where the workspace is too large to list. */
const namesNow = async ({ bounds: { root, isHidden }, limits }: CheckpointContext) => {
  try {
    const { files, large } = await scanWorkspace({ root, isHidden, limits })
    return { paths: [...files.keys(), ...large.keys()], isWhole: true }
  } catch (error) {
    if (error instanceof WorkspaceTooLargeError) return { paths: [], isWhole: false }
    throw error
  }
}

const isInside = (path: string): boolean => !path.startsWith('/')

/** Sorted by path. `later`: files that did not exist yet. */
export const listPast = async (context: CheckpointContext, past: PastState) => {
  const { root, isHidden } = context.bounds
  const states = new Map<string, PastFileState>()
  let count = 0
  for (const [path, version] of past.files) {
    if (!isInside(path) || isHidden(join(root, path))) continue
    if (++count % BATCH === 0) await setImmediate()
    const now = readContent(context.bounds, path, MAX_TOUCHED_BYTES)
    const state = past.unknown.has(path) ? 'unknown' : stateOf(version, now)
    // Neither then nor now.
    if (state !== 'same' || version) states.set(path, state)
  }
  const { paths, isWhole } = await namesNow(context)
  for (const path of paths)
    if (!past.files.has(path))
      states.set(path, isUntouched(join(root, path), past.at) ? 'same' : 'unknown')
  const files = [...states]
    .map(([path, state]) => ({ path, state }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  return { files: files.slice(0, MAX_LISTED), truncated: !isWhole || files.length > MAX_LISTED }
}

const utf8Text = (bytes: Buffer): string | null =>
  bytes.includes(0) || !isUtf8(bytes) ? null : bytes.toString()

/** As git writes a name that would break a line. */
const quoted = (path: string): string => JSON.stringify(path).slice(1, -1)

/** The unified diff of a text; null: the file did not exist. Undefined when the versions are too different to compare in time. */
export const diffTexts = (
  path: string,
  before: string | null,
  after: string | null,
): string | undefined =>
  before === after
    ? ''
    : createTwoFilesPatch(
        before === null ? '/dev/null' : `a/${quoted(path)}`,
        after === null ? '/dev/null' : `b/${quoted(path)}`,
        before ?? '',
        after ?? '',
        undefined,
        undefined,
        { ...DIFF_OPTIONS, headerOptions: FILE_HEADERS_ONLY },
      )

/** The text of a file at the point, and its difference to the file now. */
export const readPast = async (
  { bounds, store }: CheckpointContext,
  past: PastState,
  path: string,
): Promise<PastFile> => {
  const version = past.files.get(path)
  const nothing = { path, text: null, diff: '', binary: false, truncated: false }
  const notFound = () => missing('File not found', { code: 'file_not_found' })
  // Git folders and dependencies are not part of a workspace's history.
  if (version === undefined && (!isInside(path) || isIgnored(path))) throw notFound()
  if (bounds.isHidden(join(bounds.root, path))) throw notFound()
  if (past.unknown.has(path)) return { ...nothing, state: 'unknown' }
  const now = readContent(...resolvePath(bounds, path), MAX_TOUCHED_BYTES)
  const content = 'problem' in now ? null : now.content
  if (version === undefined) {
    if (!content) throw notFound()
    if (!isUntouched(join(bounds.root, path), past.at)) return { ...nothing, state: 'unknown' }
  }
  const state = version === undefined ? 'same' : stateOf(version, now)
  if (version === null) return { ...nothing, state }
  const current = content?.bytes ?? Buffer.alloc(0)
  const bytes = version ? await store.get(version.id) : current
  if (bytes.length + current.length > MAX_TEXT_BYTES) return { ...nothing, state, truncated: true }
  const [text, textNow] = [utf8Text(bytes), utf8Text(current)]
  if (text === null || textNow === null) return { ...nothing, state, text, binary: true }
  const diff = diffTexts(path, text, textNow)
  return { ...nothing, state, text, diff: diff ?? '', truncated: diff === undefined }
}
