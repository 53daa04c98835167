/** Replaces one text with another: the edits, or an error why the match is ambiguous. */
import type { Edit } from '../../store/text-bytes.ts'
import { findMatches, openSource, toEdits, toPlain } from './patch-match.ts'
import { describeMiss } from './patch-nearest.ts'

type Replacement = { old: string; fresh: string; all: boolean; name: string }

export const planReplacement = (text: string, { old, fresh, all, name }: Replacement): Edit[] => {
  const source = openSource(text)
  const [quoted, next] = [toPlain(old), toPlain(fresh)]
  if (!quoted.isWellFormed())
    throw new Error('old_string begins or ends with half a character (a surrogate).')
  if (quoted === next) throw new Error('old_string and new_string are the same.')
  const matches = findMatches(source, quoted, next)
  if (matches.length === 0)
    throw new Error(
      `old_string was not found in ${name}. ${describeMiss(source.lines, quoted)}\nQuote the text exactly as it stands there, or read the file again.`,
    )
  if (matches.length > 1 && !all)
    throw new Error(
      `old_string stands at ${matches.length} places in ${name}. Add lines around it to make it unique, or set replace_all.`,
    )
  return matches.flatMap(match => toEdits(source, match))
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
