/** Writes a stream to a new file of a workspace: complete or not at all. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, lstatSync, renameSync, rmSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openDirHandle } from '../store/dir-handle.ts'
import { withUserErrorsAsync } from '../store/file-error.ts'
import type { FileScope } from './file-scope.ts'

/** `path` is relative to the workspace; its folders are made when missing. False: something is there already, and stays. */
export const writeStream = (
  area: FileScope,
  path: string,
  open: () => Promise<Readable>,
): Promise<boolean> =>
  withUserErrorsAsync(async () => {
    using held = openDirHandle(area, path, { link: true, create: true })
    if (lstatSync(held.at, { throwIfNoEntry: false })) return false
    const beside = held.sibling(`.agent-webui-${randomBytes(6).toString('hex')}.tmp`)
    try {
      await pipeline(await open(), createWriteStream(beside, { flags: 'wx', flush: true }))
      renameSync(beside, held.at)
      held.sync()
      return true
    } finally {
      rmSync(beside, { force: true })
    }
  })
