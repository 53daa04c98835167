/** The workspaces of each profile: its list on disk, its default, the one used last. */
import type { UnreadableFile } from '../schema/file-problem.ts'
import { basename, join, resolve, sep } from 'node:path'
import { isObject } from '../base/json.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import { invalid, missing, UserError } from '../errors.ts'
import type { FolderList, Workspace } from '../schema/workspace.ts'
import { CachedFile } from '../store/cached-file.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { JsonFile } from '../store/json-file.ts'
import { isProtectedPath } from '../store/state-files.ts'
import { replaceText } from '../store/atomic-write.ts'
import { scratchFolder } from './default-workspace.ts'
import { listFolders, suggestDirectories } from './suggest.ts'
import { checkDirectory, checkWorkspace, expandPath, realDirectory } from './workspace-paths.ts'

/** The part of a home the lists need. */
export type WorkspaceHome = {
  readonly name: string
  readonly dir: string
  /** Defaults apply while config.yaml cannot be read: the workspace only decides where, not what. */
  readonly lenient: { config(): ProfileConfig }
}

/** With the keys of other programs, which stay. */
type WorkspaceEntry = { path: string; name: string; [key: string]: unknown }

/** A folder name that an earlier version's tests left in people's lists. */
const ARTIFACT = 'webui-mvp-test'

const parseEntry = (raw: unknown): WorkspaceEntry[] => {
  if (typeof raw === 'string') return raw ? [{ path: raw, name: basename(raw) || raw }] : []
  if (!isObject(raw)) return []
  const { path, name, label, ...rest } = raw as Readonly<Record<string, unknown>>
  if (typeof path !== 'string' || !path) return []
  const word = [name, label].find(text => typeof text === 'string' && text.trim())
  return [{ ...rest, path, name: typeof word === 'string' ? word : basename(path) || path }]
}

/** Undefined when there is no file. */
const parseList = (value: unknown): { raw: unknown; entries: WorkspaceEntry[] } | undefined => {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw new Error('it is not a list')
  return { raw: value, entries: value.flatMap(parseEntry) }
}

const toWorkspace = ({ path, name }: WorkspaceEntry): Workspace => ({ path, name, label: name })

/** In the home of a profile that is not this one. */
const belongsToOtherProfile = (profilesDir: string, home: WorkspaceHome, path: string): boolean =>
  isInside(profilesDir, path) && !(home.name !== 'default' && isInside(home.dir, path))

/** Keeps existing directories, once each; drops test leftovers and homes of other profiles. */
const normalizeList = (
  entries: readonly WorkspaceEntry[],
  profilesDir: string,
  home: WorkspaceHome,
): WorkspaceEntry[] => {
  const byPath = new Map<string, WorkspaceEntry>()
  for (const entry of entries) {
    const { path, name } = entry
    const real = realDirectory(path)
    if (real === undefined || resolve(path).split(sep).includes(ARTIFACT)) continue
    if (belongsToOtherProfile(profilesDir, home, real)) continue
    const label = name.trim().toLowerCase() === 'default' ? 'Home' : name
    if (!byPath.has(real)) byPath.set(real, { ...entry, path: real, name: label })
  }
  return [...byPath.values()]
}

type Files = {
  list: JsonFile<ReturnType<typeof parseList>>
  last: CachedFile<string>
  lastPath: string
}

/** Where the service and its people have their files. */
type Roots = { stateDir: string; baseHome: string; userHome: string }

export class Workspaces {
  readonly #config: Roots
  readonly #defaultWorkspace: () => string
  readonly #hasMembers: () => boolean
  readonly #profilesDir: string
  readonly #opened = new Map<string, Files>()
  readonly #global: Files

