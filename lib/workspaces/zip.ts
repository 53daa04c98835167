/** Streams a folder as a zip file: one file open at a time, symlinks left out. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { invalid, UserError } from '../errors.ts'
import { errorCode, withUserErrorsAsync } from '../store/file-error.ts'
import { openDirHandle } from '../store/dir-handle.ts'
import type { FileScope } from './file-scope.ts'

export type ZipLimits = { entries: number; bytes: number }
const ZIP_LIMITS: ZipLimits = { entries: 20_000, bytes: 2 * 1024 ** 3 }

type ZipEntry = {
  /** Relative to the workspace. */
  path: string
  /** In the archive, its folder's name first; a folder's ends with a slash. */
  name: string
  size: number
  isDir: boolean
  mtime: Date
  mode: number
}

export type Archive = { name: string; chunks: AsyncIterable<Buffer> }

/** Characters that programs for archives read as separators or drives. */
const zipName = (name: string): string => name.toWellFormed().replace(/[\\:]/g, '_')

const tooMuch = (limits: ZipLimits) =>
  invalid(
    `The folder is too large to download (at most ${limits.entries} files and ${Math.round(limits.bytes / 1024 ** 2)} MB)`,
    {
      code: 'folder_too_large',
      values: { files: limits.entries, max: Math.round(limits.bytes / 1024 ** 2) },
    },
  )

const SMALL_BYTES = 64 * 1024
const MAX_WAITING_BYTES = 4 * 1024 * 1024

/** Deleted or unreadable files are skipped: an archive of the rest is better than none. */
const SKIPPED_ERRORS = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO'])

const readFolder = async (area: FileScope, path: string) => {
  using handle = openDirHandle(area, path, { link: true })
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  const dir = await open(handle.at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const place = handle.isAnchored ? `/proc/self/fd/${dir.fd}` : handle.full
    const names = (await readdir(place)).filter(name => !area.isHidden(join(handle.full, name)))
    const children = []
    for (const name of names.sort()) {
      const stat = await lstat(join(place, name)).catch(() => undefined)
      if (stat && (stat.isFile() || stat.isDirectory())) children.push({ name, stat })
    }
    return children
  } finally {
    await dir.close()
  }
}

/** Everything below `path`, counted before the first byte is sent. */
const collectEntries = async (area: FileScope, path: string, top: string, limits: ZipLimits) => {
  const entries: ZipEntry[] = []
  const waiting = [{ path, name: top }]
  let bytes = 0
  for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
    let children: Awaited<ReturnType<typeof readFolder>>
    try {
      children = await readFolder(area, folder.path)
    } catch (error) {
      if (folder.path === path || !isSkipped(error)) throw error
      continue
    }
    for (const { name, stat } of children) {
      const isDir = stat.isDirectory()
      const entry: ZipEntry = {
        path: join(folder.path, name),
        name: `${folder.name}/${zipName(name)}${isDir ? '/' : ''}`,
        size: isDir ? 0 : stat.size,
        isDir,
        mtime: stat.mtime,
        mode: stat.mode,
      }
      entries.push(entry)
      bytes += entry.size
      if (entries.length > limits.entries || bytes > limits.bytes) throw tooMuch(limits)
      if (isDir) waiting.push({ path: entry.path, name: entry.name.slice(0, -1) })
    }
  }
  return entries
}

const isSkipped = (error: unknown): boolean =>
  SKIPPED_ERRORS.has(errorCode(error)) || error instanceof UserError

const openEntry = async (area: FileScope, path: string): Promise<FileHandle | undefined> => {
  try {
    using handle = openDirHandle(area, path, { link: true })
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    return await open(handle.at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (isSkipped(error)) return undefined
    throw error
  }
}

async function* archive(
  area: FileScope,
  top: string,
  entries: readonly ZipEntry[],
): AsyncGenerator<Buffer> {
  // Loaded with the first download: no start needs it.
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  const state = { left: false, bytes: undefined as Readable | undefined }
  const output = zip.outputStream as AsyncIterable<Buffer> & NodeJS.ReadableStream
  const fail = (error: unknown) =>
    void Reflect.apply(Reflect.get(output, 'destroy'), output, [error])
  zip.on('error', fail)

  const feed = async () => {
    // An empty folder is a folder all the same.
    zip.addEmptyDirectory(`${top}/`)
    let waiting = 0
    for (const { path, name, size, isDir, mtime, mode } of entries) {
      if (state.left) return
      if (isDir) {
        zip.addEmptyDirectory(name, { mtime, mode })
        continue
      }
      const handle = await openEntry(area, path)
      if (!handle) continue
      try {
        if (!(await handle.stat()).isFile()) continue
        // A stream costs more than a small file; the next one waits until what was added before it has been sent.
        if (size <= SMALL_BYTES && waiting <= MAX_WAITING_BYTES) {
          const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
          zip.addBuffer(buffer.subarray(0, bytesRead), name, { mtime, mode })
          waiting += bytesRead
          continue
        }
        waiting = 0
        // A file that grows while it is read ends where it ended when it was counted.
        const bytes = handle.createReadStream({ autoClose: false, end: size - 1 })
        state.bytes = bytes
        zip.addReadStream(bytes, name, { mtime, mode })
        await finished(bytes)
      } finally {
        await handle.close()
      }
    }
    zip.end()
  }
  const fed = feed().catch(error => {
    if (!state.left) fail(error)
  })
  try {
    for await (const chunk of output) yield chunk
  } finally {
    // The reader has left, or has everything.
    state.left = true
    fail(undefined)
    state.bytes?.destroy()
    await fed
  }
}

/** Refuses what is no folder or too large before anything is sent. */
export const zipFolder = (area: FileScope, path: string, limits = ZIP_LIMITS): Promise<Archive> =>
  withUserErrorsAsync(async () => {
    using handle = openDirHandle(area, path || '.')
    if (!(await lstat(handle.at)).isDirectory())
      throw invalid('Path is not a folder', { code: 'not_a_folder' })
    const name = zipName(basename(handle.full)) || 'workspace'
    const entries = await collectEntries(area, handle.path, name, limits)
    return { name: `${name}.zip`, chunks: archive(area, name, entries) }
  })
