/** The files that requests of a session may reach: its workspace, without the service's state and the secrets of any home. */
import { type BigIntStats, lstatSync, rmSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { namesIn } from '../base/directories.ts'
import type { Config } from '../config.ts'
import { missing } from '../errors.ts'
import type { Bounds } from '../store/dir-handle.ts'
import { isInside, realPath, realPaths } from '../store/path-within.ts'
import { isProtectedPath } from '../store/state-files.ts'
import { realDirectory } from './workspace-paths.ts'
import type { Clock } from '../base/clock.ts'
import type { WorkspaceGitOptions } from './git.ts'
import { Trash } from './trash.ts'

export type FileScope = Bounds & {
  /** It contains something hidden, so it cannot be moved or removed as a whole. */
  containsHidden(real: string): boolean
}

export type ScopeHome = { readonly name: string; readonly dir: string }

/** Files in a home that are never served or written: keys, and databases with conversations. */
const SECRET =
  /^(?:\.env.*|auth\.(?:json|lock)|config\.yaml|\.anthropic_oauth\.json|google_(?:token|client_secret)\.json|\.signing_key|.+\.db(?:-wal|-shm|-journal)?)$/i

export const isSecretName = (name: string): boolean => SECRET.test(name)

/** Both paths are resolved. */
const isBelow = (place: string, real: string): boolean =>
  real === place || real.startsWith(place.endsWith(sep) ? place : place + sep)

const fileAt = (path: string): BigIntStats | undefined => {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return stat?.isFile() ? stat : undefined
  } catch {
    // No name a file could have, or below something closed to us.
    return undefined
  }
}

const identityOf = (path: string): string | undefined => {
  const stat = fileAt(path)
  return stat && `${stat.dev}:${stat.ino}`
}

/**
 * Which files are hidden ones under a second name (a hard link). Looked up once an area, and only when it has met a file
 * with several names.
 */
const hardLinks = (places: readonly string[], homes: readonly string[]) => {
  let identities: Set<string> | undefined
  const list = (): Set<string> => {
    const files = [
      ...places.flatMap(place => [place, ...namesIn(place).map(name => join(place, name))]),
      ...homes.flatMap(dir =>
        namesIn(dir)
          .filter(isSecretName)
          .map(name => join(dir, name)),
      ),
    ]
    return new Set(files.flatMap(path => identityOf(path) ?? []))
  }
  return (real: string): boolean => {
    const stat = fileAt(real)
    if (!stat || stat.nlink < 2n) return false
    identities ??= list()
    return identities.has(`${stat.dev}:${stat.ino}`)
  }
}

/** Sign-ins to MCP servers: the host agent's, and ours. */
const tokenDirs = (home: string): string[] => [
  join(home, 'mcp-tokens'),
  join(home, 'mcp-tokens', 'agent-webui'),
]

type Hiding = {
  /** Hidden, with everything below them. */
  hidden?: readonly string[]
  /** Exceptions below hidden ones. */
  visible?: readonly string[]
  /** Homes of an agent: the secret files directly in them are hidden. */
  homes?: readonly string[]
}

export const fileScope = (
  workspace: string,
  { hidden = [], visible = [], homes = [] }: Hiding = {},
): FileScope => {
  const root = realDirectory(workspace)
  if (root === undefined)
    throw missing('Directory not found: the workspace is not there', { code: 'workspace_missing' })
  const [places, exceptions, dirs] = [[...hidden, ...homes.flatMap(tokenDirs)], visible, homes].map(
    realPaths,
  ) as [string[], string[], string[]]
  const lies = (real: string) => (place: string) => isBelow(place, real)
  const isSecret = (real: string) => isSecretName(basename(real)) && dirs.includes(dirname(real))
  const isLinked = hardLinks(places, dirs)
  const isHiddenPlace = (real: string) => places.some(lies(real)) && !exceptions.some(lies(real))
  return {
    root,
    isHidden: real => isHiddenPlace(real) || isSecret(real) || isLinked(real),
    containsHidden: real => [...places, ...dirs].some(place => isBelow(real, place)),
  }
}

/** The file scopes of the sessions. */
export class FileScopes {
  readonly #config: Config
  readonly #pathsOfOtherProfiles: (home: ScopeHome) => string[]
  /** Workspace and home of a session, as a request from `requester` sees it; refuses an unknown one. */
  readonly sessionOf: (requester: ScopeHome, id: string) => { workspace: string; home: ScopeHome }

  constructor(
    config: Config,
    sessionOf: (requester: ScopeHome, id: string) => { workspace: string; home: ScopeHome },
    pathsOfOtherProfiles: (home: ScopeHome) => string[],
  ) {
    this.#config = config
    this.sessionOf = sessionOf
    this.#pathsOfOtherProfiles = pathsOfOtherProfiles
  }

  /** A folder beside what the service keeps in its state directory is like any other. */
  #isShown(workspace: string): boolean {
    const [state, real] = [realPath(this.#config.stateDir), realPath(workspace)]
    return isInside(state, real) && !isProtectedPath(state, real)
  }

  scopeFor(home: ScopeHome, workspace: string): FileScope {
    const { stateDir, baseHome, configPath, tlsKey } = this.#config
    return fileScope(workspace, {
      visible: this.#isShown(workspace) ? [workspace] : [],
      hidden: [
        stateDir,
        // A workspace inside another profile was chosen on purpose.
        ...this.#pathsOfOtherProfiles(home).filter(place => !isInside(place, workspace)),
        ...[configPath, tlsKey].filter(place => place !== null),
      ],
      homes: [baseHome, home.dir],
    })
  }

  /** The scope of a session's workspace. */
  of(requester: ScopeHome, sessionId: string): FileScope {
    const { workspace, home } = this.sessionOf(requester, sessionId)
    return this.scopeFor(home, workspace)
  }
}

/** The files and uploads of sessions, for their endpoints. */
export class SessionFiles {
  readonly areas: FileScopes
  /** Uploads on their way. */
  readonly incomingDir: string
  readonly trash: Trash
  /** For `openGit`. */
  readonly gitOptions: WorkspaceGitOptions

  constructor(config: Config, areas: FileScopes, clock: Clock) {
    const { stateDir, userHome, env } = config
    this.areas = areas
    this.incomingDir = join(stateDir, 'incoming')
    // Left by a killed process; the instance lock makes this process the only user of the folder.
    rmSync(this.incomingDir, { recursive: true, force: true })
    this.trash = new Trash(join(stateDir, 'file-trash'), clock)
    this.gitOptions = { path: env.PATH, userHome, xdgConfigHome: env.XDG_CONFIG_HOME }
  }
}
