/** The language server of one session and project: the first that starts, its checks one after the other, and its failure. */
import type { Clock } from '../../base/clock.ts'
import type { EditedFile } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import type { Found } from './compare.ts'
import { type Connection, connect, NotStarted } from './connection.ts'
import { compareEdits, createDocuments, type Documents } from './documents.ts'
import { createFileChanges } from './file-changes.ts'
import { candidatesFor, type Place } from './programs.ts'
import { languageOf, type Server } from './servers.ts'

export const LATE = Symbol('late')

export type SessionServer = {
  /** New and old errors and warnings; null: not known. Never rejects. `late` ends the wait, not the check. */
  check: (
    edits: readonly EditedFile[],
    late: Promise<typeof LATE>,
  ) => Promise<{ before: Found[]; after: Found[] } | null>
  /** Why it is not asked any more, once. */
  takeFailure: () => string | undefined
  hasFailed: () => boolean
  /** It has a process, or is about to start one. */
  isRunning: () => boolean
  isBusy: () => boolean
  stop: (how: 'ask' | 'kill') => void
}

/** A server that answers no check for this long is ended. */
const CHECK_MS = 60_000

export type SessionServerOptions = {
  /** Those that read the files, best first. */
  servers: readonly Server[]
  root: string
  place: Place
  clock: Clock
  warn: (message: string, fields: Record<string, unknown>) => void
}

/** Checks in a row that took too long, after which a server is not asked any more. */
const MAX_LATE = 3

type Started = {
  connection: Connection
  documents: Documents
  changes: ReturnType<typeof createFileChanges>
}

export const startSessionServer = (options: SessionServerOptions): SessionServer => {
  const { servers, root, place, clock, warn } = options
  let connection: Connection | undefined
  const killed = new AbortController()
  let id = servers[0]?.id ?? ''
  let state: 'running' | 'absent' | 'failed' | 'stopped' = 'running'
  let failure: string | undefined
  let current: Promise<unknown> | null = null
  let isLate = false
  let lateChecks = 0

  const fail = (reason: string) => {
    if (state !== 'running') return
    state = 'failed'
    failure = `The language server ${id} cannot be used: ${reason}. Edits of this session are not checked by it any more.`
    killed.abort()
    warn('language server', { server: id, reason })
  }

  const start = async (): Promise<Started | null> => {
    let problem: string | undefined
    for (const server of servers) {
      for (const candidate of candidatesFor(server, root, place)) {
        if (state !== 'running') return null
        id = server.id
        try {
          connection = await connect(await candidate(), root, server.options, killed.signal)
        } catch (error) {
          if (!(error instanceof NotStarted && error.isMissing)) problem = messageOf(error)
          continue
        }
        void connection.ended.then(fail)
        return {
          connection,
          documents: createDocuments(clock, connection, path => languageOf(server, path)),
          changes: createFileChanges(root, new Set(Object.keys(server.languages))),
        }
      }
    }
    if (problem !== undefined) fail(problem)
    if (state === 'running') state = 'absent'
    return null
  }
  const started = start()

  const checkNow = async (edits: readonly EditedFile[]) => {
    const server = await started
    if (!server || state !== 'running') return null
    server.connection.resetLimit()
    const events = await server.changes()
    if (events.length > 0)
      void server.connection.notify('workspace/didChangeWatchedFiles', { changes: events })
    const cancel = clock.timer(CHECK_MS, () => fail('it does not answer'))
    return compareEdits(server.documents, edits).finally(cancel)
  }

  return {
    async check(edits, late) {
      // A check that is late is not waited for again; this edit is seen with the next check.
      if (state !== 'running' || isLate) return null
      const before = current
      const own = (async () => {
        await before
        try {
          return await checkNow(edits)
        } catch {
          // The server has ended, which `fail` reports, or it does not know: no result.
          return null
        }
      })()
      current = own
      void own.then(() => {
        if (current !== own) return
        current = null
        isLate = false
      })
      const result = await Promise.race([own, late])
      if (result !== LATE) {
        lateChecks = 0
        return result
      }
      isLate = current !== null
      lateChecks += 1
      if (lateChecks === MAX_LATE) fail('it takes too long')
      return null
    },
    takeFailure() {
      const said = failure
      failure = undefined
      return said
    },
    hasFailed: () => state === 'failed',
    isRunning: () => state === 'running',
    isBusy: () => current !== null,
    stop(how) {
      if (state === 'running') state = 'stopped'
      if (how === 'ask' && connection) connection.stop('ask')
      else killed.abort()
    },
  }
}
