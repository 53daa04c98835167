/**
 * Path patterns of permission rules, in the style of .gitignore: `*` and `?` within a name, `**` across directories,
 * `{a,b}`, and a pattern that matches a directory covers everything in it.
 */
import { join, normalize } from 'node:path/posix'
import { entriesIn } from '../../base/directories.ts'
import { isBelow, realPath } from '../../store/path-within.ts'
import { matchesGlob } from '../glob.ts'
import { findHardLink, statIfExists } from '../hard-links.ts'

export type PatternBase = {
  /** Real path of the workspace; relative patterns begin there. */
  workspace: string
  /** What `~/` stands for: the home directory of the tools first, then, for guards, the user's own where it differs. */
  homes: readonly string[]
}

export type PathPattern = {
  /** Whether the path, or a directory above it, matches. Takes an absolute path. */
  covers: (path: string) => boolean
  /** Whether something below this directory matches. Null: too much to look through. */
  isBelow: (dir: string, skipsHidden?: boolean) => boolean | null
}

/** Directory entries examined to find out what a directory contains. */
const MAX_ENTRIES = 5_000
const MAX_ALTERNATIVES = 64

type Segment = { text: string; isGlob: boolean }
type Compiled = {
  /** Segments between `**`. The first block begins at the root. */
  blocks: Segment[][]
  /** The directory before the first wildcard. */
  base: string
  hasWildcard: boolean
}

const isGlob = (text: string): boolean => /[*?[]/.test(text)

/** `{a,b}` as separate patterns. */
const withoutBraces = (text: string): string[] => {
  let all = [text]
  for (let depth = 0; depth < 8; depth++) {
    const next = all.flatMap(each => {
      const match = /\{([^{}]*)\}/.exec(each)
      if (!match) return [each]
      const [whole, inner = ''] = match
      const [before, after] = [each.slice(0, match.index), each.slice(match.index + whole.length)]
      return inner.split(',').map(option => before + option + after)
    })
    if (next.length > MAX_ALTERNATIVES || next.length === all.length)
      return next.slice(0, MAX_ALTERNATIVES)
    all = next
  }
  return all
}

/**
 * Absolute forms of a pattern. A guard covers too much rather than too little: `/x` also counts from the workspace, as
 * some agents read it, and a name without a slash, or after `**` and a slash, counts everywhere.
 */
const absoluteForms = (
  text: string,
  { workspace, homes }: PatternBase,
  isGuard: boolean,
): string[] => {
  const tilde = /^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/.exec(text)?.[0]
  if (tilde !== undefined)
    return (isGuard ? homes : homes.slice(0, 1)).map(home => join(home, text.slice(tilde.length)))
  if (text.startsWith('//')) return [text.replace(/^\/+/, '/')]
  if (text.startsWith('/')) return isGuard ? [text, join(workspace, text)] : [text]
  const plain = text.replace(/^(?:\.\/)+/, '')
  const isAnywhere =
    plain.startsWith('**/') || (!plain.replace(/\/+$/, '').includes('/') && plain === text)
  if (!isAnywhere) return [join(workspace, plain)]
  const rest = plain.replace(/^(?:\*\*\/)+/, '')
  // In the workspace itself, the name may be a link.
  return isGuard ? [`/**/${rest}`, join(workspace, rest)] : [`${workspace}/**/${rest}`]
}

const fold = (text: string, isGuard: boolean): string =>
  isGuard ? text.normalize('NFC').toLowerCase() : text.normalize('NFC')

const compileOne = (absolute: string, isGuard: boolean): Compiled[] => {
  const parts = normalize(absolute)
    .split('/')
    .filter(part => part !== '')
  const wild = parts.findIndex(isGlob)
  const hasWildcard = wild >= 0
  const literal = `/${(hasWildcard ? parts.slice(0, wild) : parts).join('/')}`
  const rest = hasWildcard ? parts.slice(wild) : []
  // The directory may be a link, and paths of calls are real paths.
  return [...new Set([literal, realPath(literal)])].map(base => {
    const all = [...base.split('/').filter(part => part !== ''), ...rest]
    const blocks: Segment[][] = [[]]
    for (const part of all) {
      if (/^\*{2,}$/.test(part)) blocks.push([])
      else blocks.at(-1)?.push({ text: fold(part, isGuard), isGlob: isGlob(part) })
    }
    return { blocks, base, hasWildcard }
  })
}

const fits = ({ text, isGlob: glob }: Segment, name: string, isGuard: boolean): boolean =>
  glob ? matchesGlob(text, name, { isExact: !isGuard }) : text === name

/** Each block at its leftmost position: what follows the last one is below a match. */
const matches = ({ blocks }: Compiled, names: readonly string[], isGuard: boolean): boolean => {
  let from = 0
  return blocks.every((block, at) => {
    const last = at === 0 ? 0 : names.length - block.length
    for (let start = from; start <= last && start + block.length <= names.length; start++)
      if (block.every((segment, index) => fits(segment, names[start + index] ?? '', isGuard))) {
        from = start + block.length
        return true
      }
    return false
  })
}

/** Whether a file below `dir` is covered; null when there are too many files. */
const scan = (
  dir: string,
  covers: (path: string) => boolean,
  skipsHidden = false,
): boolean | null => {
  let entriesLeft = MAX_ENTRIES
  const waiting = [dir]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
    for (const entry of entriesIn(next)) {
      if (entriesLeft-- <= 0) return null
      if (skipsHidden && entry.name.startsWith('.')) continue
      const path = next === '/' ? `/${entry.name}` : `${next}/${entry.name}`
      if (covers(path)) return true
      if (entry.isDirectory()) waiting.push(path)
    }
  return false
}

/**
 * `isGuard`: for `deny` and `ask`. Their patterns ignore case, follow hard links, and count in more places, so that no other
 * name of a file avoids them; those of `allow` match exactly.
 */
export const compilePath = (pattern: string, place: PatternBase, isGuard: boolean): PathPattern => {
  const compiled = withoutBraces(pattern)
    .flatMap(each => absoluteForms(each, place, isGuard))
    .flatMap(each => compileOne(each, isGuard))
  const matchesName = (path: string): boolean => {
    const names = fold(path, isGuard)
      .split('/')
      .filter(name => name !== '')
    return compiled.some(each => matches(each, names, isGuard))
  }
  /** Another name of the file may match. */
  const isLinked = (path: string): boolean => {
    const file = statIfExists(path)
    if (!isGuard || !file?.isFile() || file.nlink < 2) return false
    return compiled.some(({ base, hasWildcard }) => {
      if (!hasWildcard) return findHardLink([base], path) !== undefined
      if (base === '/') return false
      return (
        scan(base, other => {
          const stat = matchesName(other) ? statIfExists(other) : undefined
          return stat?.ino === file.ino && stat.dev === file.dev
        }) === true
      )
    })
  }
  return {
    covers: path => matchesName(path) || isLinked(path),
    isBelow(dir, skipsHidden) {
      const matches = compiled.map(({ base, hasWildcard }) => {
        if (!hasWildcard)
          return base !== dir && isBelow(dir, base) && statIfExists(base) !== undefined
        if (isBelow(dir, base)) return scan(base, matchesName, skipsHidden)
        return isBelow(base, dir) ? scan(dir, matchesName, skipsHidden) : false
      })
      return matches.includes(true) ? true : matches.includes(null) ? null : false
    },
  }
}
