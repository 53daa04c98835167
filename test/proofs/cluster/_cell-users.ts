/** What proofs of cells with users of their own share. */
import { chmodSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { SERVICE } from '../../../build/start-program.ts'
import { findPostgres } from '../../_postgres.ts'

/** Whether any user may go through the folders above a path. */
const isOpen = (path: string): boolean => {
  const above = dirname(path)
  return above === path || ((statSync(above).mode & 0o001) !== 0 && isOpen(above))
}

/** Null where such cells can run. */
export const whyNoUsers = (): string | null => {
  if (process.geteuid?.() !== 0) return 'this user is not root'
  if (findPostgres() === null) return 'there is no PostgreSQL for this platform'
  return [SERVICE, process.execPath].every(isOpen) ? null : 'other users cannot reach the program'
}

/** A directory that all users may go through. */
export const openDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'users-'))
  for (let path = dir; path !== '/tmp' && path !== '/'; path = dirname(path)) chmodSync(path, 0o711)
  return dir
}
