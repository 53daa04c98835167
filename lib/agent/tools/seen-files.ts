/**
 * Which content of each file the model knows in this chat, so that it never overwrites what it does not know: work of a
 * person, or of another program. After a restart nothing is known, and a refusal costs one step.
 */
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import type { Memos, ToolContext, ToolResult } from '../types.ts'
import { displayPath } from './allowed-paths.ts'
import { withUnsaved } from './editor-text.ts'
import { MAX_TEXT_BYTES, toTextFile } from './text-file.ts'

/** Lines from the first up to before the second. */
export type Lines = readonly [from: number, to: number]
/** `unread`: lines of this content that the model was never shown. */
type FileKnowledge = { version: string; unread: readonly Lines[] }

const ALL: Lines = [1, Infinity]

/** Files remembered for one chat; the oldest are forgotten. */
const MAX_FILES = 1_000

/** What stands at a path. `bytes` is absent where there are too many to compare. */
export type FileAtPath = { bytes?: Buffer; version: string; isEmpty: boolean }

type Facts = { size: number; mtimeMs: number; ctimeMs: number; ino: number }

const versionOf = ({ size, mtimeMs, ctimeMs, ino }: Facts, bytes?: Buffer): string =>
  bytes ? createHash('sha256').update(bytes).digest('base64') : [size, mtimeMs, ctimeMs, ino].join()

