/** Unpacks native files of the single-file build into a private directory: the SQLite addon, and checks that it loads; the executable's ripgrep. */
import { createHash, randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf, SetupError } from '../errors.ts'
import type { PackedFile } from './packed.ts'

const PIECE_BYTES = 128 * 1024

/** Directories to try, best first; each is created when missing. */
export const addonCandidates = (places: {
  stateDir: string
  cacheHome: string | undefined
  userHome: string
}): (() => string)[] => [
  () => join(places.stateDir, 'cache'),
  () => join(places.cacheHome || join(places.userHome, '.cache'), 'agent-webui'),
  () => mkdtempSync(join(tmpdir(), 'agent-webui-')),
]

/** Throws when the file has no addon for this platform. */
const pickAddon = (sources: Readonly<Record<string, PackedFile>>): PackedFile => {
  const here = thisTarget()
  const source = sources[here]
  if (source) return source
  const targets = Object.keys(sources)
  throw new Error(
    targets.length === 1
      ? `This file was built for ${targets[0]} and cannot run on ${here}. Build it with --target=${here}.`
      : `agent-webui does not run on ${here}, only on ${targets.join(', ')}. On Windows, use WSL2.`,
  )
}

/**
 * Returns the path of this platform's addon after loading it once; `sources` are by target. Skips directories that other
 * users can write to: their code would run as us. When all directories fail, throws one Error that names each with its reason.
 */
export const installAddon = (
  sources: Readonly<Record<string, PackedFile>>,
  candidates: readonly (() => string)[],
  load: (path: string) => void = dlopen,
): string => {
  const source = pickAddon(sources)
  const reasons: string[] = []
  for (const candidate of candidates) {
    let directory = ''
    try {
      directory = candidate()
      const path = install(source, directory, `sqlite-${source.sha256.slice(0, 16)}.node`)
      load(path)
      return path
    } catch (error) {
      // Try the next directory: this one may be full, read-only, owned by another user or mounted noexec.
      reasons.push(`${directory || 'the temporary directory'}: ${messageOf(error)}`)
    }
  }
  const isNoexec = reasons.some(reason =>
    /failed to map segment|Operation not permitted/.test(reason),
  )
  throw new SetupError(
    `SQLite's native addon cannot be loaded from any directory – ${reasons.join('; ')}${isNoexec ? '. File systems that are mounted with noexec run no programs: set XDG_CACHE_HOME or TMPDIR to a directory on one without it' : ''}`,
  )
}

/** The path of the program; undefined when it can be written to and run from none of the directories. */
export const installProgram = (
  source: PackedFile,
  name: string,
  candidates: readonly (() => string)[],
): string | undefined => {
  for (const candidate of candidates) {
    try {
      const path = install(source, candidate(), `${name}-${source.sha256.slice(0, 16)}`, 0o700)
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Full, read-only, of another user, or mounted noexec: the next one.
    }
  }
  return undefined
}

const install = (source: PackedFile, directory: string, name: string, mode = 0o600): string => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  checkPrivate(directory)
  const path = join(directory, name)
  if (isIntact(path, source.sha256)) return path
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    writeFileSync(temporary, source.read(), { flag: 'wx', mode })
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  if (!isIntact(path, source.sha256)) throw new Error('what was written does not read back')
  return path
}

const checkPrivate = (directory: string): void => {
  const info = lstatSync(directory)
  if (!info.isDirectory()) throw new Error('not a directory')
  // Windows has no owner ids or permission bits; profile directories are private by inheritance.
  if (!process.getuid) return
  if (info.uid !== process.getuid()) throw new Error('belongs to another user')
  if (info.mode & 0o022) throw new Error('others may write to it')
}

/** In pieces: a buffer of the file's size would take four times as long, because its memory is new. */
const hashOf = (path: string): string => {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  const fd = openSync(path, 'r')
  try {
    for (;;) {
      const count = readSync(fd, piece)
      if (count === 0) return hash.digest('hex')
      hash.update(piece.subarray(0, count))
    }
  } finally {
    closeSync(fd)
  }
}

const isIntact = (path: string, sha256: string): boolean => {
  try {
    return lstatSync(path).isFile() && hashOf(path) === sha256
  } catch {
    // Missing or unreadable: writing it again reports the reason.
    return false
  }
}

const dlopen = (path: string): void => process.dlopen({ exports: {} }, path)

/** This platform as named in the addon's file names: `linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, … */
export const thisTarget = (): string =>
  `${process.platform}${process.platform === 'linux' && isMusl() ? 'musl' : ''}-${process.arch}`

const isMusl = (): boolean => {
  try {
    return /\/ld-musl-[^/\s]*\.so/.test(readFileSync('/proc/self/maps', 'latin1'))
  } catch {
    // Without /proc the loader is unknown; assume glibc, the most common one.
    return false
  }
}
