/** Stores an uploaded file in the workspace: sanitizes its name and never overwrites. The size limit is in `lib/http/body.ts`. */
import { rmSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { conflict, invalid } from '../errors.ts'
import { errorCode, withUserErrorsAsync } from '../store/file-error.ts'
import { type DirHandle, openDirHandle, outside } from '../store/dir-handle.ts'
import type { FileScope } from './file-scope.ts'
import { copyEntry } from './copy.ts'
import { moveUnlessTaken } from './move-entries.ts'

const MAX_NAME_CHARS = 200
/** File systems allow 255; this leaves room for ` (999)`. */
const MAX_NAME_BYTES = 245
const MAX_TRIES = 999

/** `archive.tar.gz` → `archive`, `.tar.gz`; a leading dot begins no ending. */
const splitName = (name: string): { stem: string; ending: string } => {
  const ending = /(?<=.)(?:\.tar)?\.[\p{L}\p{N}]{1,12}$/u.exec(name)?.[0] ?? ''
  return { stem: name.slice(0, name.length - ending.length), ending }
}

const shorten = (name: string): string => {
  const { stem, ending } = splitName(name)
  let letters = [...stem]
  const fits = () =>
    letters.length + ending.length <= MAX_NAME_CHARS &&
    Buffer.byteLength(letters.join('') + ending) <= MAX_NAME_BYTES
  while (letters.length > 1 && !fits()) letters = letters.slice(0, -1)
  return letters.join('') + ending
}

/** Letters and digits of any script, `_`, `.` and `-`; everything else becomes `_`. Rejects absolute paths and `..`. */
export const uploadName = (path: string): string => {
  if (!path.trim()) throw invalid('No filename in upload')
  const parts = path.split(/[/\\]/)
  const leavesFolder = parts.includes('..') || parts[0] === '' || /^[A-Za-z]:$/.test(parts[0] ?? '')
  const last = parts.at(-1) ?? ''
  if ((parts.length > 1 && leavesFolder) || /^\.*$/.test(last))
    throw invalid('Invalid filename', { code: 'invalid_file_name' })
  return shorten(
    last
      .toWellFormed()
      .normalize('NFC')
      .replace(/[^\p{L}\p{M}\p{N}_.-]/gu, '_'),
  )
}

const numbered = (name: string, n: number): string => {
  const { stem, ending } = splitName(name)
  return n === 1 ? name : `${stem} (${n})${ending}`
}

/** The first free name of `a.txt`, `a (2).txt`, … */
const moveToFreeName = (from: string, folder: DirHandle, name: string): string => {
  for (let n = 1; n <= MAX_TRIES; n++) {
    const free = numbered(name, n)
    try {
      moveUnlessTaken(from, folder.sibling(free))
      return free
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
  }
  throw conflict('There are too many files of this name', { code: 'too_many_same_name' })
}

/** Whether the path leads above its start, at its end or on the way. */
const leavesFolder = (folder: string): boolean => {
  if (isAbsolute(folder)) return true
  let depth = 0
  for (const part of folder.split('/')) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) return true
  }
  return false
}

/** Moves the file at `from` into `folder` (relative to the workspace, made when missing) and says under which name. */
export const placeUpload = (area: FileScope, from: string, uploadPath: string, folder = '.') =>
  withUserErrorsAsync(async () => {
    const name = uploadName(uploadPath)
    if (leavesFolder(folder)) throw outside()
    using handle = openDirHandle(area, join(folder || '.', name), { link: true, create: true })
    const place = async (): Promise<string> => {
      try {
        return moveToFreeName(from, handle, name)
      } catch (error) {
        if (errorCode(error) !== 'EXDEV') throw error
      }
      // Another disk: copied to a temporary name first, so that no partial file is visible.
      const beside = handle.temporary()
      try {
        await copyEntry(from, beside)
        return moveToFreeName(beside, handle, name)
      } finally {
        rmSync(beside, { force: true })
      }
    }
    const filename = await place()
    handle.sync()
    return { filename, path: join(handle.dir, basename(filename)) }
  })
