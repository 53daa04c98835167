/**
 * The files of this installation that a cluster keeps a copy of: the state directory and the homes, without what belongs to the
 * machine. Of a cell of a worker also the rest of its directory, which is `HOME` of its commands: workspaces, uploads, dotfiles.
 */
import { existsSync, lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { type BackupPlace, treatmentOf } from '../operations/backups/treatment.ts'
import { NOT_COPIED } from './not-copied.ts'
import { type CellFiles, FOLDER, FOLDER_MODE } from './cluster.ts'
import type { Config } from '../config.ts'
import { findAgentDir } from '../operations/host-agent-checkout.ts'
import { errorCode } from '../store/file-error.ts'
import { isBelow, realPath } from '../store/path-within.ts'
import { isKnownWorkspace } from '../workspaces/known-workspace.ts'
import { TrackedFolders } from './tracked-folders.ts'

/** Of the state directory: running turns, trash of workspaces, and what a takeover set aside. */
const MACHINE_STATE = /^(?:live|file-trash|conflicts|audit\.1\.jsonl)(?:\/|$)/
/** Of a home: programs, and what other programs keep. */
const MACHINE_HOME =
  /^(?:bin|profiles|checkpoints|sessions|logs|sandboxes|backups|state-snapshots|home|webui)(?:\/|$)/
/** Checkpoints move with the workspaces that they are of. */
const CHECKPOINTS = /^checkpoints(?:\/|$)/
const CHECKPOINTS_KEY = /^(?:home|profiles\/[^/]+)\/checkpoints\//
/** Of `HOME`: what package managers fetch again. */
const HOME_CACHES =
  /^(?:\.cache|\.npm|\.cargo\/(?:registry|git)|\.rustup|\.gradle|\.m2|\.nuget|\.bun|\.pnpm-store)(?:\/|$)/
/**
 * Folders of the work that programs make again, unless a repository has files of them. Those with a CACHEDIR.TAG
 * (bford.info/cachedir) are left out as well, unless someone works in them.
 */
const REBUILT =
  /(?:^|\/)(?:node_modules|__pycache__|\.venv|\.gradle|\.pnpm-store|\.tox|\.mypy_cache|\.pytest_cache|\.ruff_cache)(?=\/|$)/g
/** Of these, and of `HOME`: what is there again without anybody's doing, so nobody needs to know that it is not. */
const CACHES = /(?:^|\/)(?:__pycache__|\.mypy_cache|\.pytest_cache|\.ruff_cache)$/
const CACHE_TAG = 'CACHEDIR.TAG'
/** In place of bytes that are no text. */
const NO_TEXT = '\uFFFD'
/** Not in backups: a request of a backup is not repeated. */
const REQUEST_KEYS = /^request-keys(?:\/[\d-]+\.jsonl)?$/
const UNFINISHED = /\.(?:tmp|partial)$/
/** Of a takeover that was killed. */
const UNFINISHED_WORK = /(?:^|\/)\.cluster\.tmp$/

const hasOwnMode = (path: string): boolean => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isDirectory() === true && (stat.mode & 0o777) !== FOLDER_MODE
}

const toKey = (path: string): string => path.split(sep).join('/')

export class CellFileRules implements CellFiles {
  readonly #stateDir: string
  readonly #baseHome: string
  readonly #excluded: string[]
  readonly #roots: readonly [prefix: string, root: string][]
  /** Null where `HOME` is that of a person. */
  readonly #workDir: string | null
  readonly #config: Config
  readonly #tracked: TrackedFolders
  /** Keys of folders that were not entered: closed to this user, such as those of a container, and caches. */
  readonly #hidden = new Set<string>()
  #leftOut: readonly string[] = []

