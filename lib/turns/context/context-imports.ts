/** The `@path` imports of an instruction file, as CLAUDE.md documents them: relative to the file, or below `~/`. */
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { Bounds } from '../../store/dir-handle.ts'
import { realPath } from '../../store/path-within.ts'
import { type InstructionFile, readContextFile } from './read-context-file.ts'

/** Files may import files this many times in a row. */
const MAX_DEPTH = 5
/** Imports of one file; a text with more is not a list of imports. */
const MAX_IMPORTS = 50
/** Files in all, imported or not: a foreign repository decides how many there are. */
const MAX_FILES = 40

/** Longer lines are not searched for imports: no one writes them, and matching them takes long. */
const MAX_LINE_CHARS = 2_000

/** Outside the project only prose may be imported, because a foreign repository may write any path below `~/`. */
const PROSE = /\.(?:md|mdc|markdown|txt|rst|adoc)$/i

/** The lines without code, in which `@` has other meanings. */
const linesWithoutCode = (text: string): string[] => {
  let fence: string | undefined
  return text.split('\n').flatMap(line => {
    const mark = /^\s*(```|~~~)/.exec(line)?.[1]
    if (fence !== undefined || mark !== undefined) {
      if (fence === undefined) fence = mark
      else if (fence === mark) fence = undefined
      return []
    }
    return line.length > MAX_LINE_CHARS ? [] : [line.replace(/(`+)[^`]*\1/g, '')]
  })
}

/** True for what can only be a path; `@name` and `@scope/package` are also written in prose. */
const isPath = (path: string): boolean => /^(?:~|\.{1,2})?\//.test(path) || PROSE.test(path)

/** The imported paths as written, each once. A blank in a path is written `\ `. */
const importedPaths = (text: string): string[] => {
  const matches = linesWithoutCode(text).flatMap(line => [
    ...line.matchAll(/(?<=^|[\s(])@((?:\\ |[^\s\\`])+)/g),
  ])
  const paths = matches.map(([, path = '']) =>
    path.replaceAll('\\ ', ' ').replace(/[.,;:!?)\]}'"]+$/, ''),
  )
  return [...new Set(paths.filter(path => path !== ''))].slice(0, MAX_IMPORTS)
}

export type ImportScope = {
  /** The project: everything in it may be imported. */
  bounds: Bounds
  /** Real paths that were loaded already. Each file is loaded once; new ones are added. */
  loaded: Set<string>
  /** The user's home directory; empty: none, so that `~/` is outside the project. */
  home: string
}

/** `note`: why paths were not imported; empty when all were. */
export type Imports = { files: InstructionFile[]; note: string }

type Target = { bounds: Bounds; path: string } | { refused: string }

const targetOf = (mention: string, from: string, options: ImportScope): Target => {
  const { bounds } = options
  const home = options.home === '' ? null : realPath(options.home)
  const path = realPath(
    mention.startsWith('~/') && home !== null
      ? join(home, mention.slice(2))
      : resolve(dirname(from), mention),
  )
  const isBelow = (root: string) => path.startsWith(root.endsWith(sep) ? root : root + sep)
  if (bounds.isHidden(path) || basename(path).startsWith('.env'))
    return { refused: 'it may contain secrets' }
  if (isBelow(bounds.root)) return { bounds, path: relative(bounds.root, path) }
  if (home === null || !isBelow(home)) return { refused: 'it is outside the project' }
  if (!PROSE.test(path))
    return { refused: 'only Markdown and text files may be imported from outside the project' }
  return { bounds: { root: home, isHidden: bounds.isHidden }, path: relative(home, path) }
}

/** The files that `file` imports, and those they import, in the order of the text. */
export const importsOf = (file: InstructionFile, options: ImportScope, depth = 1): Imports => {
  const notes: string[] = []
  const files = importedPaths(file.text).flatMap((mention): InstructionFile[] => {
    const leave = (why: string): [] => {
      if (isPath(mention)) notes.push(`[@${mention} was not imported: ${why}.]`)
      return []
    }
    if (depth > MAX_DEPTH) return leave(`imports are followed ${MAX_DEPTH} times in a row at most`)
    if (options.loaded.size >= MAX_FILES) return leave(`${MAX_FILES} files are read at most`)
    const target = targetOf(mention, file.path, options)
    if ('refused' in target) return leave(target.refused)
    const importFile = readContextFile(target.bounds, target.path)
    if (!importFile) return leave('there is no such text file')
    if (options.loaded.has(importFile.path)) return []
    options.loaded.add(importFile.path)
    const inner = importsOf(importFile, options, depth + 1)
    const text = inner.note === '' ? importFile.text : `${importFile.text}\n\n${inner.note}`
    return [{ ...importFile, text }, ...inner.files]
  })
  return { files, note: notes.join('\n') }
}
