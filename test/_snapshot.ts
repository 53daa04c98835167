/** What a directory contains, to be compared byte for byte. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every file below a directory with its content; `except`: paths that are left out. */
export const snapshot = (dir: string, except: readonly string[] = []): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .map(entry => [join(entry.parentPath, entry.name), entry] as const)
      .filter(([path]) => !except.some(root => path === root || path.startsWith(`${root}/`)))
      .map(([path, entry]) => [
        path,
        entry.isFile()
          ? createHash('sha256').update(readFileSync(path)).digest('hex')
          : entry.isSymbolicLink()
            ? 'link'
            : 'folder',
      ]),
  )
