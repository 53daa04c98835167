/**
 * What is done once when this installation is elsewhere than before: it was restored, copied or moved to another path, user or
 * machine. Chats, tasks, lists of workspaces and checkpoints name folders by absolute paths, so those of the former place become
 * those of this one. `location.json` is written last: after a kill, everything is done again, which changes nothing more.
 */
import { accessSync, constants, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { SessionRow } from '../schema/session.ts'
import type { Config } from '../config.ts'
import type { Log } from './log.ts'
import { checkpointDir } from '../workspaces/checkpoints/checkpoint-store.ts'
import { replaceText } from '../store/atomic-write.ts'
import { errorCode, sentenceOf } from '../store/file-error.ts'
import { isBelow, realPath } from '../store/path-within.ts'
import { readText } from '../store/read-text.ts'
import { realDirectory } from '../workspaces/workspace-paths.ts'
import { UserError } from '../errors.ts'
import type { Homes } from '../profiles/homes.ts'
import { homesOf } from '../profiles/secret-files.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'

const Place = z.object({ home: z.string(), state: z.string(), user_home: z.string() })
type Place = z.infer<typeof Place>
const Location = Place.extend({
  /** As they were configured, where that leads to them by links. */
  named: Place.optional(),
})
type Location = z.infer<typeof Location>

const fileOf = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'location.json')

type Places = Pick<Config, 'stateDir' | 'baseHome' | 'userHome'>

const KEYS = ['state', 'home', 'user_home'] as const

const here = ({ stateDir, baseHome, userHome }: Places): Location => {
  const named = { home: resolve(baseHome), state: resolve(stateDir), user_home: resolve(userHome) }
  const real = {
    home: realPath(baseHome),
    state: realPath(stateDir),
    user_home: realPath(userHome),
  }
  return { ...real, ...(KEYS.some(key => named[key] !== real[key]) && { named }) }
}

/** Undefined where none was noted, by an earlier version, or where it cannot be read. */
const noted = (config: Places): Location | undefined => {
  const { text } = readText(fileOf(config))
  if (text === null) return undefined
  try {
    return Location.parse(JSON.parse(text))
  } catch {
    // Damaged: as if it were not there.
    return undefined
  }
}

const noteLocation = (config: Places): void => {
  const location = here(config)
  if (JSON.stringify(noted(config)) !== JSON.stringify(location))
    replaceText(fileOf(config), `${JSON.stringify(location)}\n`)
}

const isFull = (error: unknown): boolean => error instanceof UserError && error.kind === 'full'

const isRefused = (error: unknown): boolean =>
  error instanceof UserError || ['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))

/**
 * Called before a backup, so that a restored one says where it was. A place that is noted stays: where it is another one, the first
 * start here has yet to adapt the paths.
 */
export const noteFirstLocation = (config: Places): void => {
  if (!existsSync(config.stateDir) || existsSync(fileOf(config))) return
  try {
    noteLocation(config)
  } catch (error) {
    // A full disk, or files of another user: what is there is saved all the same.
    if (!isRefused(error)) throw error
  }
}

/** A directory that was elsewhere before. */
type Root = { key: (typeof KEYS)[number]; from: string; to: string }

const rootsOf = (former: readonly Partial<Place>[], now: Place): Root[] =>
  former.flatMap(place =>
    KEYS.flatMap(key => {
      const from = place[key]
      return from === undefined || from === '/' ? [] : [{ key, from, to: now[key] }]
    }),
  )

const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : [])

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

/** `/home/ann` begins `/home/ann/x`, and neither `/home/anna` nor `/home/ann/../bob`. */
const begins = (place: string, path: string): boolean =>
  (path === place || path.startsWith(`${place}/`)) && isBelow(place, path)

/** Where a path of the former place is now; the same path when it was in none of its directories. */
type Moved = (path: string) => string

/** `isElsewhere`: it is known that the home or the state directory, not only the user's home, is another one. */
type Move = { roots: readonly Root[]; moved: Moved; isElsewhere: boolean }

/**
 * With another user's home alone, as under `sudo`, nothing was moved: only a folder that is gone is looked for there. Where the home was
 * moved as well, a folder of that user that was not stays: a service that got a user of its own works in folders of people.
 */
const isOnlyThere = (path: string, target: string): boolean =>
  existsSync(target) && !existsSync(path)

const movedSince = (config: Places): Move | null => {
  const before = noted(config)
  const now = here(config)
  const changed = before ? KEYS.filter(key => before[key] !== now[key]) : []
  if (!before || changed.length === 0) return null
  const isElsewhere = changed.some(key => key !== 'user_home')
  const roots = rootsOf([before, before.named ?? {}], now)
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
  return { roots, moved, isElsewhere }
}

const changeText = (path: string, change: (text: string) => string): void => {
  const { text } = readText(path)
  if (text === null) return
  const changed = change(text)
  if (changed !== text) replaceText(path, changed, { keepsMark: true })
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
  const known = readText(back).text?.trim()
  if (known === undefined) return
  if (own === repository && known !== link && existsSync(known)) return
  changeText(back, () => `${link}\n`)
  changeText(link, () => `gitdir: ${own}\n`)
}

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

const moveFiles = ({ stateDir, baseHome }: Places, log: Log, { moved }: Move): void => {
  for (const home of homesOf(baseHome))
    attempt(home, log, () => {
      moveLists(join(home, 'webui_state'), moved)
      moveInJson(join(home, 'cron', 'jobs.json'), moved)
      moveCheckpoints(home, moved)
    })
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

type Data = { sessions: Sessions; workspaces: Workspaces; homes: Homes }

const moveChats = ({ sessions, workspaces, homes }: Data, log: Log, move: Move): void => {
  const { moved, isElsewhere } = move
  const rows = JSON.parse(sessions.list().body.toString()) as SessionRow[]
  let lost = 0
  let unreadable = 0
  for (const { session_id, workspace, profile } of rows) {
    if (workspace === '') continue
    const home = homes.of(profile)
    let target = [moved(workspace), workspace].find(path => workspaces.allowed(home, path))
    if (target === undefined) lost += 1
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
  if (lost > 0 && isElsewhere)
    log.warn(
      `the folders of ${lost} chats are not on this machine, or not among its workspaces; they go on in the workspace of new chats`,
    )
  if (unreadable > 0) log.warn(`${unreadable} chats cannot be read; their folders were not adapted`)
}

/** Called before anything reads the files. The returned function is called when the chats can be read. */
export const startMove = (config: Config, log: Log): ((data: Data) => void) => {
  // The cells of a cluster are on several machines.
  if (config.cluster !== null) return () => undefined
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
