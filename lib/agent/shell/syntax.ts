/** Parses shell text within limits; text that is too long or too nested is never classified as harmless. */
import { stripVTControlCharacters } from 'node:util'
import { type ParsedScript, parse } from 'unbash'

/** Placeholder in a word for a value that is unknown before run time. */
export const UNKNOWN = '\0'
/** Like UNKNOWN, but certainly a name, a number, or a date, never an option or a program. */
export const DATA = '\u0001'
/** A value that may be anything. Unlike UNKNOWN, it is harmless for no variable that decides which programs run. */
export const ANY_VALUE = `${UNKNOWN}=${UNKNOWN}`

/** Limit for a command, in characters; longer ones are blocked because they can't be checked. */
export const MAX_COMMAND_CHARS = 100_000
const MAX_HEREDOCS = 200
const MAX_OPENINGS = 3_000

/** Removes what could hide text from the reader: color sequences, NUL, full-width letters. */
export const normalizeCommand = (command: string): string =>
  stripVTControlCharacters(command).replaceAll('\0', '').normalize('NFKC')

/** Both readings of a text: as is, and normalized. Both must be harmless. */
export const variants = (command: string): string[] => {
  const plain = command.replaceAll(UNKNOWN, '').replaceAll(DATA, ' ')
  return [...new Set([plain, normalizeCommand(plain)])]
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Null if the text is too long or nested too deeply. */
export const parseShell = (text: string): ParsedScript | null =>
  text.length > MAX_COMMAND_CHARS ||
  count(text, /<</g) > MAX_HEREDOCS ||
  count(text, /\$\(|`|[<>]\(|\$\{/g) > MAX_OPENINGS
    ? null
    : parse(text)

/** Array indexes that the shell evaluates: `a[$(…)]`. */
export const HIDDEN_INDEX = /\w\[[\s\S]*(?:\$\(|`)/

/** True if a word contains something unknown before run time. */
export const hasUnknown = (word: string): boolean => word.includes(UNKNOWN) || word.includes(DATA)
