/** Replaces one text with another: the edits, or an error why the match is ambiguous. */
import type { Edit } from '../../store/text-bytes.ts'
import {
  findMatches,
  type Match,
  openSource,
  type Source,
  toEdits,
  toPlain,
} from './patch-match.ts'
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
      `old_string was not found in ${name}. ${describeMiss(source, quoted)}\n${alreadyThere(source, next)}Quote the text exactly as it is in the file, or read the file again.`,
    )
  if (matches.length > 1 && !all)
    throw new Error(
      `old_string is at ${matches.length} places in ${name} (${lineNumbers(source, matches)}). Add lines around it to make it unique, or set replace_all.`,
    )
  return matches.flatMap(match => toEdits(source, match))
}

/** Shorter texts are in many files anyway. */
const MIN_CHARS = 16

const alreadyThere = (source: Source, next: string): string => {
  const [match] = next.trim().length < MIN_CHARS ? [] : findMatches(source, next, next)
  return match
    ? `new_string is already in the file at line ${lineOf(source, match)}: the change may have been made before.\n`
    : ''
}

const MAX_PLACES = 10

const lineNumbers = (source: Source, matches: readonly Match[]): string => {
  const numbers = matches.slice(0, MAX_PLACES).map(match => lineOf(source, match))
  return `lines ${numbers.join(', ')}${matches.length > MAX_PLACES ? ', …' : ''}`
}

/** From 1. */
const lineOf = ({ starts }: Source, { start }: Match): number => {
  const next = starts.findIndex(at => at > start)
  return next < 0 ? starts.length : next
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
