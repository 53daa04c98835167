/** Restores a backup into empty places: everything is written beside them first, so that a failed restore leaves nothing. */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { isBelow } from '../../store/path-within.ts'
import { dirname, join, relative } from 'node:path'
import { toSeconds } from '../../base/clock.ts'
import { conflict, diskFull } from '../../errors.ts'
import { syncDir } from '../../store/atomic-write.ts'
import { errorCode } from '../../store/file-error.ts'
import { isDiskFull } from '../../store/journal.ts'
import { makeDir } from '../../store/make-dir.ts'
import { checkPath, type Head, rootOf } from './format.ts'
import { decryptKeys } from './keys.ts'
import { type ArchiveEntry, type ReadArchive, readArchive } from './read-archive.ts'
import { endRestore, noteRestore, unfinishedRestore } from './unfinished.ts'

export type RestoreOptions = {
  file: string
  /** The base home; profiles are restored below it. */
  home: string
  /** The state directory, inside of the home or elsewhere. */
  state: string
  /** Called when the backup has keys; null restores without them. */
  passphrase: () => Promise<string | null>
}

export type Restored = ReadArchive & {
  /** Keys of the backup were restored. */
  hasKeys: boolean
}

const namesIn = (dir: string): string[] => {
  const stats = statSync(dir, { throwIfNoEntry: false })
  if (!stats) return []
  if (!stats.isDirectory()) throw conflict(`${dir} is not a directory.`)
  return readdirSync(dir)
}

const LEFTOVER = /^\.agent-webui-restore-[0-9a-f]{12}$/

/** What a killed restore left; everything else means that the place is in use. */
const checkEmpty = (dir: string): void => {
  const names = namesIn(dir)
  if (names.some(name => !LEFTOVER.test(name)))
    throw conflict(
      `${dir} is not empty. A backup is restored into an empty place only: move it away, or use --to.`,
    )
  for (const name of names) rmSync(join(dir, name), { recursive: true, force: true })
}

const BLOCK = 4_096
const ZEROS = Buffer.alloc(BLOCK)

/** Leaves out blocks of zeros, so that a sparse file is sparse again. */
const writeSparse = async (
  handle: FileHandle,
  content: AsyncIterable<Buffer> | readonly Buffer[],
): Promise<void> => {
  let at = 0
  for await (const chunk of content) {
    let from = 0
    while (from < chunk.length) {
      // In steps that end at multiples of the block size in the file.
      const isZero = (start: number) => {
        const end = Math.min(chunk.length, start + BLOCK - ((at + start) % BLOCK))
        return { end, zero: chunk.subarray(start, end).equals(ZEROS.subarray(0, end - start)) }
      }
      let { end, zero } = isZero(from)
      while (end < chunk.length) {
        const next = isZero(end)
        if (next.zero !== zero) break
        end = next.end
      }
      if (!zero) {
        for (let position = from; position < end; )
          position += (await handle.write(chunk, position, end - position, at + position))
            .bytesWritten
      }
      from = end
    }
    at += chunk.length
  }
  await handle.truncate(at)
}

/**
 * Private to the person: directories are closed, so are keys and what is directly in a home or in the state directory. A file further
 * below keeps its mode, which undoing its changes compares.
 */
const fileMode = (path: string, mode: number, isKey: boolean): number =>
  (mode & (isKey || dirname(path) === rootOf(path) ? 0o700 : 0o777)) | 0o400

class RestoreTarget {
  readonly #aside: string
  readonly #links: { path: string; target: string }[] = []
  readonly #directories: { path: string; mtimeMs: number }[] = []

  constructor(aside: string) {
    this.#aside = aside
  }

