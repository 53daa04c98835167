/** The lines of the file list: directories that open, and the files in open ones. Pure. */
import type { PastFileState } from '../../../lib/schema/checkpoint.ts'

export type PastFileEntry = { path: string; state: PastFileState }
export type Line =
  | { kind: 'directory'; path: string; name: string; depth: number; open: boolean }
  | ({ kind: 'file'; name: string; depth: number } & PastFileEntry)

const parentsOf = (path: string): string[] => {
  const names = path.split('/')
  return names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join('/'))
}

/** Directories of at most `max` files that differ from now: they are open at first. */
export const directoriesOfChanges = (files: readonly PastFileEntry[], max = 50): Set<string> =>
  new Set(
    files
      .filter(({ state }) => state !== 'same')
      .slice(0, max)
      .flatMap(({ path }) => parentsOf(path)),
  )

/** Directories before files, each by name. */
const compare = (left: string, right: string): number => {
  const [a, b] = [left.split('/'), right.split('/')]
  const at = a.findIndex((name, index) => name !== b[index])
  const [isFileA, isFileB] = [at === a.length - 1, at === b.length - 1]
  if (isFileA !== isFileB) return isFileA ? 1 : -1
  return (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
}

export const linesOf = (files: readonly PastFileEntry[], open: ReadonlySet<string>): Line[] => {
  const lines: Line[] = []
  const known = new Set<string>()
  for (const file of files.toSorted((a, b) => compare(a.path, b.path))) {
    const parents = parentsOf(file.path)
    for (const [depth, path] of parents.entries()) {
      const isShown = parents.slice(0, depth).every(each => open.has(each))
      if (known.has(path) || !isShown) continue
      known.add(path)
      const name = path.slice(path.lastIndexOf('/') + 1)
      lines.push({ kind: 'directory', path, name, depth, open: open.has(path) })
    }
    if (!parents.every(each => open.has(each))) continue
    const name = file.path.slice(file.path.lastIndexOf('/') + 1)
    lines.push({ kind: 'file', name, depth: parents.length, ...file })
  }
  return lines
}
