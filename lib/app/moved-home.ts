/**
 * What is done once when this installation is elsewhere than before: it was restored, copied or moved to another path, user or
 * machine. Chats, tasks, lists of workspaces and checkpoints name folders by absolute paths, so those of the former place become
 * those of this one. `location.json` is written last: after a kill, everything is done again, which changes nothing more.
 */
import { accessSync, constants, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { SessionRow } from '../schema/session.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { checkpointDir } from '../checkpoints/checkpoint-store.ts'
import { replaceText } from '../store/atomic-write.ts'
import { errorCode, sentenceOf } from '../store/file-error.ts'
import { isBelow, realPath } from '../store/path-within.ts'
import { readText } from '../store/read-text.ts'
import { realDirectory } from '../workspaces/workspace-paths.ts'
import { UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import { homesOf } from '../profiles/secret-files.ts'
import type { Sessions } from '../sessions/types.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'

const Location = z.object({ home: z.string(), state: z.string(), user_home: z.string() })
type Location = z.infer<typeof Location>

const fileOf = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'location.json')

type Places = Pick<Config, 'stateDir' | 'baseHome' | 'userHome'>

const here = ({ stateDir, baseHome, userHome }: Places): Location => ({
  home: realPath(baseHome),
  state: realPath(stateDir),
  user_home: realPath(userHome),
})

/** Undefined where none was noted, by an earlier version, or where it cannot be read. */
const noted = (config: Places): Location | undefined => {
  const { text } = readText(fileOf(config))
  if (text === null) return undefined
  try {
    return Location.parse(JSON.parse(text))
  } catch {
    // Damaged: as if it were not there. The paths then stay as they are.
    return undefined
  }
}

const noteLocation = (config: Places): void => {
  const location = here(config)
  if (JSON.stringify(noted(config)) !== JSON.stringify(location))
    replaceText(fileOf(config), `${JSON.stringify(location)}\n`)
}

/**
 * Called before a backup, so that a restored one says where it was. A place that is noted stays: where it is another one, the first
 * start here has yet to adapt the paths.
 */
export const noteFirstLocation = (config: Places): void => {
  if (existsSync(config.stateDir) && !existsSync(fileOf(config))) noteLocation(config)
}

/** Where a path of the former place is now; the same path when it was in none of its directories. */
type Moved = (path: string) => string

/** `isElsewhere`: the home or the state directory, not only the user's home, is another one. */
type Move = { moved: Moved; isElsewhere: boolean }

/** With another user's home alone, as under `sudo`, nothing was moved: only a folder that is gone is looked for there. */
const isOfNewUser = (path: string, target: string): boolean =>
  existsSync(target) && !existsSync(path)

const movedSince = (config: Places): Move | null => {
  const before = noted(config)
  if (!before) return null
  const now = here(config)
  const roots = (['state', 'home', 'user_home'] as const)
    .map(key => ({ key, from: before[key], to: now[key] }))
    .filter(({ from }) => from !== '/')
  const changed = roots.filter(({ from, to }) => from !== to)
  if (changed.length === 0) return null
  const isElsewhere = changed.some(({ key }) => key !== 'user_home')
  // The innermost first: the state directory may be moved out of the home. What is in the new place, which may be below the former
  // one, stays: after a kill everything is done again.
  const places = [
    ...roots.map(root => ({ ...root, place: root.from })),
    ...roots.map(root => ({ ...root, place: root.to, from: root.to })),
  ].toSorted((a, b) => b.place.length - a.place.length)
  const moved = (path: string): string => {
    const root = path.startsWith('/') && places.find(({ place }) => isBelow(place, path))
    if (!root) return path
    const target = root.to + path.slice(root.from.length)
    return isElsewhere || isOfNewUser(path, target) ? target : path
  }
  return { moved, isElsewhere }
}

const JSON_STRING = /"(?:[^"\\]|\\.)*"/g

const changeText = (path: string, change: (text: string) => string): void => {
  const { text } = readText(path)
  if (text === null) return
  const changed = change(text)
  if (changed !== text) replaceText(path, changed, { keepsMark: true })
}

