/** Tool: edits files by replacing text or by a patch over several files. All or nothing. */
import { lstatSync } from 'node:fs'
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import { reachesFile } from '../permissions/reach.ts'
import {
  encode,
  readTextBytes,
  displayText,
  splice,
  type TextBytes,
} from '../../store/text-bytes.ts'
import type { Tool, ToolContext } from '../types.ts'
import { openSource } from './patch-match.ts'
import { planReplacement } from './patch-replace.ts'
import { isPatchCall, type Operation, parsePatch, planHunks } from './patch-text.ts'
import { checkEdits } from './check-edits.ts'
import { guardWrite, mayWrite, displayPath, resolvePath } from './allowed-paths.ts'
import { clipDiff, diffOfFile } from './edit-diff.ts'
import { showInEditor, withUnsaved } from './editor-text.ts'
import { refuseDocument } from './read-document.ts'
import { applyChanges, type FileChange } from './replace-file.ts'
import {
  type Knowledge,
  knowledgeAt,
  noteKnown,
  notePartlyKnown,
  refuseChangedFile,
  refusal,
} from './seen-files.ts'
import { fileExists, readTextFile } from './text-file.ts'

const input = z.object({
  mode: z.enum(['replace', 'patch']).optional(),
  path: z.string().optional().describe('replace: the file.'),
  old_string: z
    .string()
    .optional()
    .describe('replace: the text to find, with enough lines to be unique.'),
  new_string: z.string().optional().describe('replace: the replacement.'),
  replace_all: z.boolean().default(false).describe('replace: all matches instead of exactly one.'),
  patch: z
    .string()
    .optional()
    .describe(
      'patch: "*** Begin Patch", then for each file "*** Update File: p" (next line "*** Move to: q" to rename it) with hunks ("@@ anchor", lines beginning with space, - or +), "*** Add File: p" with + lines, or "*** Delete File: p"; then "*** End Patch". A unified diff works, too.',
    ),
})
type Input = z.output<typeof input>

/** Every file that a patch names. An invalid one is refused when it is applied. */
const patchedFiles = (args: Input): string[] => {
  if (!isPatchCall(args)) return args.path === undefined ? [] : [args.path]
  try {
    return parsePatch(args.patch ?? '').flatMap(operation => [
      operation.path,
      ...('moveTo' in operation && operation.moveTo !== null ? [operation.moveTo] : []),
    ])
  } catch {
    // The result says what is wrong with it.
    return []
  }
}

/** One file before and after; null if it doesn't exist. */
type PatchChange = FileChange & {
  path: string
  /** The file with unsaved changes of the editor, which `before` does not have. */
  edited?: Buffer
  movedFrom?: string
}

export const patch: Tool<typeof input> = {
  name: 'patch',
  summary:
    'Change parts of files. mode replace: replace old_string by new_string in path. Line endings, trailing white space, and one shift of the indentation may differ from the file; everything else must match exactly, and only one place may match. The encoding and line endings of the file are kept. mode patch: apply a V4A patch to one or more files. Returns a unified diff.',
  input,
  kind: 'write',
  preview: args =>
    args.path ??
    /^(?:\*\*\* \w+ File:|\+\+\+) (?:b\/)?(.+)$/m.exec(args.patch ?? '')?.[1] ??
    'files',
  // Its result shows lines of the file.
  reaches: (args, call) =>
    patchedFiles(args).flatMap(path => [
      ...reachesFile('write', path, call),
      ...reachesFile('read', path, call),
    ]),
  run: refuseChangedFile(async (ctx, args) => {
    const changes = await (isPatchCall(args) ? planPatch(ctx, args) : planReplace(ctx, args))
    for (const { fullPath } of changes) guardWrite(ctx.turn, fullPath)
    const fullPaths = changes.map(change => change.fullPath)
    const knowledge = new Map(changes.map(change => [change.fullPath, knowledgeOf(ctx, change)]))
    const lost = changes.find(isDeletion(changes))?.fullPath
    if (lost !== undefined && knowledge.get(lost) === 'changed')
      return refusal(ctx, lost, 'changed')
    const diffOf = (list: typeof changes) => list.map(change => toDiff(ctx, change)).join('')
    const diff = (paths: readonly string[]) =>
      diffOf(changes.filter(({ fullPath }) => paths.includes(fullPath)))
    if (!(await mayWrite(ctx, fullPaths, 'change', diff)))
      return deniedResult('changing these files')
    await ctx.beforeChange?.(fullPaths)
    for (const change of changes)
      if (resolvePath(ctx.turn, change.path) !== change.fullPath)
        throw new Error(`${change.path} now leads to a different file.`)
    applyChanges(changes)
    // The rest of a file that it did not read, or of one that changed, is still unknown.
    for (const { fullPath, movedFrom = fullPath, after } of changes)
      if (after === null || knowledge.get(movedFrom) === 'known')
        noteKnown(ctx, fullPath, after ?? undefined)
      else if (knowledge.get(movedFrom) === 'partly') notePartlyKnown(ctx, fullPath, after)
      else ctx.onFile?.(fullPath)
    for (const { fullPath, after } of changes)
      if (after !== null) await showInEditor(ctx, fullPath, after)
    const checks = await checkEdits(ctx, changes)
    const names = (of: (change: PatchChange) => boolean) =>
      changes.filter(of).map(change => displayPath(ctx.turn, change.fullPath))
    return {
      preview: fullPaths.map(fullPath => displayPath(ctx.turn, fullPath)).join(', '),
      content: JSON.stringify({
        success: true,
        // First, so that the page has it where a long result is cut.
        ...checks,
        diff: clipDiff(diffOf(changes)),
        files_modified: names(({ before, after }) => before !== null && after !== null),
        files_created: names(({ before }) => before === null),
        files_deleted: names(({ after }) => after === null),
        ...([...knowledge.values()].includes('changed') && { warning: CHANGED }),
      }),
    }
  }),
}

