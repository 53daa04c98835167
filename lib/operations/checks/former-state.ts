/** Recognizes files of Hermes WebUI: in the state directory, where they are used, and in its own home, where they are not. */
import { closeSync, existsSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type Check, ok } from './check.ts'
import type { Config } from '../../config.ts'
import { openFile } from '../../store/read-text.ts'

export const FORMER = 'Hermes WebUI'

/** Written by it beside its sessions, and by `export --as json`. A copy of the sessions may lack it. */
const INDEX = '_index.json'

const HEAD_BYTES = 256

/** Whether the file begins as a session does. */
const isSession = (path: string): boolean => {
  const fd = openFile(path)
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    readSync(fd, head)
    return /^\s*\{\s*"session_id"/.test(head.toString())
  } finally {
    closeSync(fd)
  }
}

/** Sessions that have no journal of ours yet. */
const countSessions = (stateDir: string): number => {
  const dir = join(stateDir, 'sessions')
  if (!existsSync(dir)) return 0
  const names = new Set(readdirSync(dir))
  const files = [...names].filter(
    name => /^\w+\.json$/.test(name) && name !== INDEX && !names.has(`${name}l`),
  )
  const [first] = files
  const isFormer = names.has(INDEX) || (first !== undefined && isSession(join(dir, first)))
  return isFormer ? files.length : 0
}

const plural = (n: number): string => `${n} session${n === 1 ? '' : 's'}`

const usedChecks = ({ stateDir }: Config): Check[] => {
  const n = countSessions(stateDir)
  if (n === 0) return []
  return [
    ok(
      FORMER,
      `${plural(n)} of it in ${stateDir} ${n === 1 ? 'is' : 'are'} listed and read unchanged; a first change converts a session and keeps its file`,
    ),
  ]
}

const unusedChecks = ({ baseHome, stateDir, userHome, env }: Config): Check[] => {
  const home = env.HERMES_HOME?.trim() || join(userHome, '.hermes')
  if (home === baseHome || join(home, 'webui') === stateDir) return []
  const n = countSessions(join(home, 'webui'))
  return n === 0
    ? []
    : [
        ok(
          FORMER,
          `it has ${plural(n)} in ${home}; AGENT_HOME=${home} uses that home and its sessions`,
        ),
      ]
}

/** For `doctor`, and for the log of a start. Nothing is said where neither exists or can be read. */
export const formerStateChecks = (config: Config): Check[] =>
  [usedChecks, unusedChecks].flatMap(check => {
    try {
      return check(config)
    } catch {
      // What cannot be read is reported by the checks of the state directory.
      return []
    }
  })