/** Changes the strings that are paths and no other byte. A string that is no JSON stays. */
const moveInJson = (path: string, moved: Moved): void =>
  changeText(path, text =>
    text.replace(JSON_STRING, literal => {
      try {
        const value = JSON.parse(literal) as string
        const now = moved(value)
        return now === value ? literal : JSON.stringify(now)
      } catch {
        // No JSON: it stays.
        return literal
      }
    }),
  )

const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : [])

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
const moveWorktrees = (stateDir: string, moved: Moved): void => {
  for (const name of namesIn(join(stateDir, 'worktrees'))) {
    const link = join(stateDir, 'worktrees', name, '.git')
    const { text } = readText(link)
    const [, repository] = /^gitdir: (.+)$/m.exec(text ?? '') ?? []
    if (repository === undefined) continue
    const own = existsSync(moved(repository)) ? moved(repository) : repository
    const back = join(own, 'gitdir')
    const known = readText(back).text?.trim()
    if (known === undefined) continue
    if (own === repository && known !== link && existsSync(known)) continue
    changeText(back, () => `${link}\n`)
    changeText(link, () => `gitdir: ${own}\n`)
  }
}

const moveLists = (dir: string, moved: Moved): void => {
  moveInJson(join(dir, 'workspaces.json'), moved)
  changeText(join(dir, 'last_workspace.txt'), text => `${moved(text.trim())}\n`)
}

const moveFiles = ({ stateDir, baseHome }: Places, log: Log, moved: Moved): void => {
  moveLists(stateDir, moved)
  moveInJson(join(stateDir, 'settings.json'), moved)
  moveInJson(join(stateDir, 'api-tokens.json'), moved)
  for (const home of homesOf(baseHome))
    try {
      moveLists(join(home, 'webui_state'), moved)
      moveInJson(join(home, 'cron', 'jobs.json'), moved)
      moveCheckpoints(home, moved)
    } catch (error) {
      // A home may be read-only, or another user's: it must not keep the service from starting.
      // A full disk may have space at the next start, which does all of it again.
      if (!isRefused(error) || (isFull(error) && isWritable(home))) throw error
      log.warn(`not all paths in ${home} were adapted: ${sentenceOf(error)}`)
    }
  moveWorktrees(stateDir, moved)
  // Prompts that name the former folders.
  rmSync(join(stateDir, 'cache', 'prompts'), { recursive: true, force: true })
}

const isFull = (error: unknown): boolean => error instanceof UserError && error.kind === 'full'

const isWritable = (dir: string): boolean => {
  try {
    accessSync(dir, constants.W_OK)
    return true
  } catch {
    // Read-only, or another user's.
    return false
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof UserError || ['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))

type Data = { sessions: Sessions; workspaces: Workspaces; homes: Homes }

const moveChats = ({ sessions, workspaces, homes }: Data, log: Log, move: Move): void => {
  const { moved, isElsewhere } = move
  const rows = JSON.parse(Buffer.concat(sessions.list().body).toString()) as SessionRow[]
  const isUsable = (home: Home, path: string): boolean => {
    try {
      return workspaces.check(home, path) !== ''
    } catch (error) {
      if (error instanceof UserError) return false
      throw error
    }
  }
  let lost = 0
  let unreadable = 0
  for (const { session_id, workspace, profile } of rows) {
    if (workspace === '') continue
    const home = homes.of(profile)
    let target = [moved(workspace), workspace].find(path => isUsable(home, path))
    if (target === workspace) continue
    if (target === undefined && !isElsewhere) continue
    if (target === undefined) lost += 1
    target ??= workspaces.last(home)
    try {
      sessions.append(session_id, [{ t: 'meta', patch: { workspace: target } }])
    } catch (error) {
      // A damaged file: it must not keep the service from starting.
      if (!(error instanceof UserError) || error.kind === 'full') throw error
      unreadable += 1
    }
  }
  if (lost > 0)
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
  if (move) {
    log.info('this installation is at another place than before; paths are adapted')
    moveFiles(config, log, move.moved)
  }
  return data => {
    if (move) moveChats(data, log, move)
    noteLocation(config)
  }
}
