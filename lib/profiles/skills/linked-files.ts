/** Lists, reads and writes the files beside SKILL.md, confined to the skill's directory. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { conflict, invalid, missing } from '../../errors.ts'
import type { LinkedFile } from '../../schema/skill.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import { readWhole } from '../../store/read-text.ts'

type LinkedKind = { name: string; endings: RegExp; deep: boolean }

const KINDS: readonly LinkedKind[] = [
  { name: 'references', endings: /\.md$/i, deep: false },
  { name: 'templates', endings: /\.(md|py|ya?ml|json|tex|sh)$/i, deep: true },
  { name: 'assets', endings: /./, deep: true },
  { name: 'scripts', endings: /\.(py|sh|bash|js|ts|rb)$/i, deep: false },
]

const MAX_FILES = 500
const MAX_BYTES = 1 << 20

const isFileInside = (root: string, path: string): boolean =>
  isInside(root, path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true

const filesBelow = (dir: string, deep: boolean): string[] => {
  try {
    const entries = readdirSync(dir, { recursive: deep, withFileTypes: true })
    return entries
      .filter(entry => !entry.isDirectory())
      .map(entry => join(entry.parentPath, entry.name))
  } catch {
    // No such folder.
    return []
  }
}

/** Files by folder; folders without files are left out. */
export const listLinkedFiles = (dir: string): Record<string, string[]> =>
  Object.fromEntries(
    KINDS.flatMap(({ name, endings, deep }) => {
      const files = filesBelow(join(dir, name), deep)
        .filter(path => endings.test(path) && isFileInside(dir, path))
        .map(path => relative(dir, path).split(sep).join('/'))
        .sort()
        .slice(0, MAX_FILES)
      return files.length > 0 ? [[name, files]] : []
    }),
  )

const isText = (bytes: Buffer): boolean => {
  if (bytes.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    // Another encoding, or binary.
    return false
  }
}

/** Reads a file of the skill. `..`, absolute paths and symlinks out of the skill are rejected before anything is opened. */
export const readLinkedFile = (dir: string, file: string): Omit<LinkedFile, 'version'> => {
  const parts = file.split(/[\\/]/)
  if (file.includes('\0') || isAbsolute(file) || /^[A-Za-z]:/.test(file) || parts.includes('..'))
    throw invalid('Invalid file path', { code: 'invalid_file_name' })
  const path = join(dir, ...parts)
  if (!isInside(dir, path)) throw invalid('Invalid file path', { code: 'invalid_file_name' })
  let fd: number
  try {
    // The resolved path, and not through a symlink created since (O_NOFOLLOW); a named pipe does not block (O_NONBLOCK).
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
    fd = openSync(realPath(path), flags)
  } catch {
    // Missing, not readable, or replaced since: the caller learns no more.
    throw missing('File not found', { code: 'file_not_found' })
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw missing('File not found', { code: 'file_not_found' })
    const { size } = stat
    if (size > MAX_BYTES)
      throw invalid('The file is larger than 1 MB and is not shown', {
        code: 'skill_file_too_large',
      })
    const bytes = readFileSync(fd)
    const readable = isText(bytes)
    const content = readable ? bytes.toString('utf8') : ''
    return { content, path: parts.join('/'), is_binary: !readable, size }
  } finally {
    closeSync(fd)
  }
}

/** The parts of a path that may be written: below one of the four folders. */
export const parseLinkedPath = (file: string): string[] => {
  const folders = KINDS.map(({ name }) => name)
  const parts = file.split('/')
  const isPlain = parts.every(part => part !== '' && part !== '.' && part !== '..')
  if (!isPlain || /[\\\0]/.test(file) || parts.length < 2 || !folders.includes(parts[0] ?? ''))
    throw invalid(`A skill's files go into ${folders.join('/, ')}/, for example scripts/a.py.`, {
      code: 'skill_file_place',
      values: { folders },
    })
  return parts
}

export const writeLinkedFile = (dir: string, file: string, content: string): string => {
  const path = join(dir, ...parseLinkedPath(file))
  if (Buffer.byteLength(content) > MAX_BYTES)
    throw invalid('A file of a skill has at most 1 MB.', { code: 'skill_file_too_large' })
  // The folder may be a symlink out of the skill.
  if (!isInside(dir, path)) throw invalid('Invalid file path', { code: 'invalid_file_name' })
  const old = lstatSync(path, { throwIfNoEntry: false })
  if (old?.isDirectory()) throw conflict('There is a folder of this name.', { code: 'file_exists' })
  // Text fields of a page normalize line endings; the file keeps its own.
  replaceText(path, old?.isFile() ? rewriteText(readWhole(path), content) : content)
  return path
}