  constructor(config: Config) {
    this.#workDir = config.cluster?.runBy == null ? null : realPath(config.userHome)
    this.#tracked = new TrackedFolders(this.#workDir ?? '')
    this.#config = config
    this.#stateDir = realPath(config.stateDir)
    this.#baseHome = realPath(config.baseHome)
    const agentDir = findAgentDir(config)
    this.#excluded = [this.#stateDir, ...(agentDir === null ? [] : [realPath(agentDir)])]
    this.#roots = [
      [this.#stateDir, 'state'],
      [config.stateDir, 'state'],
      [join(this.#baseHome, 'profiles'), 'profiles'],
      [join(config.baseHome, 'profiles'), 'profiles'],
      [this.#baseHome, 'home'],
      [config.baseHome, 'home'],
    ]
    if (this.#workDir !== null)
      this.#roots = [...this.#roots, [this.#workDir, 'work'], [config.userHome, 'work']]
  }

  pathOf(key: string): string | null {
    const location = this.#placeOf(key)
    return location && this.#isKept(key) ? join(location.place.dir, location.path) : null
  }

  isAppended(key: string): boolean {
    return this.#treatment(key) === 'journal'
  }

  isWork(key: string): boolean {
    return key.startsWith('work/')
  }

  isOfTools(key: string): boolean {
    return this.isWork(key) || (this.#workDir !== null && CHECKPOINTS_KEY.test(key))
  }

  keyOf(path: string): string | null {
    for (const [prefix, root] of this.#roots) {
      if (!isBelow(prefix, path)) continue
      const key = path === prefix ? root : `${root}/${toKey(relative(prefix, path))}`
      return this.#isKept(key) && !this.#isRebuilt(key) ? key : null
    }
    return null
  }

  isHidden(key: string): boolean {
    for (let at = key.indexOf('/'); at > 0; at = key.indexOf('/', at + 1)) {
      const folder = key.slice(0, at)
      if (!this.#hidden.has(folder)) continue
      if (existsSync(this.pathOf(folder) ?? '')) return true
      // Deleted since: so is what was in it.
      this.#hidden.delete(folder)
    }
    return false
  }

  async list(part?: 'work') {
    const keys: string[] = []
    const leftOut: string[] = []
    const profiles = await readdir(join(this.#baseHome, 'profiles')).catch(() => [])
    const homes = ['home', ...profiles.map(name => `profiles/${name}`)]
    await this.#walk('work', keys, leftOut)
    this.#leftOut = leftOut
    if (part !== 'work') await this.#walk('state', keys)
    for (const home of homes) {
      if (part !== 'work') await this.#walk(home, keys)
      else if (this.#workDir !== null) await this.#walk(`${home}/checkpoints`, keys)
    }
    return keys
  }

  async listBelow(key: string) {
    const keys: string[] = []
    await this.#walk(key, keys)
    return keys
  }

  leftOut() {
    return this.#leftOut
  }

  /** By the first one or two parts of a key. */
  #placeOf(
    key: string,
  ): { place: BackupPlace | { root: 'work'; dir: string }; path: string } | null {
    const [top = '', ...rest] = (key.endsWith(FOLDER) ? key.slice(0, -1) : key).split('/')
    if (rest.some(part => part === '' || part === '.' || part === '..')) return null
    const path = rest.join('/')
    if (top === 'state') return { place: { root: top, dir: this.#stateDir, kind: 'state' }, path }
    if (top === 'home') return { place: { root: top, dir: this.#baseHome, kind: 'home' }, path }
    if (top === 'work')
      return this.#workDir === null ? null : { place: { root: top, dir: this.#workDir }, path }
    const [name = '', ...below] = rest
    // Profiles that are being made or deleted begin with a dot.
    if (top !== 'profiles' || name === '' || name.startsWith('.')) return null
    const dir = join(this.#baseHome, 'profiles', name)
    return { place: { root: `profiles/${name}`, dir, kind: 'home' }, path: below.join('/') }
  }

  #treatment(key: string) {
    const location = this.#placeOf(key)
    if (!location) return 'skip'
    const { place, path } = location
    // The place itself, which is reported when it was removed.
    if (path === '') return 'save'
    const full = join(place.dir, path)
    if (!('kind' in place)) {
      const isOther = [...this.#excluded, this.#baseHome].some(dir => isBelow(dir, full))
      return isOther || HOME_CACHES.test(path) || UNFINISHED_WORK.test(path) ? 'skip' : 'save'
    }
    if (place.kind === 'state' && REQUEST_KEYS.test(path)) return 'journal'
    if (place.kind === 'state' && path === NOT_COPIED) return 'save'
    if (place.kind === 'home' && this.#workDir !== null && CHECKPOINTS.test(path)) return 'save'
    const isMachine = (place.kind === 'state' ? MACHINE_STATE : MACHINE_HOME).test(path)
    if (isMachine || UNFINISHED.test(path) || this.#excluded.includes(full)) return 'skip'
    const treated = treatmentOf(place, path)
    return treated === 'database' ? 'skip' : treated
  }

  #isKept(key: string): boolean {
    return this.#treatment(key) !== 'skip'
  }

  /** Not asked of what the database has: a repository may not have its index here so far. */
  #isRebuilt(key: string): boolean {
    if (this.#workDir === null || !this.isWork(key)) return false
    const path = key.slice('work/'.length)
    for (const { index, 0: folder } of path.matchAll(REBUILT))
      if (!this.#tracked.has(join(this.#workDir, path.slice(0, index + folder.length)))) return true
    return false
  }

  async #walk(key: string, into: string[], leftOut: string[] = []): Promise<void> {
    const path = this.pathOf(key)
    if (path === null) return
    if (this.#isRebuilt(key)) {
      if (!CACHES.test(key)) leftOut.push(key + FOLDER)
      return
    }
    const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      // It vanished, or there is none.
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return []
      if (errorCode(error) === 'EACCES' && this.isWork(key)) return null
      throw error
    })
    const isTagged = this.isWork(key) && existsSync(join(path, CACHE_TAG))
    if (entries === null || (isTagged && !isKnownWorkspace(this.#config, path))) {
      this.#hidden.add(key)
      leftOut.push(key + FOLDER)
      return
    }
    this.#hidden.delete(key)
    if (key.includes('/') && (entries.length === 0 || (this.isWork(key) && hasOwnMode(path))))
      into.push(key + FOLDER)
    for (const entry of entries) {
      const below = `${key}/${entry.name}`
      if (entry.name.includes(NO_TEXT) && !existsSync(join(path, entry.name))) leftOut.push(below)
      else if (entry.isDirectory()) await this.#walk(below, into, leftOut)
      else if ((entry.isFile() || entry.isSymbolicLink()) && this.#isKept(below)) into.push(below)
    }
  }
}
