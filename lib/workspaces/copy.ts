/** Copies an entry to another disk. Symlinks are copied as symlinks, and one swapped in during the copy is not followed. */
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../errors.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

const copyFile = async (from: string, to: string, mode: number): Promise<void> => {
  const source = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const target = await open(to, 'wx', mode)
    try {
      await target.writeFile(source.createReadStream({ autoClose: false }))
      await target.chmod(mode)
      await target.sync()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Names are read and opened through the open directory where the system allows it. */
const copyDirectory = async (from: string, to: string, mode: number): Promise<void> => {
  const dir = await open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const place = process.platform === 'linux' ? `/proc/self/fd/${dir.fd}` : from
    await mkdir(to, { mode: 0o700 })
    for (const name of await readdir(place)) await copyEntry(join(place, name), join(to, name))
    // Last: a folder that may not be written would take nothing in.
    const folder = await open(to, O_RDONLY | O_DIRECTORY)
    await folder.chmod(mode).finally(() => folder.close())
  } finally {
    await dir.close()
  }
}

/** Rejects pipes and sockets, which can only be moved. The caller removes a partial copy. */
export const copyEntry = async (from: string, to: string): Promise<void> => {
  const stat = await lstat(from)
  const mode = stat.mode & 0o7777
  if (stat.isSymbolicLink()) await symlink(await readlink(from), to)
  else if (stat.isDirectory()) await copyDirectory(from, to, mode)
  else if (stat.isFile()) await copyFile(from, to, mode)
  else
    throw invalid('It holds something that is neither a file nor a folder', {
      code: 'special_file',
    })
}
