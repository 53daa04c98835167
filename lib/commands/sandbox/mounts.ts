/** What a sandboxed command sees of the file system: a list of paths, of which the most specific one decides. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, sep } from 'node:path'
import { isBelow } from '../../store/path-within.ts'
import { type GitDirectories, gitDirectories } from './git-directories.ts'
import {
  CREDENTIALS,
  PROTECTED_IN_WORKSPACE,
  SYSTEM_SECRETS,
  TOOL_VARIABLES,
  TOOLS_OF_HOME,
} from './special-paths.ts'

/** What a command may do with a path and everything below it. */
export type Access = 'read' | 'write' | 'hide'

/**
 * `source` differs from `path` for directories of the sandbox's own, such as its /tmp. `closes`: it becomes read-only once
 * the mount points in it exist.
 */
export type Mount = { path: string; access: Access; source?: string; closes?: true }

export type SandboxFiles = {
  /** The directory that commands may change; null: none. */
  workspace: string | null
  /** HOME, PATH, and the directories of tools. */
  env: Readonly<Record<string, string>>
  /** Never visible: the homes and the state of the service. A workspace below them is. */
  hidden: readonly string[]
  /** Read-only even inside the workspace. Only paths that exist can be. */
  protected: readonly string[]
  /** More directories and files that commands may read, or change. */
  readable: readonly string[]
  writable: readonly string[]
  /** Private directories that replace the home directory and /tmp. */
  ownHome: string
  ownTmp: string
}

const realOrNull = (path: string): string | null => {
  try {
    // The native one also returns the spelling of a file system that ignores case.
    return realpathSync.native(path)
  } catch {
    // It does not exist, or leads through something that is not accessible.
    return null
  }
}

/** The directory that an entry of PATH belongs to: `…/node/v22/bin` needs `…/node/v22/lib` as well. */
const prefixOf = (dir: string, home: string): string => {
  const parent = dirname(dir)
  const isPrefix =
    /\/(?:bin|sbin|shims)$/.test(dir) &&
    ['lib', 'libexec'].some(name => existsSync(join(parent, name)))
  return isPrefix && parent !== '/' && !isBelow(parent, home) ? parent : dir
}

/** Directories of the programs on PATH and of tool managers that would not be visible otherwise. */
const toolDirectories = (
  { env, workspace, writable }: SandboxFiles,
  program: string,
  system: readonly string[],
): string[] => {
  const home = env.HOME ?? ''
  const ofProgram = program.startsWith('/') ? [dirname(program)] : []
  const ofPath = [...(env.PATH ?? '').split(delimiter), ...ofProgram]
    .map(dir => dir.replace(/\/+$/, ''))
    .filter(dir => dir.startsWith('/'))
    .map(dir => prefixOf(dir, home))
  const ofVariables = TOOL_VARIABLES.flatMap(name => {
    const value = env[name]
    return value?.startsWith('/') && value !== '/' ? [value] : []
  })
  const ofHome = home === '' ? [] : TOOLS_OF_HOME.map(name => join(home, name))
  const changeable = [...(workspace === null ? [] : [workspace]), ...writable].map(
    path => realOrNull(path) ?? path,
  )
  const realHome = home === '' ? null : (realOrNull(home) ?? home)
  return [...new Set([...ofPath, ...ofVariables, ...ofHome])].filter(dir => {
    const real = realOrNull(dir)
    return (
      real !== null &&
      !isBelowAny(system, real) &&
      !changeable.some(root => isBelow(root, real)) &&
      // It would show the whole home directory.
      !(realHome !== null && isBelow(real, realHome))
    )
  })
}

/** The most specific mount that contains the path. */
const effective = (mounts: readonly Mount[], path: string): Mount | undefined =>
  mounts
    .filter(each => isBelow(each.path, path))
    .toSorted((a, b) => b.path.length - a.path.length)[0]

/** It shows a directory of the sandbox's own, and nothing of this computer. */
const isPrivate = ({ source }: Mount): boolean => source !== undefined

/** Sockets of terminals, displays, and agents are there, and programs that others run. */
const OF_EVERY_PROGRAM = ['/tmp', '/var/tmp', '/run', '/dev', '/proc', '/etc', '/usr'] as const

