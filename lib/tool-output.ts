/** Long results of tools and pictures agents show, kept beside the transcript: a private folder for each session, bounded as a whole. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { SESSION_ID } from './schema/ids.ts'

const MAX_TOTAL_BYTES = 256 * 1024 * 1024
const MAX_FILES = 2_000
/** Of one result. What prints more is better sent to a file. */
const MAX_CHARS = 8_000_000

export type ToolOutput = ReturnType<typeof createToolOutput>

type Kept = { path: string; sizeBytes: number; at: number }

export const createToolOutput = ({
  dir,
  maxTotalBytes = MAX_TOTAL_BYTES,
  maxFiles = MAX_FILES,
  log,
}: {
  dir: string
  maxTotalBytes?: number
  maxFiles?: number
  log: (line: string, extra?: Record<string, unknown>) => void
}) => {
  const dirOf = (sessionId: string): string => {
    if (!SESSION_ID.test(sessionId)) throw new Error('Not a session id')
    return join(dir, sessionId)
  }

  const names = (place: string): string[] => {
    try {
      return readdirSync(place)
    } catch {
      // Nothing was ever kept there.
      return []
    }
  }

  const filesOf = (place: string): Kept[] =>
    names(place).flatMap(name => {
      const path = join(place, name)
      const stat = statSync(path, { throwIfNoEntry: false })
      return stat?.isFile() ? [{ path, sizeBytes: stat.size, at: stat.mtimeMs }] : []
    })

  /** Room for what comes: the oldest go first, whose ever they are. */
  const makeRoom = (): void => {
    const all = names(dir).flatMap(name => filesOf(join(dir, name)))
    let total = all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    let count = all.length
    for (const { path, sizeBytes } of all.sort((a, b) => a.at - b.at)) {
      if (total <= maxTotalBytes && count <= maxFiles) return
      rmSync(path, { force: true })
      total -= sizeBytes
      count -= 1
    }
  }

  /** Ids of calls are a provider's: as a name only when they are one. Never over what stands there. */
  const freeName = (place: string, callId: string, ending: string): string => {
    const stem = /^[\w-]{1,80}$/.test(callId)
      ? callId
      : createHash('sha256').update(callId).digest('hex').slice(0, 24)
    const taken = new Set(names(place))
    for (let n = 1; ; n++) {
      const name = n === 1 ? `${stem}.${ending}` : `${stem}-${n}.${ending}`
      if (!taken.has(name)) return name
    }
  }

  const write = (
    sessionId: string,
    callId: string,
    content: string | Buffer,
    ending: string,
  ): string | null => {
    try {
      const place = dirOf(sessionId)
      mkdirSync(place, { recursive: true, mode: 0o700 })
      const path = join(place, freeName(place, callId, ending))
      writeFileSync(path, content, { mode: 0o600, flag: 'wx' })
      makeRoom()
      return path
    } catch (error) {
      log('a long result could not be kept', { session_id: sessionId, error: String(error) })
      return null
    }
  }

  return {
    dirOf,
    /** Whose folder a path lies in: pages name a picture by its path alone. */
    ownerOf(path: string): string | undefined {
      const way = relative(dir, path)
      const [id = ''] = way.split(sep)
      return isAbsolute(path) && way !== id && SESSION_ID.test(id) ? id : undefined
    },
    /** Where it stands; null when it could not be kept, which is no reason for a turn to fail. */
    save(sessionId: string, callId: string, text: string): string | null {
      const kept =
        text.length > MAX_CHARS
          ? `${text.slice(0, MAX_CHARS)}\n[… ${text.length - MAX_CHARS} more characters were not kept …]\n`
          : text
      return write(sessionId, callId, kept, 'txt')
    },
    /** As `save`; `ending` says what the bytes are. */
    saveBytes: write,
    /** With its session, for good. */
    remove(sessionId: string): void {
      rmSync(dirOf(sessionId), { recursive: true, force: true })
    },
    /** Of a session that was purged: only what its messages still name stays. */
    retain(sessionId: string, isNamed: (path: string) => boolean): void {
      for (const { path } of filesOf(dirOf(sessionId))) if (!isNamed(path)) rmSync(path)
    },
    /** Folders of sessions that are neither there nor in the trash. */
    sweep(isKept: (sessionId: string) => boolean): void {
      for (const id of names(dir))
        if (SESSION_ID.test(id) && !isKept(id))
          rmSync(join(dir, id), { recursive: true, force: true })
    },
  }
}
