/** The files of a workspace at an earlier point: recorded versions, and files that have not changed since. Writes nothing. */
import { isUtf8 } from 'node:buffer'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fromSeconds } from '../../base/clock.ts'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { missing } from '../../errors.ts'
import type { PastFile, PastFileState } from '../../schema/checkpoint.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { readContent, type ReadResult } from './file-content.ts'
import { DIFF_OPTIONS } from './hunks.ts'
import type { PastState } from './past-state.ts'
import { type CheckpointContext, MAX_TOUCHED_BYTES } from './record-changes.ts'
import type { Version } from './records.ts'
import {
  DEFAULT_LIMITS,
  isIgnored,
  scanWorkspace,
  WorkspaceTooLargeError,
} from './scan-workspace.ts'
import { blobId } from './shadow-git.ts'

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
const namesNow = async ({ bounds, limits = DEFAULT_LIMITS }: CheckpointContext) => {
  try {
    const { files, large } = await scanWorkspace({ ...bounds, limits })
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

const textOf = (bytes: Buffer): string | null =>
  bytes.includes(0) || !isUtf8(bytes) ? null : bytes.toString()

/** From the earlier to the current text. */
const diffToNow = (path: string, then: string, now: string): string | undefined => {
  if (then === now) return ''
  const name = JSON.stringify(path).slice(1, -1)
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, then, now, undefined, undefined, {
    ...DIFF_OPTIONS,
    headerOptions: FILE_HEADERS_ONLY,
  })
}

const storedBytes = async (store: CheckpointStore, version: Version): Promise<Buffer> => {
  try {
    return await store.get(version)
  } catch {
    // Deleted by hand, or the disk is damaged.
    throw missing('The stored version of this file no longer exists.', {
      code: 'checkpoint_not_found',
    })
  }
}

/** The text of a file at the point, and its difference to the file now. */
export const readPast = async (
  context: CheckpointContext,
  past: PastState,
  path: string,
): Promise<PastFile> => {
  const { bounds, store } = context
  const version = past.files.get(path)
  const nothing = { path, text: null, diff: '', binary: false, truncated: false }
  // Git folders and dependencies are not part of a workspace's history.
  if (version === undefined && (!isInside(path) || isIgnored(path)))
    throw missing('File not found', { code: 'file_not_found' })
  if (bounds.isHidden(join(bounds.root, path)))
    throw missing('File not found', { code: 'file_not_found' })
  if (past.unknown.has(path)) return { ...nothing, state: 'unknown' }
  const now = readContent(
    isInside(path) ? bounds : { ...bounds, root: '/' },
    isInside(path) ? path : path.slice(1),
    MAX_TOUCHED_BYTES,
  )
  const content = 'problem' in now ? null : now.content
  if (version === undefined) {
    if (!content) throw missing('File not found', { code: 'file_not_found' })
    if (!isUntouched(join(bounds.root, path), past.at)) return { ...nothing, state: 'unknown' }
  }
  const state = version === undefined ? 'same' : stateOf(version, now)
  if (version === null) return { ...nothing, state }
  const bytes = version ? await storedBytes(store, version) : (content?.bytes ?? Buffer.alloc(0))
  const current = content?.bytes ?? Buffer.alloc(0)
  if (bytes.length + current.length > MAX_TEXT_BYTES) return { ...nothing, state, truncated: true }
  const [text, textNow] = [textOf(bytes), textOf(current)]
  if (text === null || textNow === null) return { ...nothing, state, text, binary: true }
  const diff = diffToNow(path, text, textNow)
  return { ...nothing, state, text, diff: diff ?? '', truncated: diff === undefined }
}