/** What Git looks for. */
const GIT_DIRECTORY = ['HEAD', 'objects', 'refs'] as const

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

/**
 * Why this workspace cannot be protected; null when it can. In a home directory, a command could add files that run when
 * the user signs in; the home of the service itself is never shown.
 */
export const workspaceProblem = ({
  workspace,
  env,
  hidden,
}: {
  workspace: string | null
  env: Readonly<Record<string, string>>
  hidden: readonly string[]
}): Sentence | null => {
  if (workspace === null) return null
  const real = realOrNull(workspace) ?? workspace
  const home = env.HOME && env.HOME !== '/' ? (realOrNull(env.HOME) ?? env.HOME) : null
  const what = hidden.some(path => (realOrNull(path) ?? path) === real)
    ? sentence('sandbox.own_home')
    : real === '/' || (home !== null && isBelow(real, home))
      ? sentence('sandbox.contains_home')
      : OF_EVERY_PROGRAM.some(path => isBelow(real, realOrNull(path) ?? path))
        ? sentence('sandbox.contains_files')
        : isLink(join(real, '.git'))
          ? sentence('sandbox.git_link')
          : GIT_DIRECTORY.every(name => existsSync(join(real, name)))
            ? 'it is a Git directory, whose configuration names programs'
            : null
  if (what === null) return null
  return sentence('sandbox.workspace', { folder: workspace, reason: what })
}

/** Where Git directories of its workspace are. */
export const gitOf = (place: SandboxFiles): GitDirectories | null => {
  const { workspace, env, hidden, ownHome, ownTmp, writable } = place
  const home = env.HOME && env.HOME !== '/' ? env.HOME : '/'
  return workspace === null
    ? null
    : gitDirectories(workspace, [...hidden, home], [ownHome, ownTmp, ...writable])
}

/** Git runs in it, so a command must not make it a repository either. */
export const gitIn = (repository: string): string => {
  const git = join(repository, '.git')
  return existsSync(git) ? git : repository
}

/** The mounts of one command, sorted so that each comes after those that contain it. */
export const planMounts = (
  place: SandboxFiles,
  {
    git = gitOf(place),
    nested = [],
    program = '',
    system = SYSTEM,
    isReadOnly = false,
  }: {
    /** Absent: it is looked for. */
    git?: GitDirectories | null
    /** Directories below the workspace that are repositories of their own, as submodules are. */
    nested?: readonly string[]
    /** The program to start. */
    program?: string
    /** Directories that every command can read. */
    system?: readonly string[]
    /** Only the private /tmp may change. */
    isReadOnly?: boolean
  } = {},
): Mount[] => {
  const { workspace, env } = place
  const home = env.HOME && env.HOME !== '/' ? env.HOME : null
  const mounts = new Map<string, Mount>()
  /** Other names, through symlinks: alias → real path. */
  const aliases = new Map<string, string>()
  const add = (path: string, access: Access, source?: string) => {
    const real = source === undefined ? realOrNull(path) : (realOrNull(path) ?? path)
    if (real === null) return
    mounts.set(real, { path: real, access, ...(source !== undefined && { source }) })
    if (real !== path) aliases.set(path, real)
  }
  add('/tmp', 'write', place.ownTmp)
  if (home) add(home, 'write', place.ownHome)
  // Under their own names as well: the file tools show these.
  for (const path of [place.ownTmp, place.ownHome]) add(path, 'write', path)
  for (const path of toolDirectories(place, program, system)) add(path, 'read')
  for (const path of place.readable) add(path, 'read')
  const isInWorkspace = (path: string) => workspace !== null && isBelow(workspace, path)
  if (git && git.root !== workspace) add(git.root, 'read')
  for (const path of place.writable) add(path, 'write')
  if (workspace !== null) add(workspace, 'write')
  for (const path of git?.paths ?? []) if (!isInWorkspace(path)) add(path, 'read')

  /** Applies below mounts that show real files. What is inside a private directory is not there anyway. */
  const addBelow = (path: string, access: Access) => {
    const real = realOrNull(path)
    if (real === null) return
    const parent = effective([...mounts.values()], real)
    const isShown = parent
      ? parent.access !== 'hide' && !isPrivate(parent)
      : isBelowAny(system, real)
    if (isShown && (access === 'hide' || parent?.access === 'write'))
      mounts.set(real, { path: real, access })
  }
  const credentials = home ? CREDENTIALS.map(name => join(home, name)) : []
  // The configuration may show exactly this path.
  for (const path of [...place.hidden, ...SYSTEM_SECRETS, ...credentials])
    if (!mounts.has(realOrNull(path) ?? path)) addBelow(path, 'hide')
  if (workspace !== null) {
    // A symlink in the workspace is not followed: a command could have made it lead to a secret.
    const isUsable = (path: string) => isReal(path, workspace)
    for (const path of git?.paths ?? [])
      if (isInWorkspace(path) && isUsable(path)) add(path, 'read')
    const inside = PROTECTED_IN_WORKSPACE.map(name => join(workspace, name))
    for (const path of [...inside, ...nested.map(gitIn)]) if (isUsable(path)) addBelow(path, 'read')
  }
  for (const path of place.protected) addBelow(path, 'read')
  const all = sorted([...mounts.values(), ...underAliases([...mounts.values()], aliases, system)])
  return isReadOnly ? all.map(mount => withoutWriting(mount, place)) : all
}

