/** A file system of a fixed size, which a test can fill. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../../lib/store/file-error.ts'

export type SmallDisk = {
  /** Until nothing more can be written. */
  fill(): void
  free(): void
  unmount(): void
}

/** Null where that is not allowed: not root, or a container. */
export const mountSmallDisk = (place: string, size = '32m'): SmallDisk | null => {
  mkdirSync(place, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'none', place], {
      stdio: 'ignore',
    })
  } catch {
    // As said above.
    return null
  }
  const ballast = join(place, '.ballast.tmp')
  return {
    fill() {
      for (const bytes of [1 << 20, 1 << 12, 1])
        try {
          for (;;) appendFileSync(ballast, Buffer.alloc(bytes))
        } catch (error) {
          if (errorCode(error) !== 'ENOSPC') throw error
        }
    },
    free: () => rmSync(ballast, { force: true }),
    unmount: () => void execFileSync('umount', ['-l', place]),
  }
}
