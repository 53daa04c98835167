/**
 * What is done once when this installation is elsewhere than before: it was restored, copied or moved to another path, user or
 * machine. Chats, tasks, lists of workspaces and checkpoints name folders by absolute paths, so those of the former place become
 * those of this one. `location.json` is written last: after a kill, everything is done again, which changes nothing more.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { z } from 'zod'
import type { Config } from '../config.ts'
import type { Log } from './log.ts'
import { checkpointDir } from '../workspaces/checkpoints/checkpoint-store.ts'
import { replaceText } from '../store/atomic-write.ts'
import { errorCode, sentenceOf } from '../store/file-error.ts'
import { isBelow, realPath } from '../store/path-within.ts'
import { openFile, readText } from '../store/read-text.ts'
import { realDirectory } from '../workspaces/workspace-paths.ts'
import { UserError } from '../errors.ts'
import type { Homes } from '../profiles/homes.ts'
import { homesOf } from '../profiles/secret-files.ts'
import { rowsOf } from '../sessions/listing.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'

const Directories = z.object({ home: z.string(), state: z.string(), user_home: z.string() })
type Directories = z.infer<typeof Directories>
const Location = Directories.extend({
  /** As they were configured, where that leads to them by links. */
  named: Directories.optional(),
  /** By a backup, where no start has looked yet whether it is elsewhere. */
  by_backup: z.literal(true).optional(),
})
type Location = z.infer<typeof Location>

const fileOf = ({ stateDir }: Config): string => join(stateDir, 'location.json')

const KEYS = ['state', 'home', 'user_home'] as const

const here = ({ stateDir, baseHome, userHome }: Config): Location => {
  const paths = { home: resolve(baseHome), state: resolve(stateDir), user_home: resolve(userHome) }
  const real = {
    home: realPath(baseHome),
    state: realPath(stateDir),
    user_home: realPath(userHome),
  }
  return { ...real, ...(KEYS.some(key => paths[key] !== real[key]) && { named: paths }) }
}

/** Undefined where none was noted, by an earlier version, or where it cannot be read. */
const readLocation = (config: Config): Location | undefined => {
  const { text } = readText(fileOf(config))
  if (text === null) return undefined
  try {
    return Location.parse(JSON.parse(text))
  } catch {
    // Damaged: as if it were not there.
    return undefined
  }
}

const noteLocation = (config: Config, more: { by_backup?: true } = {}): void => {
  const location = { ...here(config), ...more }
  if (JSON.stringify(readLocation(config)) !== JSON.stringify(location))
    replaceText(fileOf(config), `${JSON.stringify(location)}\n`)
}

const isFull = (error: unknown): boolean => error instanceof UserError && error.kind === 'full'

const isRefused = (error: unknown): boolean =>
  error instanceof UserError || ['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))

/**
 * Called before a backup, so that a restored one says where it was. A place that is noted stays: where it is another one, the first
 * start here has yet to adapt the paths.
 */
export const noteFirstLocation = (config: Config): void => {
  if (!existsSync(config.stateDir) || existsSync(fileOf(config))) return
  try {
    noteLocation(config, { by_backup: true })
  } catch (error) {
    // A full disk, or files of another user: what is there is saved all the same.
    if (!isRefused(error)) throw error
  }
}

/** A directory that was elsewhere before. */
type Root = { key: (typeof KEYS)[number]; from: string; to: string }

const rootsOf = (former: readonly Partial<Directories>[], now: Directories): Root[] =>
  former.flatMap(place =>
    KEYS.flatMap(key => {
      const from = place[key]
      return from === undefined || from === '/' ? [] : [{ key, from, to: now[key] }]
    }),
  )

const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : [])

const HEAD_BYTES = 4_096
const WORKSPACE = /("workspace":\s*)("(?:[^"\\]|\\.)*")/g

/** Undefined for text that is no JSON string. */
const parseString = (literal: string): string | undefined => {
  try {
    return String(JSON.parse(literal))
  } catch {
    // Cut off, or no JSON.
    return undefined
  }
}

const workspacesIn = (path: string): string[] => {
  try {
    const fd = openFile(path)
    try {
      const head = Buffer.alloc(HEAD_BYTES)
      readSync(fd, head)
      return [...head.toString().matchAll(WORKSPACE)].flatMap(
        ([, , literal = '']) => parseString(literal) ?? [],
      )
    } finally {
      closeSync(fd)
    }
  } catch {
    // What cannot be read says nothing.
    return []
  }
}

