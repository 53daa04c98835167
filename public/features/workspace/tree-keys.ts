/** Keyboard navigation of the file tree (ARIA tree view pattern). */
import type { TreeRow } from './open-directories.ts'

export type Step =
  | { kind: 'go'; path: string }
  | { kind: 'open' | 'close' | 'use' | 'rename' | 'remove'; row: TreeRow }

const go = (row: TreeRow | undefined): Step | null => (row ? { kind: 'go', path: row.path } : null)

/** The row of the parent directory. */
const parentOf = (rows: readonly TreeRow[], at: number): TreeRow | undefined =>
  rows.slice(0, at).findLast(({ level }) => level === rows[at]!.level - 1)

const byLetter = (rows: readonly TreeRow[], at: number, letter: string): TreeRow | undefined => {
  const turned = [...rows.slice(at + 1), ...rows.slice(0, at + 1)]
  return turned.find(({ name }) => name.toLowerCase().startsWith(letter.toLowerCase()))
}

/** The action of a key while the row of `path` has the focus; null for other keys. */
export const stepOf = (rows: readonly TreeRow[], path: string, key: string): Step | null => {
  const at = Math.max(
    0,
    rows.findIndex(row => row.path === path),
  )
  const row = rows[at]
  if (!row) return null
  switch (key) {
    case 'ArrowDown':
      return go(rows[at + 1])
    case 'ArrowUp':
      return go(rows[at - 1])
    case 'Home':
      return go(rows[0])
    case 'End':
      return go(rows.at(-1))
    case 'ArrowRight':
      if (row.type === 'file') return null
      if (!row.open) return { kind: 'open', row }
      return rows[at + 1]?.level === row.level + 1 ? go(rows[at + 1]) : null
    case 'ArrowLeft':
      return row.open ? { kind: 'close', row } : go(parentOf(rows, at))
    case 'Enter':
    case ' ':
      return { kind: 'use', row }
    case 'F2':
      return { kind: 'rename', row }
    case 'Delete':
      return { kind: 'remove', row }
    default:
      return key.length === 1 ? go(byLetter(rows, at, key)) : null
  }
}
