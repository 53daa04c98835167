/** Reads one text file of a workspace for the prompt: bounded in size, never through a link out of the bounds, never blocking. */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Bounds, openDirHandle, openEntry } from '../../store/dir-handle.ts'

/** More than the prompt includes; larger files are read at their start and end. */
const PART_BYTES = 128 * 1024

const readAt = (fd: number, position: number, size: number): string => {
  const bytes = Buffer.alloc(size)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, size, position))
}

/** `path`: its real path. `name`: the path it was found by, which may be a link; absolute. */
export type InstructionFile = { path: string; name: string; text: string }

/**
 * Undefined for a missing, empty, or non-text file, a path outside the bounds, or a hidden one. Throws nothing: the contents
 * of the disk must not fail a turn.
 */
export const readContextFile = (bounds: Bounds, path: string): InstructionFile | undefined => {
  let fd: number | undefined
  try {
    using handle = openDirHandle(bounds, path)
    fd = openEntry(handle)
    const stat = fstatSync(fd)
    if (!stat.isFile()) return undefined
    const isLarge = stat.size > 2 * PART_BYTES
    const content = isLarge
      ? `${readAt(fd, 0, PART_BYTES)}\n${readAt(fd, stat.size - PART_BYTES, PART_BYTES)}`
      : readAt(fd, 0, 2 * PART_BYTES)
    const text = content.replace(/^\uFEFF/, '').trim()
    return text === '' || text.includes('\0')
      ? undefined
      : { path: handle.full, name: resolve(bounds.root, path), text }
  } catch {
    // Missing, not readable, or a link out of the bounds: treated as absent.
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