/** Homes of people are in the same places everywhere. */
const USER_HOME = /^(?:\/(?:home|Users)\/[^/]+|\/root)(?=\/)/
/** What the state directory has for chats. */
const IN_STATE = /\/(?:workspace|worktrees\/[^/]+)$/

/** `/home/ann` begins `/home/ann/x`, and neither `/home/anna` nor `/home/ann/../bob`. */
const begins = (place: string, path: string): boolean =>
  (path === place || path.startsWith(`${place}/`)) && isBelow(place, path)

/**
 * Where it was, by the folders of its chats that are not here: an earlier version, and Hermes WebUI, noted nothing. A path is then
 * changed only when the new one is there and it is not itself.
 */
const guessedPlaces = ({ stateDir }: Config, now: Directories): Partial<Directories>[] => {
  const inside = relative(now.home, now.state)
  const paths = [
    readText(join(stateDir, 'last_workspace.txt')).text?.trim() ?? '',
    ...namesIn(join(stateDir, 'sessions'))
      .filter(name => /\.jsonl?$/.test(name))
      .flatMap(name => workspacesIn(join(stateDir, 'sessions', name))),
  ]
  // Folders of other users that are gone were theirs.
  const wasHere = paths.some(path => begins(now.user_home, path))
  return [...new Set(paths)]
    .filter(path => path.startsWith('/') && !existsSync(path))
    .flatMap((path): Partial<Directories>[] => {
      const [user_home] = wasHere ? [] : (USER_HOME.exec(path) ?? [])
      const state = IN_STATE.test(path) ? path.replace(IN_STATE, '') : undefined
      const isAlike = state !== undefined && basename(state) === basename(now.state)
      return [
        ...(user_home === undefined ? [] : [{ user_home }]),
        ...(isAlike ? [{ state }] : []),
        ...(isAlike && inside !== '' && state.endsWith(`/${inside}`)
          ? [{ home: state.slice(0, -inside.length - 1) }]
          : []),
      ]
    })
}

/** Where a path of the former place is now; the same path when it was in none of its directories. */
type Moved = (path: string) => string

/** `isElsewhere`: it is known that the home or the state directory, not only the user's home, is another one. */
type Move = { roots: readonly Root[]; moved: Moved; isElsewhere: boolean; isGuessed: boolean }

/**
 * With another user's home alone, as under `sudo`, nothing was moved: only a folder that is gone is looked for there. Where the home was
 * moved as well, a folder of that user that was not stays: a service that got a user of its own works in folders of people.
 */
const isOnlyThere = (path: string, target: string): boolean =>
  existsSync(target) && !existsSync(path)

const movedSince = (config: Config): Move | null => {
  const before = readLocation(config)
  const now = here(config)
  const keys = before ? KEYS.filter(key => before[key] !== now[key]) : []
  if (before && keys.length === 0 && !before.by_backup) return null
  const isElsewhere = keys.some(key => key !== 'user_home')
  const isGuessed = !before || keys.length === 0
  const former = isGuessed ? guessedPlaces(config, now) : [before, before.named ?? {}]
  const roots = rootsOf(former, now).filter(({ from, to }) => !isGuessed || from !== to)
  // The innermost first: the state directory may be moved out of the home. What is in the new place, which may be below the former
  // one, stays: after a kill everything is done again.
  const places = [
    ...roots.map(root => ({ ...root, place: root.from })),
    ...rootsOf([now], now).map(root => ({ ...root, place: root.to })),
  ].toSorted((a, b) => b.place.length - a.place.length)
  const moved = (path: string): string => {
    const root = places.find(({ place }) => begins(place, path))
    if (!root) return path
    const target = root.to + path.slice(root.from.length)
    const isKnown = isElsewhere && (root.key !== 'user_home' || !isOnlyThere(target, path))
    return isKnown || isOnlyThere(path, target) ? target : path
  }
  return { roots, moved, isElsewhere, isGuessed }
}

const changeText = (path: string, change: (text: string) => string): void => {
  const { text } = readText(path)
  if (text === null) return
  const content = change(text)
  if (content !== text) replaceText(path, content, { keepsMark: true })
}

const JSON_STRING = /()("(?:[^"\\]|\\.)*")/g

