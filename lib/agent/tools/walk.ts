/** Walks a directory for a search: bounded, ignoring what .gitignore names, never following a symlink. */
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreAlways, readIgnore } from './ignore.ts'

export type Found = { place: string; relative: string }

type Layer = { base: string; test: ReturnType<typeof readIgnore> }

export type Walk = {
  root: string
  /** True for places nobody may read. */
  denied: (place: string) => boolean
  signal: AbortSignal
  /** Asked between directories and files; true ends the walk. */
  enough: () => boolean
}

/** Files there are no files: reading some of them waits for ever. */
const VIRTUAL = /^\/(?:proc|sys|dev)$/

/** Regular files below `root`, directory by directory, in name order. */
export async function* walk(options: Walk): AsyncGenerator<Found> {
  const stack: { dir: string; relative: string; layers: Layer[] }[] = [
    { dir: options.root, relative: '', layers: [] },
  ]
  for (let next = stack.pop(); next && !options.enough(); next = stack.pop()) {
    options.signal.throwIfAborted()
    const { dir, relative } = next
    const entries = await listDir(dir)
    const own = entries.some(entry => entry.name === '.gitignore')
      ? await readLayer(dir, relative)
      : []
    const layers = [...next.layers, ...own]
    const dirs: typeof stack = []
    for (const entry of entries) {
      const way = relative === '' ? entry.name : `${relative}/${entry.name}`
      const place = join(dir, entry.name)
      if (isIgnored(layers, entry.name, way, entry.isDirectory())) continue
      if (VIRTUAL.test(place) || options.denied(place)) continue
      if (entry.isDirectory()) dirs.push({ dir: place, relative: way, layers })
      else if (entry.isFile()) yield { place, relative: way }
    }
    stack.push(...dirs.reverse())
  }
}

const listDir = async (dir: string) => {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    // Gone or not readable: a search goes on with the rest.
    return []
  }
}

const readLayer = async (dir: string, base: string): Promise<Layer[]> => {
  try {
    const path = join(dir, '.gitignore')
    if (!(await lstat(path)).isFile()) return []
    return [{ base, test: readIgnore(await readFile(path, 'utf8')) }]
  } catch {
    // Not readable: then it says nothing.
    return []
  }
}

const isIgnored = (layers: Layer[], name: string, way: string, isDir: boolean): boolean => {
  if (ignoreAlways(name, way, isDir)) return true
  // The nearest file that says anything decides.
  for (const { base, test } of layers.toReversed()) {
    const verdict = test(name, base === '' ? way : way.slice(base.length + 1), isDir)
    if (verdict !== null) return verdict
  }
  return false
}
