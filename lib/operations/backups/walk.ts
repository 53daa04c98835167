/** Lists what a backup saves, in an order in which everything that refers to something else is saved before or with it. */
import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, posix, relative, resolve, sep } from 'node:path'
import { messageOf } from '../../errors.ts'
import { isBelow } from '../../store/path-within.ts'
import { isGone } from './read-file.ts'
import { type BackupPlace, treatmentOf, type Treatment } from './treatment.ts'

export type SavedEntry =
  | { type: 'directory'; path: string; mode: number; mtimeMs: number }
  | { type: 'link'; path: string; mode: number; mtimeMs: number; target: string }
  /** `file` is the path to read. */
  | { type: 'file'; path: string; file: string; treatment: Exclude<Treatment, 'skip'> }

/** Listing a directory again finds what was moved into it while it was read. */
const MAX_LISTINGS = 3

/** The link as it is, or relative where it is absolute or leaves the directory and returns; null when it leads outside. */
const targetWithin = async (
  place: BackupPlace,
  full: string,
  target: string,
): Promise<string | null> => {
  const lexical = resolve(dirname(full), target)
  if (!isAbsolute(target) && isBelow(place.dir, lexical)) return target
  try {
    const real = await realpath(full)
    if (!isBelow(place.dir, real)) return null
    return relative(await realpath(dirname(full)), real) || '.'
  } catch {
    // A dangling link.
    return isBelow(place.dir, lexical) ? relative(dirname(full), lexical) || '.' : null
  }
}

/**
 * `excluded`: real paths that are not entered: other places, the target, checkouts. `onProblem` is told what is not in the
 * backup, and why.
 */
export async function* walk(
  places: readonly BackupPlace[],
  excluded: readonly string[],
  onProblem: (path: string, reason: string) => void,
): AsyncGenerator<SavedEntry> {
  const seen = new Set<string>()

  /** A link to a file outside is saved as that file, because people keep config.yaml in a repository and link to it. */
  async function* link(place: BackupPlace, path: string, full: string): AsyncGenerator<SavedEntry> {
    const name = posix.join(place.root, path)
    const { mode, mtimeMs } = await lstat(full)
    const target = await targetWithin(place, full, await readlink(full))
    if (target !== null) {
      yield { type: 'link', path: name, mode, mtimeMs, target: target.split(sep).join('/') }
      return
    }
    const stats = await stat(full).catch(() => null)
    const treatment = treatmentOf(place, path)
    if (stats?.isFile() && treatment !== 'skip') {
      yield { type: 'file', path: name, file: await realpath(full), treatment }
      return
    }
    onProblem(name, 'it is a link to a place that is not saved')
  }

  async function* entry(
    place: BackupPlace,
    path: string,
    isKey: boolean,
  ): AsyncGenerator<SavedEntry> {
    const full = join(place.dir, path)
    const name = posix.join(place.root, path)
    if (excluded.includes(full)) return
    // Saved in an earlier listing.
    const isNew = !seen.has(name)
    const treatment = treatmentOf(place, path)
    if (treatment === 'skip') return
    if (name.includes('\uFFFD')) return onProblem(name, 'its name is not UTF-8')
    const stats = await lstat(full)
    seen.add(name)
    const key = isKey || treatment === 'key'
    if (stats.isSymbolicLink()) {
      if (!key && isNew) yield* link(place, path, full)
    } else if (stats.isDirectory()) {
      const { mode, mtimeMs } = stats
      if (!key && isNew) yield { type: 'directory', path: name, mode, mtimeMs }
      yield* directory(place, path, key)
    } else if (stats.isFile() && isNew) {
      yield { type: 'file', path: name, file: full, treatment: key ? 'key' : treatment }
    }
    // Sockets, pipes, and devices have no content.
  }

  async function* directory(
    place: BackupPlace,
    path: string,
    isKey: boolean,
  ): AsyncGenerator<SavedEntry> {
    const visited = new Set<string>()
    for (let listing = 0; listing < MAX_LISTINGS; listing++) {
      const names = (await list(join(place.dir, path), posix.join(place.root, path)))
        .filter(name => !visited.has(name))
        .toSorted()
      if (names.length === 0) return
      for (const name of names) {
        visited.add(name)
        yield* below(place, path === '' ? name : `${path}/${name}`, isKey)
      }
    }
  }

  const list = async (full: string, name: string): Promise<string[]> => {
    try {
      return await readdir(full)
    } catch (error) {
      if (!isGone(error)) onProblem(name, messageOf(error))
      return []
    }
  }

  /** One entry and what is below it, without what was listed before. */
  async function* below(
    place: BackupPlace,
    path: string,
    isKey = false,
  ): AsyncGenerator<SavedEntry> {
    try {
      yield* entry(place, path, isKey)
    } catch (error) {
      // Deleted or moved since it was listed.
      if (!isGone(error)) onProblem(posix.join(place.root, path), messageOf(error))
    }
  }

  const root = async (place: BackupPlace): Promise<SavedEntry> => {
    const { mode, mtimeMs } = await lstat(place.dir)
    return { type: 'directory', path: place.root, mode, mtimeMs }
  }

  const states = places.filter(({ kind }) => kind === 'state')
  for (const place of states) {
    yield await root(place)
    // Live logs before journals: recovery then finds in the journal whatever the log says is finished. Outputs after the
    // journals that refer to them.
    for (const name of ['live', 'sessions', 'tool-output']) yield* below(place, name)
    yield* directory(place, '', false)
  }
  for (const place of places.filter(({ kind }) => kind === 'home')) {
    yield await root(place)
    yield* directory(place, '', false)
  }
  // What homes refer to, and what was moved between directories: chats that began, were renamed, or came back from the trash.
  for (const place of states)
    for (const name of ['sessions', 'tool-output', 'trash']) yield* below(place, name)
}