/** Changes the strings that are paths and no other byte. */
const moveInJson = (path: string, moved: Moved, strings = JSON_STRING): void =>
  changeText(path, text =>
    text.replace(strings, (whole, before: string, literal: string) => {
      const value = parseString(literal)
      const now = value === undefined ? undefined : moved(value)
      return now === value ? whole : before + JSON.stringify(now)
    }),
  )

/** They are found by a hash of the workspace's path. Renamed first: after a kill, the files that still name the former place are found. */
const moveCheckpoints = (home: string, moved: Moved): void => {
  for (const name of namesIn(join(home, 'checkpoints'))) {
    const former = join(home, 'checkpoints', name)
    const { text } = readText(join(former, 'webui', 'workspace.txt'))
    const now = text === null ? null : moved(text)
    if (now === null || now === text || realDirectory(now) === undefined) continue
    const dir = checkpointDir(home, now)
    if (dir !== former) {
      if (existsSync(dir)) continue
      renameSync(former, dir)
    }
    for (const records of ['turns', 'open'])
      for (const record of namesIn(join(dir, 'webui', records)))
        moveInJson(join(dir, 'webui', records, record), moved)
    changeText(join(dir, 'HERMES_WORKDIR'), each => moved(each.trim()))
    changeText(join(dir, 'webui', 'workspace.txt'), () => now)
  }
}

/**
 * Git notes absolute paths on both sides. A worktree that still exists at its former path keeps its repository, unless that was moved
 * along: a copy must not write into the repository of the original.
 */
const moveWorktree = (tree: string, moved: Moved): void => {
  const link = join(tree, '.git')
  const { text } = readText(link)
  const [, repository] = /^gitdir: (\/.+)$/m.exec(text ?? '') ?? []
  if (repository === undefined) return
  const own = existsSync(moved(repository)) ? moved(repository) : repository
  const back = join(own, 'gitdir')
  const current = readText(back).text?.trim()
  if (current === undefined) return
  if (own === repository && current !== link && existsSync(current)) return
  changeText(back, () => `${link}\n`)
  changeText(link, () => `gitdir: ${own}\n`)
}

/** The folder itself, and the worktrees of the repository that it is. */
const treesOf = (dir: string, moved: Moved): string[] => [
  dir,
  ...namesIn(join(dir, '.git', 'worktrees')).flatMap(name => {
    const { text } = readText(join(dir, '.git', 'worktrees', name, 'gitdir'))
    return text === null ? [] : [dirname(moved(text.trim()))]
  }),
]

const moveLists = (dir: string, moved: Moved): void => {
  moveInJson(join(dir, 'workspaces.json'), moved)
  changeText(join(dir, 'last_workspace.txt'), text => `${moved(text.trim())}\n`)
}

/** Chats in the former format, which only a change converts, and what can come back from the trash. */
const moveStored = (stateDir: string, moved: Moved): void => {
  const sessions = join(stateDir, 'sessions')
  const names = namesIn(sessions)
  const former = names.filter(name => name.endsWith('.json') && !names.includes(`${name}l`))
  const trashed = ['trash', 'file-trash'].flatMap(trash =>
    namesIn(join(stateDir, trash)).flatMap(id =>
      namesIn(join(stateDir, trash, id))
        .filter(name => /\.jsonl?$/.test(name))
        .map(name => join(stateDir, trash, id, name)),
    ),
  )
  for (const path of [...former.map(name => join(sessions, name)), ...trashed])
    moveInJson(path, moved, WORKSPACE)
}

/** A person's to change: commands, hooks and folders of programs. */
const nameLeft = (home: string, roots: readonly Root[], log: Log): void => {
  const former = roots.filter(({ from, to }) => from !== to).map(({ from }) => RegExp.escape(from))
  if (former.length === 0) return
  const names = new RegExp(`(?<![\\w/.-])(?:${former.join('|')})(?![^/\\s"',:;)\\]}])`)
  for (const path of [join(home, 'config.yaml'), join(home, '.env')]) {
    const lines = (readText(path).text ?? '').split('\n')
    const lineNumbers = lines.flatMap((line, at) => (names.test(line) ? [at + 1] : []))
    if (lineNumbers.length > 0)
      log.warn(
        `${path} names the former place; adapt what is there: line ${lineNumbers.join(', ')}`,
      )
  }
}

/**
 * A home or a repository may be read-only, or another user's: it must not keep the service from starting. A full disk may have space at
 * the next start, which does all of it again.
 */