const CHANGED =
  'The file was changed by someone else since you last read it; these changes are kept.'

const knowledgeOf = (ctx: ToolContext, { fullPath, before, edited }: PatchChange): Knowledge =>
  before === null ? 'known' : knowledgeAt(ctx, fullPath, edited ?? before)

/** A moved file is not lost. */
const isDeletion =
  (changes: readonly PatchChange[]) =>
  ({ fullPath, after }: PatchChange): boolean =>
    after === null && !changes.some(({ movedFrom }) => movedFrom === fullPath)

type OpenFile = {
  fullPath: string
  file: TextBytes
  /** The file before the edit: on disk, and as the editor has it. */
  versions: { before: Buffer | null; edited: Buffer }
  reveal: (edited: string) => string
}

const open = async (ctx: ToolContext, path: string): Promise<OpenFile> => {
  const fullPath = resolvePath(ctx.turn, path)
  guardWrite(ctx.turn, fullPath)
  refuseDocument(fullPath, 'Change')
  const diskFile = readTextFile(fullPath)
  const { file, text } = await withUnsaved(ctx, fullPath, diskFile)
  const versions = { before: diskFile.file.bytes, edited: file.bytes }
  return {
    fullPath,
    file,
    versions,
    reveal: edited => ctx.turn.secrets?.reveal(edited, text) ?? edited,
  }
}

const planReplace = async (ctx: ToolContext, args: Input): Promise<PatchChange[]> => {
  const { path, old_string: old, new_string: fresh, replace_all: all } = args
  if (!path || old === undefined || fresh === undefined)
    throw new Error('Give path, old_string and new_string to replace text, or patch.')
  if (old.trim() === '') throw new Error('old_string is blank. Use write_file to create a file.')
  const { fullPath, file, versions, reveal } = await open(ctx, path)
  const edits = planReplacement(file.text, {
    old: reveal(old),
    fresh: reveal(fresh),
    all,
    name: displayPath(ctx.turn, fullPath),
  })
  return [{ path, fullPath, ...versions, after: splice(file, edits) }]
}

const planPatch = async (ctx: ToolContext, args: Input): Promise<PatchChange[]> => {
  const changes: PatchChange[] = []
  for (const operation of parsePatch(args.patch ?? '')) {
    const { path } = operation
    const isNamed = (fullPath: string) => changes.some(change => change.fullPath === fullPath)
    const twice = new Error(`The patch names ${path} twice. Put its hunks together.`)
    if (isNamed(resolvePath(ctx.turn, path))) throw twice
    const fresh = await planOperation(ctx, operation)
    if (fresh.some(({ fullPath }) => isNamed(fullPath))) throw twice
    changes.push(...fresh)
  }
  return changes
}

const planOperation = async (ctx: ToolContext, operation: Operation): Promise<PatchChange[]> => {
  const { kind, path } = operation
  if (kind === 'add') {
    const fullPath = resolvePath(ctx.turn, path)
    guardWrite(ctx.turn, fullPath)
    refuseDocument(fullPath, 'Write')
    if (fileExists(fullPath))
      throw new Error(`${path} exists already. Change it with "*** Update File".`)
    const text = ctx.turn.secrets?.reveal(operation.text, '') ?? operation.text
    return [{ path, fullPath, before: null, after: encode(text, 'UTF-8') }]
  }
  const { fullPath, file, versions, reveal } = await open(ctx, path)
  if (kind === 'delete') return [{ path, fullPath, ...versions, after: null }]
  const hunks = operation.hunks.map(hunk => ({
    ...hunk,
    old: hunk.old.map(reveal),
    fresh: hunk.fresh.map(reveal),
  }))
  const edits = planHunks(openSource(file.text), hunks, path)
  const change = { path, fullPath, ...versions, after: splice(file, edits) }
  return operation.moveTo === null ? [change] : moved(change, operation.moveTo, ctx)
}

/** The old file is removed last, so that the content exists at any moment. */
const moved = (change: PatchChange, to: string, ctx: ToolContext): PatchChange[] => {
  const fullPath = resolvePath(ctx.turn, to)
  if (fullPath === change.fullPath) return [change]
  guardWrite(ctx.turn, fullPath)
  if (fileExists(fullPath)) throw new Error(`${to} exists already.`)
  const { mode } = lstatSync(change.fullPath)
  return [
    { ...change, after: null },
    { path: to, fullPath, before: null, after: change.after, mode, movedFrom: change.fullPath },
  ]
}

const decodeText = (bytes: Buffer | null): string => {
  const file = bytes && readTextBytes(bytes)
  return file ? displayText(file) : ''
}

const toDiff = (ctx: ToolContext, { fullPath, before, edited, after }: PatchChange): string =>
  diffOfFile(
    displayPath(ctx.turn, fullPath),
    before === null ? null : decodeText(edited ?? before),
    after === null ? null : decodeText(after),
  )
