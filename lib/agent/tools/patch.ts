/** Tool: changes parts of files, by replacing a text or by a patch over several files. All or nothing. */
import { rmSync } from 'node:fs'
import { createTwoFilesPatch } from 'diff'
import { z } from 'zod'
import type { Tool, ToolContext } from '../types.ts'
import { applyMatches, findMatches } from './patch-match.ts'
import { applyHunks, parsePatch } from './patch-text.ts'
import { deniedResult, guardWrite, mayWrite, toName, toPlace } from './places.ts'
import { isThere, noteSeen, readTextFile, staleWarning, writeTextFile } from './text-file.ts'

const MAX_DIFF_CHARS = 50_000
const DIFF_MS = 500

const input = z.object({
  mode: z.enum(['replace', 'patch']).default('replace'),
  path: z.string().optional().describe('replace: the file.'),
  old_string: z
    .string()
    .optional()
    .describe('replace: the text to find, with enough lines around it to be unique.'),
  new_string: z.string().optional().describe('replace: what stands there afterwards.'),
  replace_all: z.boolean().default(false).describe('replace: every place instead of exactly one.'),
  patch: z
    .string()
    .optional()
    .describe(
      'patch: "*** Begin Patch", then for each file "*** Update File: p" with hunks ("@@ anchor", lines beginning with space, - or +), "*** Add File: p" with + lines, or "*** Delete File: p"; then "*** End Patch".',
    ),
})
type Input = z.output<typeof input>

/** One file before and after; null where it does not exist. */
type Change = { path: string; place: string; before: string | null; after: string | null }

export const patch: Tool<typeof input> = {
  name: 'patch',
  summary:
    'Change parts of files. mode replace: old_string becomes new_string in path; small differences in white space are forgiven, an ambiguous place is an error. mode patch: a V4A patch over one or more files. Answers a unified diff.',
  input,
  kind: 'write',
  preview: given =>
    given.path ?? /^\*\*\* \w+ File: (.+)$/m.exec(given.patch ?? '')?.[1] ?? 'files',
  async run(ctx, given) {
    const changes = given.mode === 'patch' ? planPatch(ctx, given) : planReplace(ctx, given)
    for (const { place } of changes) guardWrite(ctx, place)
    const places = changes.map(change => change.place)
    if (!(await mayWrite(ctx, places, 'change'))) return deniedResult('changing these files')
    await ctx.beforeChange?.(places)
    for (const change of changes)
      if (toPlace(ctx, change.path) !== change.place)
        throw new Error(`${change.path} now leads to another place.`)
    const warnings = places.flatMap(place => staleWarning(ctx, place) ?? [])
    for (const change of changes) apply(ctx, change)
    const names = (of: (change: Change) => boolean) =>
      changes.filter(of).map(change => toName(ctx, change.place))
    return {
      preview: places.map(place => toName(ctx, place)).join(', '),
      content: JSON.stringify({
        success: true,
        diff: clip(changes.map(change => toDiff(ctx, change)).join('')),
        files_modified: names(({ before, after }) => before !== null && after !== null),
        files_created: names(({ before }) => before === null),
        files_deleted: names(({ after }) => after === null),
        ...(warnings.length > 0 && { warning: warnings[0] }),
      }),
    }
  },
}

const apply = (ctx: ToolContext, { place, after }: Change): void => {
  if (after === null) rmSync(place)
  else writeTextFile(place, after)
  noteSeen(ctx, place)
}

/** The text in \n lines, and the way back to what the file used. */
const open = (ctx: ToolContext, path: string) => {
  const place = toPlace(ctx, path)
  guardWrite(ctx, place)
  const before = readTextFile(place).text
  const crlf = before.includes('\r\n') && !/[^\r]\n/.test(before)
  return {
    place,
    before,
    text: crlf ? before.replaceAll('\r\n', '\n') : before,
    back: (text: string) => (crlf ? text.replaceAll('\n', '\r\n') : text),
  }
}

const planReplace = (ctx: ToolContext, given: Input): Change[] => {
  const { path, old_string: old, new_string: fresh, replace_all: all } = given
  if (!path || old === undefined || fresh === undefined)
    throw new Error('mode replace needs path, old_string and new_string.')
  if (old.trim() === '') throw new Error('old_string is blank. Use write_file to create a file.')
  if (old === fresh) throw new Error('old_string and new_string are the same.')
  const { place, before, text, back } = open(ctx, path)
  const { matches } = findMatches(
    text,
    old.replaceAll('\r\n', '\n'),
    fresh.replaceAll('\r\n', '\n'),
  )
  if (matches.length === 0)
    throw new Error(
      `old_string was not found in ${toName(ctx, place)}. Read the file again and use its exact text.`,
    )
  if (matches.length > 1 && !all)
    throw new Error(
      `old_string stands at ${matches.length} places in ${toName(ctx, place)}. Add lines around it to make it unique, or set replace_all.`,
    )
  return [{ path, place, before, after: back(applyMatches(text, matches)) }]
}

/** Later operations see what earlier ones of the same patch did. */
const planPatch = (ctx: ToolContext, given: Input): Change[] => {
  if (!given.patch) throw new Error('mode patch needs patch.')
  const changes: Change[] = []
  for (const operation of parsePatch(given.patch)) {
    const { path } = operation
    const place = toPlace(ctx, path)
    guardWrite(ctx, place)
    if (changes.some(change => change.place === place))
      throw new Error(`The patch names ${path} twice. Put its hunks together.`)
    if (operation.kind === 'add')
      changes.push({ path, place, before: existing(place), after: operation.text })
    else {
      const { before, text, back } = open(ctx, path)
      if (operation.kind === 'delete') changes.push({ path, place, before, after: null })
      else {
        const after = back(applyHunks(text, operation.hunks, path))
        changes.push(...moved({ path, place, before, after }, operation.moveTo, ctx))
      }
    }
  }
  return changes
}

const moved = (change: Change, to: string | null, ctx: ToolContext): Change[] => {
  if (to === null) return [change]
  const place = toPlace(ctx, to)
  if (existing(place) !== null) throw new Error(`${to} exists already.`)
  return [
    { ...change, after: null },
    { path: to, place, before: null, after: change.after },
  ]
}

const existing = (place: string): string | null =>
  isThere(place) ? readTextFile(place).text : null

const toDiff = (ctx: ToolContext, { place, before, after }: Change): string => {
  const name = toName(ctx, place)
  const diff = createTwoFilesPatch(
    before === null ? '/dev/null' : `a/${name}`,
    after === null ? '/dev/null' : `b/${name}`,
    before ?? '',
    after ?? '',
    undefined,
    undefined,
    { context: 3, timeout: DIFF_MS },
  )
  return diff === undefined
    ? `--- a/${name}\n+++ b/${name}\n(too many changes to show)\n`
    : diff.replace(/^=+\n/, '')
}

const clip = (diff: string): string =>
  diff.length > MAX_DIFF_CHARS ? `${diff.slice(0, MAX_DIFF_CHARS)}\n[… cut …]\n` : diff
