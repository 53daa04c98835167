/** Shell text as a syntax tree, with bounds: what is too long or too tangled to be read is not judged as harmless. */
import { stripVTControlCharacters } from 'node:util'
import { type ParsedScript, parse } from 'unbash'

/** Stands in a word for what is only known when the command runs. */
export const UNKNOWN = '\0'
/** The same, but surely a name, a number or a date: no option and no program. */
export const DATA = '\u0001'

/** Longer than any sane command: what cannot be read is not run. */
export const MAX_COMMAND_CHARS = 100_000
const MAX_HEREDOCS = 200
const MAX_OPENINGS = 3_000

/** What the shell will see, whatever was hidden in it: no colors, no NUL, no full-width letters. */
export const normalizeCommand = (command: string): string =>
  stripVTControlCharacters(command).replaceAll('\0', '').normalize('NFKC')

/** Both readings of a text: as it stands, and without what hides letters. Each of them has to be harmless. */
export const readings = (command: string): string[] => {
  const plain = command.replaceAll(UNKNOWN, '').replaceAll(DATA, ' ')
  return [...new Set([plain, normalizeCommand(plain)])]
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Null when the text is too long or nested too deeply to be read in bounded time. */
export const parseShell = (text: string): ParsedScript | null =>
  text.length > MAX_COMMAND_CHARS ||
  count(text, /<</g) > MAX_HEREDOCS ||
  count(text, /\$\(|`|[<>]\(|\$\{/g) > MAX_OPENINGS
    ? null
    : parse(text)

/** Text that arithmetic and names of variables run: `a[$(…)]`, with the substitution still in it. */
export const HIDDEN_INDEX = /\w\[[\s\S]*(?:\$\(|`)/

/** True when a word holds something that is only known when it runs. */
export const isOpen = (word: string): boolean => word.includes(UNKNOWN) || word.includes(DATA)
