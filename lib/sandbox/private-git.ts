/**
 * A private Git directory for one command: a copy of the few files that Git changes, empty `objects` that borrow from the
 * real ones, and links to the rest, which is read-only. When the command has ended, the service takes over what is on a
 * list: objects, refs, logs, and some files, each under the name and with the kind of content that Git gives it. So neither
 * at that moment nor before can a command put anything into the real directory that makes Git run a program: `config`,
 * `hooks`, `commondir`, and whatever a later Git may know are not on the list.
 *
 * What lists of forbidden names, and writable mounts of `objects`, `refs`, and `logs`, would allow: a HEAD that is none, or
 * `chmod 0 refs`, and Git takes the workspace itself for a bare repository with a `config` of the agent's; a link in `logs`,
 * and the next commit appends to any file of the user; an entry `.git/hooks/…` in the index, which `git checkout .` writes.
 */
import { randomBytes } from 'node:crypto'
import {
  type BigIntStats,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { systemClock } from '../base/clock.ts'
import { signalProcess } from '../base/process.ts'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import type { GitDirectories, Repository } from './git-directories.ts'
import { isForbiddenPath, readIndex } from './git-index.ts'

export type PrivateGit = {
  /** Takes the place of the common directory. */
  dir: string
  /** Takes over what the command changed, and removes the directory. The note says what was not taken over. Never rejects. */
  finish: () => Promise<string | null>
}

const OBJECT =
  /^objects\/(?:[0-9a-f]{2}\/(?:[0-9a-f]{38}|[0-9a-f]{62})|pack\/pack-[0-9a-f]{40,64}\.(?:pack|rev|bitmap|mtimes|keep|promisor|idx))$/
/** Files that Git replaces, in each worktree of its own. */
const OWN_FILE =
  /^(?:HEAD|index|sharedindex\.[0-9a-f]{40,64}|(?:ORIG|FETCH|MERGE|CHERRY_PICK|REVERT)_HEAD|COMMIT_EDITMSG|MERGE_MSG|MERGE_MODE|MERGE_AUTOSTASH|SQUASH_MSG|AUTO_MERGE)$/
/** The same, of all worktrees. */
const SHARED_FILE = /^(?:packed-refs|shallow)$/
/** Git replaces these and never removes them. */
const LASTING = /(?:^|\/)(?:HEAD|index|packed-refs|sharedindex\.\w+)$/
/** Not on the list, because they name programs to run. Git cannot make them here. */
const REFUSED = [
  'rebase-merge',
  'rebase-apply',
  'BISECT_LOG',
  'BISECT_START',
  'worktrees',
  'modules',
  'info',
  'lfs',
]
/** A symbolic ref or an object id. With anything else in HEAD, the directory is no Git directory for Git. */
const REF = /^(?:ref: refs\/\S+|[0-9a-f]{40}|[0-9a-f]{64})\n?$/
/** What Git looks at to find out whether a directory is one of its own. */
const STARTS_AS_REF = /^(?:ref:\s*refs\/|[0-9a-f]{40})/
/** A component of the name of a ref; see git-check-ref-format. */
const REF_NAME = /^(?!\.)(?!.*\.lock$)(?!.*(?:\.\.|@\{))[^\0-\x20\x7f~^:?*[\\]+$/

const MAX_BYTES = 1024 * 1024 * 1024
const MAX_TEXT_BYTES = 16 * 1024 * 1024
const MAX_DEPTH = 30
const OBJECTS_PER_SLICE = 256

const isDirectory = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Which file it is and whether it has changed. */
type Stamp = { file: bigint; size: number; text: string }
const stampOf = ({ ino, size, mtimeNs }: BigIntStats): Stamp => ({
  file: ino,
  size: Number(size),
  text: `${ino} ${size} ${mtimeNs}`,
})

/** Null: no plain file. */
const stampAt = (path: string): Stamp | null => {
  const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return stat?.isFile() ? stampOf(stat) : null
}

type Found = { name: string; path: string }

/**
 * The plain files below a directory; each path is valid until the next one. A process that is still ending could put a link
 * in place of a directory, so directories are opened, and paths start at the opened one.
 */
function* filesIn(dir: string, below = '', depth = 0): Generator<Found> {
  let descriptor: number
  try {
    descriptor = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch {
    // It is not there any more, or a link.
    return
  }
  try {
    const here = process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : dir
    for (const entry of readdirSync(here, { withFileTypes: true })) {
      const found = { name: below + entry.name, path: `${here}/${entry.name}` }
      if (entry.isFile()) yield found
      else if (entry.isDirectory() && depth < MAX_DEPTH)
        yield* filesIn(found.path, `${found.name}/`, depth + 1)
    }
  } finally {
    closeSync(descriptor)
  }
}

type Content = { bytes: Buffer; stamp: Stamp; mtimeMs: number }

/** Null: no plain file, or one that is too large. */
const contentOf = (path: string, maxBytes = MAX_BYTES): Content | null => {
  let descriptor: number
  try {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    descriptor = openSync(path, flags)
  } catch {
    // It is not there any more, or a link.
    return null
  }
  try {
    const stat = fstatSync(descriptor, { bigint: true })
    if (!stat.isFile() || stat.size > maxBytes) return null
    const bytes = Buffer.alloc(Number(stat.size))
    const length = readSync(descriptor, bytes)
    return {
      bytes: bytes.subarray(0, length),
      stamp: stampOf(stat),
      mtimeMs: Number(stat.mtimeMs),
    }
  } finally {
    closeSync(descriptor)
  }
}

const CONFLICT = 'another program changed it at the same time'
const LOCK_TRIES = 20
const LOCK_WAIT_MS = 50

/** Under the lock of Git, so that no change of another Git is lost. Returns why nothing was changed; null: it was. */
const underLock = async (
  path: string,
  known: Stamp | undefined,
  change: (lock: string, descriptor: number) => void,
): Promise<string | null> => {
  const lock = `${path}.lock`
  for (let tried = 1; ; tried++) {
    let descriptor: number
    try {
      descriptor = openSync(lock, 'wx', 0o666)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
      if (tried === LOCK_TRIES) return CONFLICT
      await setTimeout(LOCK_WAIT_MS)
      continue
    }
    try {
      if (stampAt(path)?.text !== known?.text) return CONFLICT
      change(lock, descriptor)
      return null
    } finally {
      closeSync(descriptor)
      rmSync(lock, { force: true })
    }
  }
}

const removeIfEmpty = (dir: string): void => {
  try {
    rmdirSync(dir)
  } catch {
    // It contains something.
  }
}

/** With the empty directories in it. */
const removeEmpty = (dir: string): void => {
  if (!isDirectory(dir)) return
  for (const name of readdirSync(dir)) removeEmpty(join(dir, name))
  removeIfEmpty(dir)
}

/** Makes the directories between `root` and a file. False: one of them is something else, such as a link. */
const makeParents = (root: string, name: string): boolean => {
  const parts = name.split('/')
  return parts.slice(1).every((_, at) => {
    const dir = join(root, ...parts.slice(0, at + 1))
    const stat = lstatSync(dir, { throwIfNoEntry: false })
    if (!stat) mkdirSync(dir)
    return !stat || stat.isDirectory()
  })
}

const moveFile = (from: string, to: string): void => {
  try {
    renameSync(from, to)
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error
    // Under another name first: Git must never see a part of it.
    const part = join(dirname(to), `tmp_obj_${randomBytes(6).toString('hex')}`)
    copyFileSync(from, part, constants.COPYFILE_EXCL)
    renameSync(part, to)
  }
  // A process that is still ending could have put a link there.
  if (!lstatSync(to).isFile()) unlinkSync(to)
}

/** What exists stays as it is. */
const takeObjects = async (own: string, real: string): Promise<void> => {
  let count = 0
  // Git finds a pack by its index, so that comes last.
  for (const isIndex of [false, true])
    for (const { name, path } of filesIn(own)) {
      if (!OBJECT.test(name) || name.endsWith('.idx') !== isIndex) continue
      const to = join(real, name)
      if (makeParents(real, name) && !lstatSync(to, { throwIfNoEntry: false })) moveFile(path, to)
      if (++count % OBJECTS_PER_SLICE === 0) await setImmediate()
    }
}

const hashBytesOf = (common: string): number => {
  const config = contentOf(join(common, 'config'), MAX_TEXT_BYTES)
  return config && /objectformat\s*=\s*sha256/i.test(config.bytes.toString()) ? 32 : 20
}

const ownDirOf = ({ common, worktree }: Repository): string =>
  worktree === null ? common : join(common, 'worktrees', worktree)

/** Paths of repositories in the index: submodules. Git runs in each of them, even for `git status`. */
export const repositoriesInIndex = (repository: Repository): string[] => {
  const bytes = contentOf(join(ownDirOf(repository), 'index'))?.bytes
  // Their mode: most indexes have none, and need not be read.
  if (!bytes?.includes(Buffer.from([0, 0, 0xe0, 0]))) return []
  const entries = readIndex(bytes, hashBytesOf(repository.common)) ?? []
  return entries.filter(({ isRepository }) => isRepository).map(({ path }) => path)
}

/** What a file of the Git directory is, by its name there; null: not on the list. */
const kindOf = (name: string, { worktree }: Repository): 'log' | 'ref' | 'file' | null => {
  const prefix = worktree === null ? '' : `worktrees/${worktree}/`
  const own = name.startsWith(prefix) ? name.slice(prefix.length) : ''
  const [top, ...parts] = (own === '' ? name : own).split('/')
  if ((top === 'refs' || top === 'logs') && parts.length > 0)
    return !parts.every(part => REF_NAME.test(part)) ? null : top === 'refs' ? 'ref' : 'log'
  return SHARED_FILE.test(name) || OWN_FILE.test(own) ? 'file' : null
}

/** Null: the content is such as Git gives a file of this name. */
const objectionTo = (
  name: string,
  { bytes }: Content,
  given: { hashBytes: number; repositories: readonly string[] },
): string | null => {
  if (/(?:^|\/)(?:HEAD$|refs\/)/.test(name) && !name.includes('logs/'))
    return REF.test(bytes.toString('latin1', 0, 4_096)) ? null : 'it is no ref'
  if (!/(?:^|\/)(?:shared)?index[^/]*$/.test(name)) return null
  const entries = readIndex(bytes, given.hashBytes)
  if (entries === null) return 'Git could not read it'
  const forbidden = entries.find(({ path }) => isForbiddenPath(path))
  if (forbidden) return `it contains ${forbidden.path}`
  const added = entries.find(
    ({ path, isRepository }) => isRepository && !given.repositories.includes(path),
  )
  return added ? `it contains ${added.path}, which is a repository of its own` : null
}

/** The stamps of a file when it was copied. */
type Known = ReadonlyMap<string, { real: Stamp; own: Stamp }>

/** Changes the real directory as the command changed its copy. Returns what was not taken over, and why. */
const takeOver = async (repository: Repository, own: string, known: Known): Promise<string[]> => {
  const { common: real } = repository
  const present = new Set<string>()
  const changed: { name: string; content: Content | null }[] = []
  for (const { name, path } of filesIn(own)) {
    if (kindOf(name, repository) === null) continue
    present.add(name)
    if (stampAt(path)?.text !== known.get(name)?.own.text)
      changed.push({
        name,
        content: contentOf(path, LASTING.test(name) ? MAX_BYTES : MAX_TEXT_BYTES),
      })
  }
  const given = {
    hashBytes: hashBytesOf(real),
    repositories: repositoriesInIndex(repository),
  }
  const take = async (name: string, content: Content | null): Promise<string | null> => {
    if (content === null) return 'it is no plain file'
    const objection = objectionTo(name, content, given)
    if (objection !== null) return objection
    if (!makeParents(real, name)) return 'there is a link on the way'
    const path = join(real, name)
    const before = known.get(name)
    // Git adds to logs. What others have added meanwhile stays.
    if (before?.own.file === content.stamp.file && kindOf(name, repository) === 'log') {
      writeFileSync(path, content.bytes.subarray(before.own.size), { flag: 'a' })
      return null
    }
    removeEmpty(path)
    return underLock(path, before?.real, (lock, descriptor) => {
      writeFileSync(descriptor, content.bytes)
      setTime(time => futimesSync(descriptor, time, time), content.mtimeMs)
      renameSync(lock, path)
    })
  }
  const drop = async (name: string): Promise<string | null> => {
    const path = join(real, name)
    const why = await underLock(path, known.get(name)?.real, () => unlinkSync(path))
    const parts = name.split('/')
    if (parts.length > 3) removeEmpty(join(real, ...parts.slice(0, 3)))
    return why
  }
  const removed = [...known.keys()].filter(name => !present.has(name) && !LASTING.test(name))
  // Each thing before what refers to it. A ref that was packed is in both places for a moment.
  const orderOf = (name: string): number =>
    SHARED_FILE.test(name)
      ? 0
      : kindOf(name, repository) !== 'file'
        ? 2
        : name.endsWith('HEAD') && LASTING.test(name)
          ? 5
          : name.endsWith('index')
            ? 4
            : 3
  const steps = [
    ...changed.map(({ name, content }) => ({
      name,
      order: orderOf(name),
      run: () => take(name, content),
    })),
    ...removed.map(name => ({ name, order: 1, run: () => drop(name) })),
  ]
  const refused: string[] = []
  for (const { name, run } of steps.toSorted((a, b) => a.order - b.order)) {
    const why = await run()
    if (why !== null) refused.push(`${name} (${why})`)
  }
  return refused
}

/** Git compares the time of the index with those of files. An earlier one only makes it read more of them. */
const setTime = (set: (seconds: number) => void, mtimeMs: number): void =>
  set(Math.floor(mtimeMs) / 1_000)

/** Copies what is on the list, and links to the rest, as commands see it at `shown`. */
const fill = (repository: Repository, own: string, shown: string): Known => {
  const { common: real, worktree } = repository
  const known = new Map<string, { real: Stamp; own: Stamp }>()
  const copy = (name: string): void => {
    const [from, to] = [join(real, name), join(own, name)]
    const before = lstatSync(from, { throwIfNoEntry: false, bigint: true })
    // Another Git may have removed it.
    if (!before?.isFile()) return
    copyFileSync(from, to, constants.COPYFILE_FICLONE)
    setTime(time => utimesSync(to, time, time), Number(before.mtimeMs))
    const stamp = stampAt(to)
    if (stamp) known.set(name, { real: stampOf(before), own: stamp })
  }
  const fillDirectory = (below: string, more: readonly string[]): void => {
    mkdirSync(join(own, below), { mode: 0o700 })
    for (const each of new Set([...readdirSync(join(real, below)), ...more])) {
      const name = below + each
      const isTree = (each === 'refs' || each === 'logs') && isDirectory(join(real, name))
      if (each.endsWith('.lock') || each.startsWith(PREFIX) || name === 'objects') continue
      if (isTree) {
        mkdirSync(join(own, name))
        for (const file of filesIn(join(real, name), `${name}/`)) {
          if (kindOf(file.name, repository) === null) continue
          makeParents(own, file.name)
          copy(file.name)
        }
      } else if (kindOf(name, repository) !== null) copy(name)
      else if (worktree !== null && name === 'worktrees') fillDirectory(`${name}/`, [])
      else if (worktree !== null && name === `worktrees/${worktree}`)
        fillDirectory(`${name}/`, REFUSED)
      else symlinkSync(join(shown, name), join(own, name))
    }
  }
  fillDirectory('', REFUSED)
  mkdirSync(join(own, 'objects', 'info'), { recursive: true })
  mkdirSync(join(own, 'objects', 'pack'))
  writeFileSync(join(own, 'objects', 'info', 'alternates'), `${join(shown, 'objects')}\n`)
  return known
}

const PREFIX = 'agent-webui-'
const OLD_MS = 3_600_000

/** What a killed process has left. Another computer may use the same directory, so a recent one stays. */
const removeOld = (parent: string): void => {
  if (!isDirectory(parent)) return
  for (const name of readdirSync(parent)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid === undefined || signalProcess(Number(pid), 0)) continue
    const path = join(parent, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat && systemClock.now() - stat.mtimeMs > OLD_MS)
      rmSync(path, { recursive: true, force: true })
  }
}

const nameIn = (parent: string): string =>
  join(parent, `${PREFIX}${process.pid}-${randomBytes(6).toString('hex')}`)

const noteOf = (refused: readonly string[]): string | null =>
  refused.length === 0
    ? null
    : `The sandbox did not keep these changes in the Git directory: ${refused.join(', ')}. Check git status.`

const finishing =
  (dir: string, work: () => Promise<string[]>) => async (): Promise<string | null> => {
    try {
      return noteOf(await work())
    } catch (error) {
      return `The sandbox could not keep all changes in the Git directory: ${messageOf(error)}. Check git status.`
    } finally {
      await rm(dir, { recursive: true, force: true }).catch(() => undefined)
    }
  }

/** What Git has made although it is not on the list. */
const leftOver = (dir: string): string[] =>
  ['config', 'hooks', 'sequencer', ...REFUSED].flatMap(name => {
    const stat = lstatSync(join(dir, name), { throwIfNoEntry: false })
    return stat && !stat.isSymbolicLink() ? [`${name} (nothing in the sandbox may change it)`] : []
  })

/**
 * `shown`: the path under which commands see the real common directory, read-only. `parent`: where the private one is made;
 * in the real one by default, because nothing has to be copied there.
 */
export const createPrivateGit = (
  repository: Repository,
  { shown, parent = repository.common }: { shown: string; parent?: string },
): PrivateGit => {
  removeOld(parent)
  const dir = nameIn(parent)
  const known = fill(repository, dir, shown)
  return {
    dir,
    finish: finishing(dir, async () => {
      await takeObjects(dir, repository.common)
      return [...(await takeOver(repository, dir, known)), ...leftOver(dir)]
    }),
  }
}

/** With which Git uses the private directory where that cannot have the name of the real one. */
export const variablesFor = (
  { root, repository }: GitDirectories,
  dir: string,
): Record<string, string> => {
  const worktree = repository?.worktree ?? null
  return {
    GIT_DIR: worktree === null ? dir : join(dir, 'worktrees', worktree),
    GIT_WORK_TREE: root,
  }
}

/** A new repository does what `git init` alone would have written. */
const FIRST_CONFIG =
  '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n'

/**
 * Git takes a directory with a HEAD for a repository, and runs what its `config` says: a command could make the workspace
 * itself one.
 */
const renameHead = (workspace: string): string[] => {
  const path = join(workspace, 'HEAD')
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const text = contentOf(path, 4_096)?.bytes.toString() ?? ''
  if (!stat || (!stat.isSymbolicLink() && !STARTS_AS_REF.test(text))) return []
  renameSync(path, `${path}.renamed`)
  return ['HEAD (with it, the folder would be a Git directory; it is HEAD.renamed now)']
}

/**
 * In place of a `.git` that does not exist: otherwise a command could make one whose configuration runs a program at the
 * user's next `git status`, or which hides the repository that contains the workspace. Where the command has made a
 * repository, the service makes one with what is on the list.
 */
export const createFirstGit = (path: string, parent: string): PrivateGit => {
  // Its own name there keeps the directory, which is a mount point, until the last command that uses it has ended.
  const [dir, use] = [nameIn(parent), nameIn(path)]
  mkdirSync(use, { recursive: true })
  mkdirSync(dir, { mode: 0o700 })
  const repository = { common: path, worktree: null }
  const finish = finishing(dir, async () => {
    const renamed = renameHead(dirname(path))
    if (!lstatSync(join(dir, 'HEAD'), { throwIfNoEntry: false })) return renamed
    const others = isDirectory(path)
      ? readdirSync(path).filter(name => !name.startsWith(PREFIX))
      : ['.git']
    if (others.length > 0) return [...renamed, `.git (${CONFLICT})`]
    for (const name of ['objects', 'refs']) mkdirSync(join(path, name))
    writeFileSync(join(path, 'config'), FIRST_CONFIG, { flag: 'wx' })
    await takeObjects(dir, path)
    const config = contentOf(join(dir, 'config'), MAX_TEXT_BYTES)?.bytes.toString() ?? ''
    return [
      ...renamed,
      ...(await takeOver(repository, dir, new Map())),
      ...(/^\s*\[(?!core\])/m.test(config) ? ['config (a new repository has its defaults)'] : []),
    ]
  })
  return {
    dir,
    async finish() {
      const note = await finish()
      removeIfEmpty(use)
      removeOld(path)
      removeIfEmpty(path)
      return note
    },
  }
}
