/** Replaces one text with another: the edits, or an error why the match is ambiguous. */
import type { Edit } from '../../store/text-bytes.ts'
import { findMatches, openSource, toPlain } from './patch-match.ts'
import { describeMiss } from './patch-nearest.ts'

type Replacement = { old: string; fresh: string; all: boolean; name: string }

const MAX_PLACES = 10
/** Shorter texts are in many files anyway. */
const MIN_CHARS = 16

export const planReplacement = (text: string, { old, fresh, all, name }: Replacement): Edit[] => {
  const source = openSource(text)
  const [quoted, next] = [toPlain(old), toPlain(fresh)]
  if (!quoted.isWellFormed())
    throw new Error('old_string begins or ends with half a character (a surrogate).')
  if (quoted === next) throw new Error('old_string and new_string are the same.')
  const matches = findMatches(source, quoted, next)
  if (matches.length === 0) {
    const [before] = next.trim().length < MIN_CHARS ? [] : findMatches(source, next, next)
    const hint = before
      ? `new_string is already in the file at line ${before.line + 1}: the change may have been made before.\n`
      : ''
    throw new Error(
      `old_string was not found in ${name}. ${describeMiss(source, quoted)}\n${hint}Quote the text exactly as it is in the file, or read the file again.`,
    )
  }
  if (matches.length > 1 && !all) {
    const lines = matches.slice(0, MAX_PLACES).map(({ line }) => line + 1)
    const more = matches.length > MAX_PLACES ? ', …' : ''
    throw new Error(
      `old_string is at ${matches.length} places in ${name} (lines ${lines.join(', ')}${more}). Add lines around it to make it unique, or set replace_all.`,
    )
  }
  return matches.flatMap(({ edits }) => edits())
}

/** Applies edits to a string. */
export const applyEdits = (text: string, edits: readonly Edit[]): string => {
  let out = ''
  let at = 0
  for (const { start, end, text: fresh } of edits) {
    out += text.slice(at, start) + fresh
    at = end
  }
  return out + text.slice(at)
}