/** Null: no regular file stands there. */
export const standingAt = (fullPath: string): FileAtPath | null => {
  if (!lstatSync(fullPath, { throwIfNoEntry: false })?.isFile()) return null
  let fd: number
  try {
    fd = openSync(fullPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const stat = fstatSync(fd)
    const bytes = stat.size > MAX_TEXT_BYTES ? undefined : readFileSync(fd)
    return { ...(bytes && { bytes }), version: versionOf(stat, bytes), isEmpty: stat.size === 0 }
  } finally {
    closeSync(fd)
  }
}

/** The same with the unsaved changes of the editor, which the model has read instead. */
const standingFor = async (ctx: ToolContext, fullPath: string) => {
  const diskFile = standingAt(fullPath)
  const text = diskFile?.bytes && ctx.turn.editor ? toTextFile(diskFile.bytes) : null
  if (!diskFile || !text) return { diskFile, version: diskFile?.version ?? null }
  const current = await withUnsaved(ctx, fullPath, text)
  const version = current === text ? diskFile.version : versionOf(NO_FACTS, current.file.bytes)
  return { diskFile, version }
}

const NO_FACTS: Facts = { size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0 }

const knownIn = ({ chatMemo, memo }: Memos): Map<string, FileKnowledge> => {
  const store = chatMemo ?? memo
  const files = store.get('files')
  if (files instanceof Map) return files
  const created = new Map<string, FileKnowledge>()
  store.set('files', created)
  return created
}

/** The model knows this content of the file: all that stands there when none is given. */
export const noteKnown = (ctx: ToolContext, fullPath: string, bytes?: Buffer): void => {
  const version = bytes ? versionOf(NO_FACTS, bytes) : standingAt(fullPath)?.version
  note(ctx, fullPath, version, [])
}

/** This content comes from one of which the model knows a part: its lines are others now. */
export const notePartlyKnown = (ctx: ToolContext, fullPath: string, bytes: Buffer): void =>
  note(ctx, fullPath, versionOf(NO_FACTS, bytes), [ALL])

/** The model was shown these lines of the file's `total`; null: nobody has counted them. */
export const noteShown = (
  ctx: ToolContext,
  fullPath: string,
  bytes: Buffer | undefined,
  ranges: readonly Lines[],
  total: number | null,
): void => {
  const version = bytes ? versionOf(NO_FACTS, bytes) : standingAt(fullPath)?.version
  const before = knownIn(ctx).get(fullPath)
  const unread = ranges.reduce(
    without,
    before?.version === version ? (before?.unread ?? [ALL]) : [ALL],
  )
  note(ctx, fullPath, version, total === null ? unread : without(unread, [total + 1, Infinity]))
}

/** The result did not fit: nobody knows which lines of the files the model has seen. */
export const noteCut = (memos: Memos, fullPaths: readonly string[]): void => {
  const files = knownIn(memos)
  for (const fullPath of fullPaths) {
    const { version } = files.get(fullPath) ?? {}
    if (version !== undefined) files.set(fullPath, { version, unread: [ALL] })
  }
}

const without = (lines: readonly Lines[], [from, to]: Lines): readonly Lines[] =>
  lines
    .flatMap(([start, end]): Lines[] => [
      [start, Math.min(end, from)],
      [Math.max(start, to), end],
    ])
    .filter(([start, end]) => start < end)

const note = (
  ctx: ToolContext,
  fullPath: string,
  version: string | undefined,
  unread: readonly Lines[],
): void => {
  const files = knownIn(ctx)
  files.delete(fullPath)
  if (version === undefined) return
  files.set(fullPath, { version, unread })
  ctx.onFile?.(fullPath)
  for (const oldest of files.keys()) {
    if (files.size <= MAX_FILES) break
    files.delete(oldest)
  }
}

export type Knowledge = 'known' | 'partly' | 'changed' | 'unread'

const knowledgeOf = (ctx: ToolContext, fullPath: string, version: string): Knowledge => {
  const file = knownIn(ctx).get(fullPath)
  if (file === undefined) return 'unread'
  if (file.version !== version) return 'changed'
  return file.unread.length === 0 ? 'known' : 'partly'
}

/** What the model knows of a file with this content. */
export const knowledgeAt = (ctx: ToolContext, fullPath: string, bytes: Buffer): Knowledge =>
  knowledgeOf(ctx, fullPath, versionOf(NO_FACTS, bytes))

type Overwrite = { diskFile: FileAtPath | null; refused?: ToolResult }

/** What a whole file may be written over. `refused`: something stands there that the model has not read. */
export const checkOverwrite = async (ctx: ToolContext, fullPath: string): Promise<Overwrite> => {
  const { diskFile, version } = await standingFor(ctx, fullPath)
  if (!diskFile || version === null) return { diskFile }
  const knowledge = knowledgeOf(ctx, fullPath, version)
  const isFree = knowledge === 'known' || (diskFile.isEmpty && version === diskFile.version)
  return { diskFile, ...(!isFree && { refused: refusal(ctx, fullPath, knowledge) }) }
}

const MAX_NAMED = 20
const rangeText = ([from, to]: Lines): string =>
  to === Infinity ? `${from} to the end` : from + 1 === to ? `${from}` : `${from}-${to - 1}`

const REFUSALS = {
  changed: {
    code: 'file_changed',
    error:
      'was changed by someone else since you last read or wrote it. Nothing was written. Read it again, and keep these changes.',
  },
  unread: {
    code: 'file_not_read',
    error:
      'exists already and you have not read it in this chat. Nothing was written. Read it first, or change parts of it with patch.',
  },
  partly: {
    code: 'file_partly_read',
    error:
      'has lines that you have not read in full as they are now. Nothing was written. Read them first, or change parts of the file with patch. If nothing of it is needed, delete it first.',
  },
} as const

/** What the model reads instead of an overwritten file. `code` is stable. */
export const refusal = (
  ctx: ToolContext,
  fullPath: string,
  why: Exclude<Knowledge, 'known'>,
): ToolResult => {
  const name = displayPath(ctx.turn, fullPath)
  const { code, error } = REFUSALS[why]
  const lines = knownIn(ctx).get(fullPath)?.unread.slice(0, MAX_NAMED).map(rangeText).join(', ')
  return {
    content: JSON.stringify({
      success: false,
      error: `${name} ${error}`,
      code,
      ...(why === 'partly' && { unread_lines: lines }),
    }),
    isError: true,
  }
}

/** The file is no longer what the edit was computed from. */
export class ChangedMeanwhile extends Error {
  readonly fullPath: string

  constructor(fullPath: string) {
    super(`${fullPath} was changed meanwhile; nothing was written.`)
    this.fullPath = fullPath
  }
}

export const refuseChangedFile =
  <I>(run: (ctx: ToolContext, input: I) => Promise<ToolResult>) =>
  async (ctx: ToolContext, input: I): Promise<ToolResult> => {
    try {
      return await run(ctx, input)
    } catch (error) {
      if (error instanceof ChangedMeanwhile) return refusal(ctx, error.fullPath, 'changed')
      throw error
    }
  }
