/** Lists the files of a directory for a search: what .gitignore names passed over and counted, no symlink followed. */
import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ignoreAlways, readIgnore } from './gitignore.ts'

export type Found = { place: string; relative: string }

/** Rules of one file, and the directory they are read from. */
type Layer = { dir: string; test: ReturnType<typeof readIgnore> }

export type Walk = {
  /** A real path. */
  root: string
  /** True for places nobody may read. */
  denied: (place: string) => boolean
  signal: AbortSignal
  /** In milliseconds of `performance.now()`. */
  until: number
}

export type Listing = {
  /** By path. */
  files: Found[]
  /** Files and directories that .gitignore names. */
  ignored: number
  /** Directories that could not be read. */
  unreadable: number
  /** Not every directory was reached in time. */
  isPartial: boolean
}

/** Files there are no files: reading some of them waits for ever. */
const VIRTUAL = /^\/(?:proc|sys|dev)$/
/** Directories read at the same time. */
const TOGETHER = 32

type Dir = { place: string; relative: string; layers: Layer[] }

export const listFiles = async ({ root, denied, signal, until }: Walk): Promise<Listing> => {
  const listing: Listing = { files: [], ignored: 0, unreadable: 0, isPartial: false }
  const waiting: Dir[] = [{ place: root, relative: '', layers: await layersAbove(root) }]

  const visit = async ({ place: dir, relative, layers: above }: Dir): Promise<void> => {
    const entries = await listDir(dir)
    if (!entries) {
      listing.unreadable++
      return
    }
    const layers = entries.some(entry => entry.name === '.gitignore')
      ? [...above, ...(await readLayer(dir, '.gitignore'))]
      : above
    for (const entry of entries) {
      const place = join(dir, entry.name)
      if (ignoreAlways(entry.name, '', entry.isDirectory())) continue
      if (VIRTUAL.test(place) || denied(place)) continue
      if (isIgnored(layers, entry.name, place, entry.isDirectory())) {
        listing.ignored++
        continue
      }
      const way = relative === '' ? entry.name : `${relative}/${entry.name}`
      if (entry.isDirectory()) waiting.push({ place, relative: way, layers })
      else if (entry.isFile()) listing.files.push({ place, relative: way })
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
    // A directory that was swapped for a link leads somewhere else.
    return (await realpath(dir)) === dir ? entries : null
  } catch {
    // Gone or not readable: a search goes on with the rest.
    return null
  }
}

const readLayer = async (dir: string, name: string): Promise<Layer[]> => {
  try {
    const path = join(dir, name)
    if (!(await lstat(path)).isFile()) return []
    return [{ dir, test: readIgnore(await readFile(path, 'utf8')) }]
  } catch {
    // Not readable: then it says nothing.
    return []
  }
}

/** In a repository the files above say something, too, and one that is not committed. */
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
    // No repository begins here.
    return false
  }
}

const isIgnored = (layers: Layer[], name: string, place: string, isDir: boolean): boolean => {
  // The nearest file that says anything decides.
  for (let at = layers.length - 1; at >= 0; at--) {
    const layer = layers[at] as Layer
    const verdict = layer.test(name, place.slice(layer.dir.length + 1), isDir)
    if (verdict !== null) return verdict
  }
  return false
}
