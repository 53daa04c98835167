/** The Markdown files of a directory of the home, such as `commands` and `agents`, with their front matter. */
import { type Dirent, statSync } from 'node:fs'
import { join } from 'node:path'
import { entriesIn } from '../../base/directories.ts'
import { readText } from '../../store/read-text.ts'
import { type FrontMatter, parseFrontMatter } from './front-matter.ts'

export type MarkdownFile = FrontMatter & {
  /** Its path without the ending; `:` separates directories. */
  name: string
  path: string
}

export const MAX_NESTING = 5
const MAX_FILES = 500
export const MAX_FILE_BYTES = 256 * 1024
/** Typed after a slash, or as a word of a call. */
const NAME = /^[\w.-]{1,64}$/

const entriesOf = (dir: string): Dirent[] =>
  entriesIn(dir).toSorted((a, b) => (a.name < b.name ? -1 : 1))

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** Sorted by path. Files whose names cannot be typed, and those that cannot be read, are left out. */
export const markdownFiles = (dir: string): MarkdownFile[] => {
  const files: MarkdownFile[] = []
  const walk = (at: string, prefix: string, depth: number): void => {
    for (const entry of entriesOf(at)) {
      if (files.length >= MAX_FILES) return
      const path = join(at, entry.name)
      const base = entry.name.replace(/\.md$/i, '')
      if (!NAME.test(base) || base.startsWith('.')) continue
      if (entry.isDirectory() && depth < MAX_NESTING) walk(path, `${prefix}${base}:`, depth + 1)
      if (base === entry.name || !isFile(path)) continue
      const { text } = readText(path, { maxBytes: MAX_FILE_BYTES })
      if (text !== null) files.push({ ...parseFrontMatter(text), name: `${prefix}${base}`, path })
    }
  }
  walk(dir, '', 1)
  return files
}
