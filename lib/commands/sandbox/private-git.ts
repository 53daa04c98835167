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
import { systemClock } from '../../base/clock.ts'
import { signalProcess } from '../../base/process.ts'
import { messageOf } from '../../errors.ts'
import { errorCode } from '../../store/file-error.ts'
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

type FileBelow = { name: string; path: string }

/**
 * The plain files below a directory; each path is valid until the next one. A process that is still ending could put a link
 * in place of a directory, so directories are opened, and paths start at the opened one.
 */
function* filesIn(dir: string, below = '', depth = 0): Generator<FileBelow> {
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
      const file = { name: below + entry.name, path: `${here}/${entry.name}` }
      if (entry.isFile()) yield file
      else if (entry.isDirectory() && depth < MAX_DEPTH)
        yield* filesIn(file.path, `${file.name}/`, depth + 1)
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
const HELD = 'it stays, because not all refs were taken over'
const LOCK_TRIES = 20
const LOCK_WAIT_MS = 50

/** Under the lock of Git, so that no change of another Git is lost. Returns why nothing was changed; null: it was. */
const underLock = async (
  path: string,
  isUnchanged: () => boolean,
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
      if (!isUnchanged()) return CONFLICT
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

/** Removes a directory if it contains nothing but empty directories. */
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
  index: { hashBytes: number; repositories: readonly string[] },
): string | null => {
  if (/(?:^|\/)(?:HEAD$|refs\/)/.test(name) && !name.includes('logs/'))
    return REF.test(bytes.toString('latin1', 0, 4_096)) ? null : 'it is no ref'
  if (!/(?:^|\/)(?:shared)?index[^/]*$/.test(name)) return null
  const entries = readIndex(bytes, index.hashBytes)
  if (entries === null) return 'Git could not read it'
  const forbidden = entries.find(({ path }) => isForbiddenPath(path))
  if (forbidden) return `it contains ${forbidden.path}`
  const added = entries.find(
    ({ path, isRepository }) => isRepository && !index.repositories.includes(path),
  )
  return added ? `it contains ${added.path}, which is a repository of its own` : null
}

const refValueOf = (content: Content | null): string | undefined => content?.bytes.toString().trim()

/** The names of refs and their object ids. */
const packedIn = (packed: Content | null): ReadonlyMap<string, string> => {
  const lines = packed?.bytes.toString().matchAll(/^([0-9a-f]{40,64}) (refs\/.+)$/gm) ?? []
  return new Map([...lines].map(([, id = '', name = '']) => [name, id]))
}

const directoriesOf = (name: string): string[] => {
  const parts = name.split('/')
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'))
}

type CopiedState = {
  /** The stamps of a file when it was copied. */
  files: ReadonlyMap<string, { real: Stamp; own: Stamp }>
  /** What each ref was that had a file of its own. */
  loose: ReadonlyMap<string, string>
  packed: Content | null
}

/**
 * What each ref was, is for the command, and is for everybody else. A ref is in a file of its own or in packed-refs, and each
 * Git may move it at any time, so that only its value says whether it was changed or deleted.
 */
const compareRefs = (
  real: string,
  copy: { state: CopiedState; loose: ReadonlyMap<string, string>; packed: Content | null },
) => {
  const [packedBefore, packedInside] = [packedIn(copy.state.packed), packedIn(copy.packed)]
  const path = join(real, 'packed-refs')
  let cache: { stamp: string | undefined; refs: ReadonlyMap<string, string> } | null = null
  const packedNow = (): ReadonlyMap<string, string> => {
    const stamp = stampAt(path)?.text
    if (cache?.stamp !== stamp || cache === null) cache = { stamp, refs: packedIn(contentOf(path)) }
    return cache.refs
  }
  const before = (name: string) => copy.state.loose.get(name) ?? packedBefore.get(name)
  const inside = (name: string) => copy.loose.get(name) ?? packedInside.get(name)
  const looseNow = (name: string) => refValueOf(contentOf(join(real, name), MAX_TEXT_BYTES))
  const now = (name: string) => looseNow(name) ?? packedNow().get(name)
  return {
    before,
    inside,
    now,
    looseNow,
    packedNow,
    set: () =>
      [...new Set([...copy.loose.keys(), ...packedInside.keys()])].filter(
        name => inside(name) !== before(name),
      ),
    /** No longer in packed-refs, nor in a file. */
    deletedFromPacked: [...packedBefore.keys()].filter(name => inside(name) === undefined),
    /** What the packed-refs of the command says about a ref would not undo what others did to that ref. */
    mayReplacePacked: () =>
      [...packedInside].every(
        ([name, id]) =>
          id === packedBefore.get(name) || [before(name), inside(name)].includes(now(name)),
      ),
  }
}

const NOTHING: CopiedState = { files: new Map(), loose: new Map(), packed: null }

/** When each change is made: each thing before what refers to it, and nothing is deleted before all that replaces it. */
const ORDER = { packed: 0, remove: 1, removeLog: 2, add: 3, file: 4, index: 5, head: 6 }
const ORDER_LAST = { packed: 7, remove: 8, removeLog: 9 }

/** Changes the real directory as the command changed its copy. Returns what was not taken over, and why. */
const takeOver = async (
  repository: Repository,
  own: string,
  state: CopiedState,
): Promise<string[]> => {
  const { common: real, worktree } = repository
  const head = worktree === null ? 'HEAD' : `worktrees/${worktree}/HEAD`
  const present = new Set<string>()
  const loose = new Map<string, string>()
  const changed = new Map<string, Content | null>()
  for (const { name, path } of filesIn(own)) {
    const kind = kindOf(name, repository)
    if (kind === null) continue
    present.add(name)
    if (stampAt(path)?.text !== state.files.get(name)?.own.text)
      changed.set(name, contentOf(path, LASTING.test(name) ? MAX_BYTES : MAX_TEXT_BYTES))
    if (kind === 'ref')
      loose.set(
        name,
        (changed.has(name) ? refValueOf(changed.get(name) ?? null) : state.loose.get(name)) ?? '',
      )
  }
  const refs = compareRefs(real, {
    state,
    loose,
    packed: changed.get('packed-refs') ?? state.packed,
  })
  const index = {
    hashBytes: hashBytesOf(real),
    repositories: repositoriesInIndex(repository),
  }
  const isSame = (name: string): boolean =>
    stampAt(join(real, name))?.text === state.files.get(name)?.real.text
  /** Another program has made it the current branch since. */
  const isInUse = (name: string): boolean =>
    !isSame(head) &&
    refs.now(head) === `ref: ${name}` &&
    refValueOf(contentOf(join(own, head), MAX_TEXT_BYTES)) !== `ref: ${name}`
  let isHeld = false

  const take = async (
    name: string,
    content: Content | null,
    isUnchanged = () => isSame(name),
  ): Promise<string | null> => {
    if (content === null) return 'it is no plain file'
    const objection = objectionTo(name, content, index)
    if (objection !== null) return objection
    if (!makeParents(real, name)) return 'there is a link on the way'
    const path = join(real, name)
    const before = state.files.get(name)
    // Git adds to logs. What others have added meanwhile stays.
    if (before?.own.file === content.stamp.file && kindOf(name, repository) === 'log') {
      writeFileSync(path, content.bytes.subarray(before.own.size), { flag: 'a' })
      return null
    }
    removeEmpty(path)
    return underLock(path, isUnchanged, (lock, descriptor) => {
      writeFileSync(descriptor, content.bytes)
      setTime(time => futimesSync(descriptor, time, time), content.mtimeMs)
      renameSync(lock, path)
    })
  }
  const takePacked = async (content: Content | null): Promise<string | null> => {
    if (refs.deletedFromPacked.length > 0 && isHeld) return HELD
    return take(
      'packed-refs',
      content,
      () =>
        isSame('packed-refs') && refs.mayReplacePacked() && !refs.deletedFromPacked.some(isInUse),
    )
  }
  const takeRef = async (name: string): Promise<string | null> => {
    const value = refs.inside(name)
    if (refs.now(name) === value) return null
    const packed = loose.has(name) ? undefined : (changed.get('packed-refs') ?? undefined)
    const content = packed ? { ...packed, bytes: Buffer.from(`${value}\n`) } : changed.get(name)
    return take(name, content ?? null, () => refs.now(name) === refs.before(name))
  }
  const takeHead = async (content: Content | null): Promise<string | null> => {
    const branch = refValueOf(content)?.replace(/^ref: /, '') ?? ''
    if (refs.inside(branch) !== undefined && refs.now(branch) === undefined)
      return 'its branch was not taken over'
    return take(head, content)
  }

  const unlink = async (name: string, isUnchanged: () => boolean): Promise<string | null> => {
    const path = join(real, name)
    const why = await underLock(path, isUnchanged, () => unlinkSync(path))
    const parts = name.split('/')
    if (parts.length > 3) removeEmpty(join(real, ...parts.slice(0, 3)))
    return why
  }
  const dropRef = async (name: string): Promise<string | null> => {
    const value = refs.inside(name)
    if (value !== undefined) {
      // The command has packed it. Its file goes only if the real packed-refs has it.
      const isPacked = () => refs.looseNow(name) === value && refs.packedNow().get(name) === value
      if (isPacked()) await unlink(name, isPacked)
      return null
    }
    if (refs.now(name) === undefined) return null
    if (isHeld) return HELD
    if (isInUse(name)) return CONFLICT
    // With an entry in packed-refs, it would only go back to an earlier value.
    return unlink(
      name,
      () => refs.looseNow(name) === refs.before(name) && !refs.packedNow().has(name),
    )
  }

  const set = refs.set().filter(name => kindOf(name, repository) === 'ref')
  const logs = [...changed.keys()].filter(name => kindOf(name, repository) === 'log')
  const added = new Set([...set, ...logs])
  const directories = new Set([...added].flatMap(directoriesOf))
  /** `a` cannot exist beside `a/b`. */
  const isInTheWay = (name: string): boolean =>
    directories.has(name) || directoriesOf(name).some(each => added.has(each))
  type Step = { name: string; order: number; run: () => Promise<string | null> }
  const steps: Step[] = [
    ...set.map(name => ({ name, order: ORDER.add, run: () => takeRef(name) })),
    ...logs.map(name => ({
      name,
      order: ORDER.add,
      run: () => take(name, changed.get(name) ?? null),
    })),
  ]
  for (const [name, content] of changed)
    if (name === 'packed-refs') {
      const { packed: order } = refs.deletedFromPacked.length > 0 ? ORDER_LAST : ORDER
      steps.push({ name, order, run: () => takePacked(content) })
    } else if (name === head) steps.push({ name, order: ORDER.head, run: () => takeHead(content) })
    else if (kindOf(name, repository) === 'file') {
      const order = SHARED_FILE.test(name)
        ? ORDER.packed
        : name.endsWith('index')
          ? ORDER.index
          : ORDER.file
      steps.push({ name, order, run: () => take(name, content) })
    }
  for (const name of state.files.keys()) {
    if (present.has(name) || LASTING.test(name)) continue
    const kind = kindOf(name, repository)
    const first = isInTheWay(name)
    const { remove, removeLog } = first ? ORDER : ORDER_LAST
    if (kind === 'ref') steps.push({ name, order: remove, run: () => dropRef(name) })
    else if (kind === 'file')
      steps.push({ name, order: ORDER.remove, run: () => unlink(name, () => isSame(name)) })
    else {
      const ref = name.replace(/(^|\/)logs\//, '$1')
      steps.push({
        name,
        order: removeLog,
        // The log of a ref that stays, stays.
        run: async () =>
          first || refs.now(ref) === undefined ? unlink(name, () => isSame(name)) : null,
      })
    }
  }
  const refused: string[] = []
  for (const { name, order, run } of steps.toSorted((a, b) => a.order - b.order)) {
    const why = await run()
    if (why === null) continue
    refused.push(`${name} (${why})`)
    const isOfRefs = name === head || name === 'packed-refs' || kindOf(name, repository) === 'ref'
    if (isOfRefs && order <= ORDER_LAST.packed) isHeld = true
  }
  return refused
}

/** Git compares the time of the index with those of files. An earlier one only makes it read more of them. */
const setTime = (set: (seconds: number) => void, mtimeMs: number): void =>
  set(Math.floor(mtimeMs) / 1_000)

/** Copies what is on the list, and links to the rest, as commands see it at `visibleAt`. */
const fill = (repository: Repository, own: string, visibleAt: string): CopiedState => {
  const { common: real, worktree } = repository
  const files = new Map<string, { real: Stamp; own: Stamp }>()
  const loose = new Map<string, string>()
  const copy = (name: string): void => {
    const [from, to] = [join(real, name), join(own, name)]
    const before = lstatSync(from, { throwIfNoEntry: false, bigint: true })
    // Another Git may have removed it.
    if (!before?.isFile()) return
    copyFileSync(from, to, constants.COPYFILE_FICLONE)
    setTime(time => utimesSync(to, time, time), Number(before.mtimeMs))
    const stamp = stampAt(to)
    if (stamp) files.set(name, { real: stampOf(before), own: stamp })
    if (kindOf(name, repository) === 'ref')
      loose.set(name, refValueOf(contentOf(to, MAX_TEXT_BYTES)) ?? '')
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
      else symlinkSync(join(visibleAt, name), join(own, name))
    }
  }
  fillDirectory('', REFUSED)
  mkdirSync(join(own, 'objects', 'info'), { recursive: true })
  mkdirSync(join(own, 'objects', 'pack'))
  writeFileSync(join(own, 'objects', 'info', 'alternates'), `${join(visibleAt, 'objects')}\n`)
  return { files, loose, packed: contentOf(join(own, 'packed-refs')) }
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
 * `visibleAt`: the path under which commands see the real common directory, read-only. `parent`: where the private one is made;
 * in the real one by default, because nothing has to be copied there.
 */
export const privateGitFor = (
  repository: Repository,
  { visibleAt, parent = repository.common }: { visibleAt: string; parent?: string },
): PrivateGit => {
  removeOld(parent)
  const dir = nameIn(parent)
  const state = fill(repository, dir, visibleAt)
  return {
    dir,
    finish: finishing(dir, async () => {
      await takeObjects(dir, repository.common)
      return [...(await takeOver(repository, dir, state)), ...leftOver(dir)]
    }),
  }
}

/** The variables by which Git uses the private directory where that cannot have the name of the real one. */
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
export const firstGitIn = (path: string, parent: string): PrivateGit => {
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
      ...(await takeOver(repository, dir, NOTHING)),
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
