/** Parses shell text within limits; text that is too long or too nested is never classified as harmless. */
import { stripVTControlCharacters } from 'node:util'
import { type ParsedScript, parse } from 'unbash'

/** Limit for a command, in characters; longer ones are refused because they can't be checked. */
export const MAX_COMMAND_CHARS = 100_000
const MAX_HEREDOCS = 200
const MAX_OPENINGS = 3_000

/** Removes what could hide text from the reader: color sequences, NUL, full-width letters. */
export const normalizeCommand = (command: string): string =>
  stripVTControlCharacters(command).replaceAll('\0', '').normalize('NFKC')

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Nothing is known of such a text, so nobody can decide about it. */
export const isTooLarge = (text: string): boolean =>
  text.length > MAX_COMMAND_CHARS ||
  count(text, /<</g) > MAX_HEREDOCS ||
  count(text, /\$\(|`|[<>]\(|\$\{/g) > MAX_OPENINGS

export const parseShell = (text: string): ParsedScript | null =>
  isTooLarge(text) ? null : parse(text)
