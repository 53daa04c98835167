/** Lists the files of a directory for a search. Skips and counts ignored files, follows no symlinks. */
import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ALWAYS_IGNORED, type IgnoreRules, readIgnore } from './gitignore.ts'

export type ListedFile = { fullPath: string; relative: string }

/** The rules of one .gitignore and its directory. */
type Layer = { dir: string; test: IgnoreRules }

export type FileSearch = {
  /** A real path. */
  root: string
  /** True for paths that must not be read. */
  denied: (fullPath: string) => boolean
  signal: AbortSignal
  /** In milliseconds of `performance.now()`. */
  until: number
}

export type Listing = {
  /** By path. */
  files: ListedFile[]
  /** Number of ignored files and directories. */
  ignored: number
  /** Number of unreadable directories. */
  unreadable: number
  /** True if the time limit was reached. */
  isPartial: boolean
}

/** Virtual file systems; reading some of their files blocks forever. */
const VIRTUAL = /^\/(?:proc|sys|dev)$/
/** Directories read concurrently. */
const TOGETHER = 256

type Dir = { fullPath: string; relative: string; layers: Layer[] }

export const listFiles = async ({ root, denied, signal, until }: FileSearch): Promise<Listing> => {
  const listing: Listing = {
    files: [],
    ignored: 0,
    unreadable: 0,
    isPartial: false,
  }
  const waiting: Dir[] = [{ fullPath: root, relative: '', layers: await layersAbove(root) }]

  const visit = async ({ fullPath: dir, relative, layers: above }: Dir): Promise<void> => {
    const entries = await listDir(dir)
    if (!entries) {
      listing.unreadable++
      return
    }
    const layers = entries.some(entry => entry.name === '.gitignore')
      ? [...above, ...(await readLayer(dir, '.gitignore'))]
      : above
    for (const entry of entries) {
      const fullPath = join(dir, entry.name)
      if (ALWAYS_IGNORED.has(entry.name)) continue
      const way = relative === '' ? entry.name : `${relative}/${entry.name}`
      if (VIRTUAL.test(fullPath) || denied(fullPath)) continue
      if (isIgnored(layers, entry.name, fullPath, entry.isDirectory())) listing.ignored++
      else if (entry.isDirectory()) waiting.push({ fullPath, relative: way, layers })
      else if (entry.isFile()) listing.files.push({ fullPath, relative: way })
    }
  }

  while (waiting.length > 0) {
    signal.throwIfAborted()
    if (performance.now() > until) {
      listing.isPartial = true
      break
    }
    await Promise.all(waiting.splice(0, TOGETHER).map(visit))
  }
  listing.files.sort((a, b) => (a.relative < b.relative ? -1 : 1))
  return listing
}

const listDir = async (dir: string) => {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    // Guards against a directory that was swapped for a symlink.
    return (await realpath(dir)) === dir ? entries : null
  } catch {
    // Deleted or unreadable: the search continues with the rest.
    return null
  }
}

const readLayer = async (dir: string, name: string): Promise<Layer[]> => {
  try {
    const path = join(dir, name)
    if (!(await lstat(path)).isFile()) return []
    return [{ dir, test: readIgnore(await readFile(path, 'utf8')) }]
  } catch {
    // Unreadable: no rules.
    return []
  }
}

/** In a repository, .gitignore files of parent directories and .git/info/exclude apply too. */
const layersAbove = async (root: string): Promise<Layer[]> => {
  const layers: Layer[] = []
  for (let dir = root; ; dir = dirname(dir)) {
    if (dir !== root) layers.unshift(...(await readLayer(dir, '.gitignore')))
    if (await isThere(join(dir, '.git')))
      return [...(await readLayer(dir, '.git/info/exclude')), ...layers]
    if (dirname(dir) === dir) return []
  }
}

const isThere = async (path: string): Promise<boolean> => {
  try {
    await lstat(path)
    return true
  } catch {
    // Not a repository root.
    return false
  }
}

const isIgnored = (layers: Layer[], name: string, fullPath: string, isDir: boolean): boolean => {
  // The nearest file with a matching rule wins.
  for (let at = layers.length - 1; at >= 0; at--) {
    const layer = layers[at] as Layer
    const verdict = layer.test(name, fullPath.slice(layer.dir.length + 1), isDir)
    if (verdict !== null) return verdict
  }
  return false
}