const attempt = (place: string, log: Log, work: () => void): void => {
  try {
    work()
  } catch (error) {
    if (!isRefused(error) || (isFull(error) && isWritable(place))) throw error
    log.warn(`not all paths in ${place} were adapted: ${sentenceOf(error)}`)
  }
}

/** What says where it was, if nothing else does, is changed last: after a kill it is guessed again. */
const moveFiles = ({ stateDir, baseHome }: Config, log: Log, { moved, roots }: Move): void => {
  for (const home of homesOf(baseHome)) {
    attempt(home, log, () => {
      moveLists(join(home, 'webui_state'), moved)
      moveInJson(join(home, 'cron', 'jobs.json'), moved)
      moveCheckpoints(home, moved)
    })
    nameLeft(home, roots, log)
  }
  const trees = join(realPath(stateDir), 'worktrees')
  for (const name of namesIn(trees)) {
    const tree = join(trees, name)
    attempt(tree, log, () => moveWorktree(tree, moved))
  }
  // Prompts that name the former folders.
  rmSync(join(stateDir, 'cache', 'prompts'), { recursive: true, force: true })
  moveInJson(join(stateDir, 'settings.json'), moved)
  moveInJson(join(stateDir, 'api-tokens.json'), moved)
  moveLists(stateDir, moved)
  moveStored(stateDir, moved)
}

const isWritable = (dir: string): boolean => {
  try {
    accessSync(dir, constants.W_OK)
    return true
  } catch {
    // Read-only, or another user's.
    return false
  }
}

/** False for one that this user may not look into: that is no place for a disk. */
const isEmpty = (dir: string): boolean => {
  try {
    return readdirSync(dir).length === 0
  } catch {
    return false
  }
}

/** Below the empty folder where a disk is mounted at other times. An empty one beside the root, such as `/mnt`, is on every machine. */
const isOnOtherDisk = (path: string): boolean => {
  let dir = path
  while (!existsSync(dir)) dir = dirname(dir)
  return dir !== path && dirname(dir) !== '/' && dir !== '/' && isEmpty(dir)
}

type Data = { sessions: Sessions; workspaces: Workspaces; homes: Homes }

const moveChats = ({ sessions, workspaces, homes }: Data, log: Log, move: Move): void => {
  const { moved, isElsewhere, roots } = move
  const rows = rowsOf(sessions.list().body)
  const folders = new Set<string>()
  let absent = 0
  let lost = 0
  let unreadable = 0
  for (const { session_id, workspace, profile } of rows) {
    if (workspace === '') continue
    const home = homes.of(profile)
    let target = [moved(workspace), workspace].find(path => workspaces.allowed(home, path))
    if (target !== undefined) folders.add(target)
    else if (isOnOtherDisk(workspace)) {
      absent += 1
      continue
    } else lost += 1
    if (target === workspace || (target === undefined && !isElsewhere)) continue
    target ??= workspaces.last(home)
    try {
      sessions.append(session_id, [{ t: 'meta', patch: { workspace: target } }])
    } catch (error) {
      // A damaged file: it must not keep the service from starting.
      if (!(error instanceof UserError) || error.kind === 'full') throw error
      unreadable += 1
    }
  }
  if (roots.length > 0)
    for (const tree of [...folders].flatMap(dir => treesOf(dir, moved)))
      attempt(tree, log, () => moveWorktree(tree, moved))
  if (lost > 0 && (isElsewhere || move.isGuessed))
    log.warn(
      `the folders of ${lost} chats are not on this machine, or not among its workspaces; ${isElsewhere ? 'they go on in the workspace of new chats' : 'choose others in the chats'}`,
    )
  if (absent > 0)
    log.warn(`${absent} chats work on a disk that is not there; they go on when it is`)
  if (unreadable > 0) log.warn(`${unreadable} chats cannot be read; their folders were not adapted`)
}

/** Called before anything reads the files. The returned function is called when the chats can be read. */
export const startMove = (config: Config, log: Log): ((data: Data) => void) => {
  // A service with folders of a person may have them on several machines; a cell of a worker has all that it names in its directory.
  if (config.cluster !== null && config.cluster.runBy === null) return () => undefined
  const move = movedSince(config)
  if (move && move.roots.length > 0) {
    log.info('this installation is at another place than before; paths are adapted')
    moveFiles(config, log, move)
  }
  return data => {
    if (move) moveChats(data, log, move)
    noteLocation(config)
  }
}
