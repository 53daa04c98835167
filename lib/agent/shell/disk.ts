/** What the file system says about paths, looked up once per classification. */
import { realPath } from '../../store/path-within.ts'
import { createHardLinks } from '../hard-links.ts'

export type Disk = {
  /** The path with its symlinks resolved; it need not exist. */
  realPath: (path: string) => string
  /** The first of these files and folders that contains a hard link to this file. */
  findHardLink: (paths: readonly string[], target: string) => string | undefined
  /** Paths that are known to lead to no control file. */
  free: Set<string>
}

export const createDisk = (resolve = realPath): Disk => {
  const known = new Map<string, string>()
  const links = new Map<readonly string[], ReturnType<typeof createHardLinks>>()
  return {
    free: new Set(),
    realPath(path) {
      const real = known.get(path) ?? resolve(path)
      known.set(path, real)
      return real
    },
    findHardLink(paths, target) {
      const found = links.get(paths) ?? createHardLinks(paths)
      links.set(paths, found)
      return found(target)
    },
  }
}