/**
 * What is mounted inside the workspace exists there, but mount points in the private home have to be created. The bind of
 * a directory of this computer is read-only from the start, because only that includes file systems mounted below it.
 */
const withoutWriting = (mount: Mount, { ownHome, ownTmp }: SandboxFiles): Mount => {
  if (mount.access !== 'write' || mount.source === ownTmp) return mount
  return mount.source === ownHome ? { ...mount, closes: true } : { ...mount, access: 'read' }
}

/** What commands can do with a real path; null: they do not see it, or only a private file of the same name. */
export const reachOf = (
  mounts: readonly Mount[],
  path: string,
  system: readonly string[] = SYSTEM,
): 'read' | 'write' | null => {
  const mount = effective(mounts, path)
  if (mount === undefined) return isBelowAny(system, path) ? 'read' : null
  const isElsewhere = mount.source !== undefined && mount.source !== mount.path
  return mount.access === 'hide' || isElsewhere ? null : mount.access
}

/** The same mounts under the other names that lead to them, unless the symlinks themselves are visible. */
const underAliases = (
  mounts: readonly Mount[],
  aliases: ReadonlyMap<string, string>,
  system: readonly string[],
): Mount[] =>
  [...aliases].flatMap(([alias, real]) => {
    const parent = effective(mounts, alias)
    if (parent ? !isPrivate(parent) : isBelowAny(system, alias)) return []
    return mounts
      .filter(({ path }) => isBelow(real, path))
      .map(({ path, access, source = path }) => ({
        path: alias + path.slice(real.length),
        access,
        source,
      }))
  })

/** Each mount comes after those that contain it. */
const sorted = (mounts: readonly Mount[]): Mount[] =>
  mounts.toSorted(
    (a, b) => a.path.split(sep).length - b.path.split(sep).length || (a.path < b.path ? -1 : 1),
  )

/** Directories of a Linux system that every sandbox shows read-only. */
const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix',
  '/gnu',
  '/snap',
  '/home/linuxbrew',
  '/run/current-system',
  '/sys',
] as const

const isBelowAny = (roots: readonly string[], path: string): boolean =>
  roots.some(root => isBelow(root, path))

/** Whether the path exists below the workspace and no part of the way is a symlink. */
const isReal = (path: string, workspace: string): boolean => {
  const root = realOrNull(workspace)
  if (root === null || !isBelow(workspace, path)) return false
  return realOrNull(path) === root + path.slice(workspace.length)
}

export type SystemMount = { path: string } & ({ linkTo: string } | { linkTo: null })

/** The parts of the system that exist here: directories, and links such as /bin → usr/bin. */
export const systemMounts = (): SystemMount[] =>
  SYSTEM.flatMap((path): SystemMount[] => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (!stat) return []
    if (stat.isSymbolicLink()) return [{ path, linkTo: readlinkSync(path) }]
    return stat.isDirectory() ? [{ path, linkTo: null }] : []
  })
