/** What a directory of a workspace holds. */
import { type Dirent, lstatSync, readdirSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { missing } from '../errors.ts'
import type { FileEntry } from '../schema/workspace.ts'
import { isInside, realPath, resolveInside } from '../store/inside.ts'

const MOST = 200

export type Listing = {
  entries: FileEntry[]
  /** As it was asked for. */
  path: string
  /** How many names there are; `entries` holds at most the first 200. */
  total: number
}

type Kind = { name: string; isDir: boolean; isLink: boolean }

/** Directories first, then by name without regard to case. */
const inOrder = (a: Kind, b: Kind): number => {
  if (a.isDir !== b.isDir) return a.isDir ? -1 : 1
  const [left, right] = [a.name.toLowerCase(), b.name.toLowerCase()]
  if (left === right) return a.name < b.name ? -1 : 1
  return left < right ? -1 : 1
}

const readNames = (dir: string): Dirent[] => {
  try {
    return readdirSync(dir, { withFileTypes: true })
  } catch {
    // Gone, a file, or closed to us: the caller learns no more than that.
    throw missing('Directory not found')
  }
}

const sizeOf = (path: string): number | null =>
  lstatSync(path, { throwIfNoEntry: false })?.size ?? null

/** A link is what it leads to while that lies in the workspace; else a name without anything behind it. */
const followed = (root: string, path: string) => {
  const nothing = { isDir: false, size: null }
  const target = realPath(path)
  if (!isInside(root, target)) return nothing
  try {
    const found = statSync(target)
    return { isDir: found.isDirectory(), size: found.isFile() ? found.size : null }
  } catch {
    // Dangling, or closed to us.
    return nothing
  }
}

/**
 * `path` is relative to `root`. Refuses as missing what is not there, is no directory or leads outside; places in
 * `hidden` (the service's own state) are as if they were not there.
 */
export const listDirectory = (
  root: string,
  path: string,
  hidden: readonly string[] = [],
): Listing => {
  const dir = resolveInside(root, path || '.')
  const base = realPath(root)
  // A workspace that lies in such a place itself was put there on purpose.
  const secret = hidden.map(place => realPath(place)).filter(place => !isInside(place, base))
  if (secret.some(place => isInside(place, dir))) throw missing('Directory not found')
  const kinds = readNames(dir)
    .filter(entry => !secret.includes(join(dir, entry.name)))
    .map((entry): Kind => {
      const isLink = entry.isSymbolicLink()
      const isDir = isLink ? followed(base, join(dir, entry.name)).isDir : entry.isDirectory()
      return { name: entry.name, isDir, isLink }
    })
    .sort(inOrder)
  return {
    path,
    total: kinds.length,
    entries: kinds.slice(0, MOST).map(({ name, isDir, isLink }) => {
      const full = join(dir, name)
      return {
        name,
        path: relative(base, full).split(sep).join('/'),
        type: isDir ? 'dir' : 'file',
        size: isDir ? null : isLink ? followed(base, full).size : sizeOf(full),
      }
    }),
  }
}
