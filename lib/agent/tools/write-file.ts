/** Tool: writes a whole file, creating directories as needed. */
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import { reachesFile } from '../permissions/reach.ts'
import type { Tool } from '../types.ts'
import { checkEdits } from './check-edits.ts'
import { guardWrite, mayWrite, displayPath, resolvePath } from './allowed-paths.ts'
import { diffOfFile } from './edit-diff.ts'
import { showInEditor } from './editor-text.ts'
import { refuseDocument } from './read-document.ts'
import { applyChanges } from './replace-file.ts'
import { checkOverwrite, noteKnown, refuseChangedFile } from './seen-files.ts'
import { asFile, fileExists, textAt } from './text-file.ts'

const input = z.object({
  path: z
    .string()
    .min(1)
    .describe('Absolute, or relative to the workspace; ~ is the home directory.'),
  content: z.string().describe('The whole new content.'),
})

export const writeFile: Tool<typeof input> = {
  name: 'write_file',
  summary:
    'Write a whole file; missing directories are created. Read an existing file first. It keeps its encoding, byte order mark, and line endings, which kept lists. Use patch to change part of a file.',
  input,
  kind: 'write',
  preview: ({ path }) => path,
  reaches: ({ path }, call) => reachesFile('write', path, call),
  run: refuseChangedFile(async (ctx, { path, content: text }) => {
    const fullPath = resolvePath(ctx.turn, path)
    guardWrite(ctx.turn, fullPath)
    if (!text.startsWith('%PDF-')) refuseDocument(fullPath, 'Write')
    const content = ctx.turn.secrets?.reveal(text, textAt(fullPath)) ?? text
    const diff = () =>
      diffOfFile(
        displayPath(ctx.turn, fullPath),
        fileExists(fullPath) ? textAt(fullPath) : null,
        content,
      )
    const early = await checkOverwrite(ctx, fullPath)
    if (early.refused) return early.refused
    if (!(await mayWrite(ctx, [fullPath], 'write', diff))) return deniedResult('writing this file')
    await ctx.beforeChange?.([fullPath])
    // Resolved again: the path may have become a symlink while the approval was open.
    if (resolvePath(ctx.turn, path) !== fullPath)
      throw new Error(`${path} now leads to a different file.`)
    // The person may have saved the file while the approval was open.
    const { diskFile, refused } = await checkOverwrite(ctx, fullPath)
    if (refused) return refused
    const { bytes, kept } = asFile(fullPath, content)
    const before = diskFile ? (diskFile.bytes ?? null) : null
    const large = diskFile && !diskFile.bytes ? { version: diskFile.version } : {}
    const { createdDirs } = applyChanges([{ fullPath, before, after: bytes, ...large }])
    noteKnown(ctx, fullPath, bytes)
    await showInEditor(ctx, fullPath, bytes)
    const checks = await checkEdits(ctx, [
      { fullPath, before: diskFile ? diskFile.bytes : null, after: bytes },
    ])
    return {
      preview: displayPath(ctx.turn, fullPath),
      content: JSON.stringify({
        bytes_written: bytes.length,
        dirs_created: createdDirs,
        ...(kept && { kept }),
        ...checks,
      }),
    }
  }),
}