  constructor(
    config: Roots,
    /** The workspace of sessions and profiles without one. */
    defaultWorkspace: () => string,
    /** Whether other people use the service: those of one profile were not given the folder that another used last. */
    hasMembers: () => boolean = () => false,
  ) {
    this.#config = config
    this.#defaultWorkspace = defaultWorkspace
    this.#hasMembers = hasMembers
    this.#profilesDir = join(config.baseHome, 'profiles')
    this.#global = this.#open(config.stateDir)
  }

  #open(dir: string): Files {
    const earlier = this.#opened.get(dir)
    if (earlier) return earlier
    const lastPath = join(dir, 'last_workspace.txt')
    const files = {
      list: new JsonFile(join(dir, 'workspaces.json'), parseList),
      last: new CachedFile(lastPath, ({ text }) => text?.trim() ?? '', { maxBytes: 16 * 1024 }),
      lastPath,
    }
    this.#opened.set(dir, files)
    return files
  }

  #filesOf(home: WorkspaceHome): Files {
    return home.name === 'default' ? this.#global : this.#open(join(home.dir, 'webui_state'))
  }

  /** Lists the base profile had before the state directory moved; a named profile inherits none. */
  #legacy(home: WorkspaceHome): WorkspaceEntry[] {
    if (home.name !== 'default') return []
    const places = [
      join(this.#config.baseHome, 'webui'),
      join(this.#config.baseHome, 'webui_state'),
    ]
    for (const dir of places) {
      const list = dir === this.#config.stateDir ? undefined : this.#open(dir).list.read()
      if (list) return list.entries
    }
    return []
  }

  /** What the profile's configuration names, else the default of the service. */
  defaultOf(home: WorkspaceHome): string {
    const { workspace, default_workspace, terminal } = home.lenient.config()
    const candidates = [workspace, default_workspace, terminal.cwd === '.' ? '' : terminal.cwd]
    for (const path of candidates) {
      const folder = path ? realDirectory(expandPath(path, this.#config.userHome)) : undefined
      if (folder && !isProtectedPath(realPath(this.#config.stateDir), folder)) return folder
    }
    return this.#defaultWorkspace()
  }

  /** What is on disk, cleaned; written back when cleaning changed anything. */
  #cleanList(home: WorkspaceHome): WorkspaceEntry[] {
    const { list } = this.#filesOf(home)
    const file = list.read()
    const entries = file?.entries ?? this.#legacy(home)
    const clean = normalizeList(entries, this.#profilesDir, home)
    const isChanged = JSON.stringify(clean) !== JSON.stringify(entries)
    const isMigrated = !file && entries.length > 0
    if ((isChanged || isMigrated) && list.problem() === null) list.write(clean)
    return clean
  }

  #entriesOf(home: WorkspaceHome): WorkspaceEntry[] {
    const entries = this.#cleanList(home)
    return entries.length > 0 ? entries : [{ path: this.defaultOf(home), name: 'Home' }]
  }

  get scratch(): string {
    return scratchFolder(this.#config.stateDir)
  }

  /** Cleaned; a list that has nothing left shows the default workspace as Home. */
  list(home: WorkspaceHome): Workspace[] {
    return this.#entriesOf(home).map(toWorkspace)
  }

  #write(home: WorkspaceHome, entries: readonly WorkspaceEntry[]): Workspace[] {
    this.#filesOf(home).list.write(entries)
    return this.list(home)
  }

  #trust(home: WorkspaceHome) {
    return {
      userHome: this.#config.userHome,
      defaultWorkspace: this.#defaultWorkspace(),
      stateDir: this.#config.stateDir,
      saved: this.#entriesOf(home).map(({ path }) => path),
    }
  }

  /** The real path a session may work in; throws a UserError otherwise. */
  check(home: WorkspaceHome, path: string): string {
    if (!path.trim()) return this.defaultOf(home)
    const real = checkWorkspace(path, this.#trust(home))
    if (belongsToOtherProfile(this.#profilesDir, home, real))
      throw invalid('Path belongs to another profile', { code: 'workspace_of_profile' })
    return real
  }

  /** The same; undefined for no path, and where `check` refuses. */
  allowed(home: WorkspaceHome, path: string | undefined): string | undefined {
    try {
      return path?.trim() ? this.check(home, path) : undefined
    } catch (error) {
      if (error instanceof UserError) return undefined
      throw error
    }
  }

  add(home: WorkspaceHome, path: string, name?: string): Workspace[] {
    const real = checkDirectory(path, {
      userHome: this.#config.userHome,
      defaultWorkspace: this.#defaultWorkspace(),
      stateDir: this.#config.stateDir,
    })
    const entries = this.#entriesOf(home)
    if (entries.some(entry => entry.path === real))
      throw invalid('Workspace already in list', { code: 'workspace_exists' })
    if (belongsToOtherProfile(this.#profilesDir, home, real))
      throw invalid('Path belongs to another profile', { code: 'workspace_of_profile' })
    return this.#write(home, [
      ...entries,
      { path: real, name: name?.trim() || basename(real) || real },
    ])
  }

  remove(home: WorkspaceHome, path: string): Workspace[] {
    const entries = this.#entriesOf(home)
    const rest = entries.filter(entry => entry.path !== path)
    return rest.length === entries.length ? entries.map(toWorkspace) : this.#write(home, rest)
  }

  rename(home: WorkspaceHome, path: string, name: string): Workspace[] {
    const label = name.trim()
    if (!path.trim() || !label)
      throw invalid('path and name are required', { code: 'missing_fields' })
    const entries = this.#entriesOf(home)
    if (!entries.some(entry => entry.path === path))
      throw missing('Workspace not found', { code: 'workspace_not_found' })
    return this.#write(
      home,
      entries.map(entry => (entry.path === path ? { ...entry, name: label } : entry)),
    )
  }

  /** In the order of `paths`; what they do not name comes after, in the order it had. */
  reorder(home: WorkspaceHome, paths: readonly string[]): Workspace[] {
    const entries = this.#entriesOf(home)
    const placeOf = ({ path }: WorkspaceEntry) =>
      paths.includes(path) ? paths.indexOf(path) : Infinity
    const sorted = entries.toSorted((a, b) => {
      const [left, right] = [placeOf(a), placeOf(b)]
      return left === right ? 0 : left - right
    })
    return sorted.some((entry, n) => entry !== entries[n])
      ? this.#write(home, sorted)
      : sorted.map(toWorkspace)
  }

  last(home: WorkspaceHome): string {
    for (const file of [
      this.#filesOf(home).last,
      ...(this.#hasMembers() ? [] : [this.#global.last]),
    ]) {
      // The service-wide one may have been left there by another profile, and one in a copied home may be the original's.
      const path = this.allowed(home, file.read())
      if (path !== undefined) return path
    }
    return this.defaultOf(home)
  }

  setLast(home: WorkspaceHome, path: string): void {
    const { last, lastPath } = this.#filesOf(home)
    if (last.read() !== path) replaceText(lastPath, `${path}\n`)
  }

  /** Why its list cannot be read, and whether an earlier version of it still counts; null when all is well. */
  problem(home: WorkspaceHome): UnreadableFile | null {
    const { list: file } = this.#filesOf(home)
    const reason = file.problem()
    return reason === null ? null : { file: file.path, reason, in_force: !file.isLost() }
  }

  /** At most twelve directories that begin like this. */
  suggest(home: WorkspaceHome, prefix: string): string[] {
    return suggestDirectories(prefix, this.#trust(home)).filter(
      path => !belongsToOtherProfile(this.#profilesDir, home, path),
    )
  }

  /** The folders inside of one, to choose a workspace from. */
  folders(home: WorkspaceHome, path: string): FolderList {
    const list = listFolders(path, this.#trust(home))
    return {
      ...list,
      folders: list.folders.filter(
        folder => !belongsToOtherProfile(this.#profilesDir, home, folder.path),
      ),
    }
  }
}