  async add(entry: ArchiveEntry, content: AsyncIterable<Buffer>): Promise<void> {
    const { path, type, mtimeMs, target } = entry
    if (type === 'link') this.#links.push({ path, target: target ?? '' })
    else if (type === 'file') await this.#writeFile(entry, content)
    else {
      makeDir(this.#at(path))
      this.#directories.push({ path, mtimeMs })
    }
  }

  async addKeys(encrypted: Buffer, passphrase: string): Promise<void> {
    for (const { path, mode, mtimeMs, content } of await decryptKeys(encrypted, passphrase)) {
      checkPath(path)
      makeDir(dirname(this.#at(path)))
      rmSync(this.#at(path), { force: true })
      await this.#writeFile({ path, mode, mtimeMs }, [content], true)
    }
  }

  /** Links last: nothing can be written through one. */
  finish({ lines }: ReadArchive): void {
    for (const { path, size = 0, padding } of lines)
      if (padding !== undefined) truncateSync(this.#at(path), size)
    for (const { path, target } of this.#links) symlinkSync(target, this.#at(path))
    for (const { path, mtimeMs } of this.#directories.toReversed()) {
      chmodSync(this.#at(path), 0o700)
      utimesSync(this.#at(path), toSeconds(mtimeMs), toSeconds(mtimeMs))
    }
  }

  #at(path: string) {
    return join(this.#aside, path)
  }

  async #writeFile(
    { path, mode, mtimeMs }: { path: string; mode: number; mtimeMs: number },
    content: AsyncIterable<Buffer> | readonly Buffer[],
    isKey = false,
  ): Promise<void> {
    const handle = await open(this.#at(path), 'wx', 0o600)
    try {
      await writeSparse(handle, content)
      await handle.chmod(fileMode(path, mode, isKey))
      await handle.utimes(toSeconds(mtimeMs), toSeconds(mtimeMs))
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

type Move = { from: string; to: string }

/** Puts each directory in its place, or none of them. */
const moveAll = (moves: readonly Move[]): void => {
  const done: Move[] = []
  try {
    for (const move of moves) {
      makeDir(dirname(move.to))
      // An empty directory gives way to the new one.
      if (exists(move.to)) rmdirSync(move.to)
      renameSync(move.from, move.to)
      done.push(move)
      syncDir(dirname(move.to))
    }
  } catch (error) {
    for (const { from, to } of done.toReversed()) renameSync(to, from)
    throw error
  }
}

/** Puts the parts of the archive together, and says where they belong; the state directory, or what it is in, first. */
const movesOf = (aside: string, { home, state }: RestoreOptions, head: Head): Move[] => {
  const parts = { home: join(aside, 'home'), state: join(aside, 'state') }
  makeDir(parts.home)
  for (const name of head.profiles.filter(each => each !== 'default')) {
    makeDir(join(parts.home, 'profiles'))
    renameSync(join(aside, 'profiles', name), join(parts.home, 'profiles', name))
  }
  const whole = { from: parts.home, to: home }
  if (!exists(parts.state)) return [whole]
  if (home === state || !isBelow(home, state)) return [{ from: parts.state, to: state }, whole]
  const inner = join(parts.home, state.slice(home.length + 1))
  makeDir(dirname(inner))
  renameSync(parts.state, inner)
  return [whole]
}

/**
 * Where to write before the renames: beside the home; inside of it where that is the root of a file system, as a volume of a
 * container is, or where only the home itself may be written.
 */
const placeAside = (home: string): { aside: string; isInside: boolean } => {
  const name = `.agent-webui-restore-${randomBytes(6).toString('hex')}`
  const beside = dirname(home)
  makeDir(beside)
  const stats = statSync(home, { throwIfNoEntry: false })
  const isMount = stats !== undefined && stats.dev !== statSync(beside).dev
  if (!isMount) {
    try {
      for (const old of namesIn(beside).filter(each => LEFTOVER.test(each)))
        rmSync(join(beside, old), { recursive: true, force: true })
      mkdirSync(join(beside, name), { mode: 0o700 })
      return { aside: join(beside, name), isInside: false }
    } catch (error) {
      if (!stats || !['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))) throw error
    }
  }
  mkdirSync(join(home, name), { mode: 0o700 })
  return { aside: join(home, name), isInside: true }
}

/** Into a home that stays: one move for each entry of the new one. */
const movesInto = (moves: readonly Move[], { home, state }: RestoreOptions): Move[] =>
  moves
    .flatMap(move =>
      move.to === home
        ? readdirSync(move.from).map(name => ({
            from: join(move.from, name),
            to: join(home, name),
          }))
        : [move],
    )
    .toSorted((a, b) => Number(isBelow(b.to, state)) - Number(isBelow(a.to, state)))

/**
 * Throws a UserError when a place is not empty, the file is not a whole backup, or the passphrase is wrong. Nothing is left then.
 * A state directory outside of the home must be on the same file system.
 */
export const restoreBackup = async (options: RestoreOptions): Promise<Restored> => {
  const { file, home, state } = options
  const unfinished = unfinishedRestore(state, home)
  if (unfinished) throw conflict(`${unfinished.message}. ${unfinished.advice}`)
  checkEmpty(home)
  checkEmpty(state)
  const { aside, isInside } = placeAside(home)
  try {
    const target = new RestoreTarget(aside)
    const keyInput: { passphrase: string | null; encrypted: Buffer | null } = {
      passphrase: null,
      encrypted: null,
    }
    const archive = await readArchive(file, {
      onHead: async ({ keys }) => {
        if (keys === 'encrypted') keyInput.passphrase = await options.passphrase()
      },
      onEntry: (entry, content) => target.add(entry, content),
      onKeys: encrypted => {
        keyInput.encrypted = encrypted
      },
    })
    const { passphrase, encrypted } = keyInput
    if (encrypted && passphrase !== null) await target.addKeys(encrypted, passphrase)
    target.finish(archive)
    const whole = movesOf(aside, options, archive.head)
    const moves = isInside ? movesInto(whole, options) : whole
    const [first] = moves
    if (first && moves.length > 1 && isBelow(first.to, state)) {
      noteRestore(join(first.from, relative(first.to, state)), home)
      moveAll(moves)
      endRestore(state)
    } else moveAll(moves)
    return { ...archive, hasKeys: encrypted !== null && passphrase !== null }
  } catch (error) {
    if (errorCode(error) === 'EXDEV')
      throw conflict(
        `${state} is on another disk than ${home}. Restore with --to, then move it there.`,
      )
    if (!isDiskFull(error)) throw error
    throw diskFull(`The disk that holds ${home} is full. Nothing was restored.`)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}
