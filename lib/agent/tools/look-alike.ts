/**
 * Text that looks the same although its characters differ: composed and decomposed letters (macOS names files so), other
 * spaces, and the signs of typography. Models write the plain form, whatever the file has.
 */
import { diffArrays } from 'diff'
import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { namesIn } from '../../base/directories.ts'

const PLAIN: Readonly<Record<string, string>> = Object.fromEntries([
  ...[...'‘’‚‛′'].map(char => [char, "'"]),
  ...[...'“”„‟″'].map(char => [char, '"']),
  ...[...'‐‑‒–—―−'].map(char => [char, '-']),
  ...[...'\u00a0\u2002\u2003\u2007\u2009\u200a\u202f'].map(char => [char, ' ']),
  ['…', '...'],
])

/** A Korean syllable in parts; a letter with its marks; any other character beyond ASCII. */
const STRANGE = /[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|\P{M}\p{M}+|[^\0-\x7f]/gu

const plainOf = (characters: string): string =>
  PLAIN[characters] ?? characters.normalize('NFC').replace(/./gsu, char => PLAIN[char] ?? char)

export const toPlainSigns = (text: string): string => text.replace(STRANGE, plainOf)

const TOKEN = /\.{3}|[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|\P{M}\p{M}*|\p{M}+/gsu
const tokensOf = (text: string): string[] => text.match(TOKEN) ?? []
/** The time of a comparison grows with the square of the differences. */
const MAX_DIFFERENCES = 500

/** `fresh` with the characters of `there` where it agrees with `quoted`, which looks like `there`. */
export const keepCharacters = (there: string, quoted: string, fresh: string): string => {
  if (there === quoted) return fresh
  const [own, old, next] = [there, quoted, fresh].map(tokensOf) as [string[], string[], string[]]
  const isAlike = (token: string, at: number) => toPlainSigns(token) === toPlainSigns(old[at] ?? '')
  if (own.length !== old.length || !own.every(isAlike)) return fresh
  const changes = diffArrays(old, next, { maxEditLength: MAX_DIFFERENCES })
  if (!changes) return fresh
  let at = 0
  return changes
    .map(({ added, removed, value }) => {
      if (added) return value.join('')
      const from = at
      at += value.length
      return removed ? '' : own.slice(from, at).join('')
    })
    .join('')
}

// ── Names of files ──────────────────────────────────────────────────────────────────────────────────────────────────

export const toPlainName = (name: string): string =>
  name.normalize('NFKC').replace(/[‘’]/g, "'").replace(/\s+/g, ' ')

const isThere = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // In a directory that cannot be entered: nothing else is looked for.
    return true
  }
}

/**
 * The path with the names that the directories really have, where a name looks like exactly one of them. An exact name comes
 * first. Throws where several look like it: another one beside them would help nobody.
 */
export const existingPath = (path: string): string => {
  const parent = dirname(path)
  if (parent === path || isThere(path)) return path
  const dir = existingPath(parent)
  const name = path.slice(parent.length).replace(/^[\\/]/, '')
  const exact = join(dir, name)
  if (dir !== parent && isThere(exact)) return exact
  const plainName = toPlainName(name)
  const matches = namesIn(dir).filter(other => toPlainName(other) === plainName)
  if (matches.length > 1)
    throw new Error(
      `${matches.length} names in ${dir} look like ${name}: ${matches.map(other => JSON.stringify(escaped(other))).join(', ')}. Rename them in the terminal first.`,
    )
  return join(dir, matches[0] ?? name)
}

const escaped = (name: string): string =>
  name.replace(/[^\0-\x7f]/gu, char => `\\u{${char.codePointAt(0)?.toString(16)}}`)
