/** Tells which names that a text contains are entries of the workspace, so that the page links only those. */
import { lstatSync } from 'node:fs'
import { isAbsolute, relative, sep } from 'node:path'
import { UserError } from '../errors.ts'
import type { NamedEntry } from '../schema/workspace.ts'
import { openDirHandle } from '../store/dir-handle.ts'
import { withUserErrors } from '../store/file-error.ts'
import { resolveInside } from '../store/path-within.ts'
import type { FileScope } from './file-scope.ts'

const entryOf = (area: FileScope, asked: string): NamedEntry | undefined => {
  // As the workspace itself may be reached through a symlink, absolute names are resolved first.
  const name = isAbsolute(asked)
    ? relative(area.root, resolveInside(area.root, asked)).split(sep).join('/')
    : asked
  using held = openDirHandle(area, name || '.')
  const stat = lstatSync(held.at)
  if (stat.isDirectory()) return { asked, path: held.isRoot ? '' : held.path, type: 'dir' }
  return stat.isFile() ? { asked, path: held.path, type: 'file' } : undefined
}

/** Entries that exist, in the order of `names`. Everything hidden or outside the workspace is left out. */
export const resolveNames = (area: FileScope, names: readonly string[]): NamedEntry[] =>
  [...new Set(names)].flatMap(asked => {
    try {
      return withUserErrors(() => entryOf(area, asked)) ?? []
    } catch (error) {
      // Missing, outside, hidden, or a name that no file can have: not an entry.
      if (error instanceof UserError) return []
      throw error
    }
  })
