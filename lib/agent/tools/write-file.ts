/** Tool: writes a whole file, creating directories as needed. */
import { z } from 'zod'
import type { Tool } from '../types.ts'
import { deniedResult, guardWrite, mayWrite, toName, toPlace } from './allowed-paths.ts'
import { replaceFile } from './replace-file.ts'
import { asFile, noteSeen, staleWarning, textAt } from './text-file.ts'

const input = z.object({
  path: z.string().min(1).describe('File, absolute or relative to the workspace; ~ is the home.'),
  content: z.string().describe('The whole new content.'),
})

export const writeFile: Tool<typeof input> = {
  name: 'write_file',
  summary:
    'Write a file, replacing it whole if it exists; directories are created. An existing file keeps its encoding, byte order mark and line ends; kept says so. Use patch to change a part of a file.',
  input,
  kind: 'write',
  preview: ({ path }) => path,
  async run(ctx, { path, content: given }) {
    const place = toPlace(ctx, path)
    guardWrite(ctx, place)
    const content = ctx.secrets?.reveal(given, textAt(place)) ?? given
    if (!(await mayWrite(ctx, [place], 'write'))) return deniedResult('writing this file')
    await ctx.beforeChange?.([place])
    // Resolved again: the path may have become a symlink while the approval was open.
    if (toPlace(ctx, path) !== place) throw new Error(`${path} now leads to another place.`)
    const warning = staleWarning(ctx, place)
    const { bytes, kept } = asFile(place, content)
    const { createdDirs } = replaceFile(place, bytes)
    noteSeen(ctx, place)
    return {
      preview: toName(ctx, place),
      content: JSON.stringify({
        bytes_written: bytes.length,
        dirs_created: createdDirs,
        ...(kept && { kept }),
        ...(warning && { warning }),
      }),
    }
  },
}
