/** The language server of one session and project: the first that starts, its checks one after the other, and its failure. */
import type { Clock } from '../../base/clock.ts'
import type { EditedFile } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import type { Diagnostic } from './compare.ts'
import { type Connection, connect, NotStarted } from './connection.ts'
import { compareEdits, OpenDocuments } from './documents.ts'
import { FileChanges } from './file-changes.ts'
import { candidatesFor, type ServerPlace } from './programs.ts'
import { languageOf, type Server } from './servers.ts'

export const LATE = Symbol('late')

/** A server that answers no check for this long is ended. */
const CHECK_MS = 60_000

/** Checks in a row that took too long, after which a server is not asked any more. */
const MAX_LATE = 3

type Started = {
  connection: Connection
  documents: OpenDocuments
  changes: FileChanges
}

export class SessionServer {
  readonly #options
  #connection: Connection | undefined
  readonly #killed = new AbortController()
  #id: string
  #state: 'running' | 'absent' | 'failed' | 'stopped' = 'running'
  #failure: string | undefined
  #current: Promise<unknown> | null = null
  #isLate = false
  #lateChecks = 0
  readonly #started: Promise<Started | null>

  constructor(options: {
    /** Those that read the files, best first. */
    servers: readonly Server[]
    root: string
    place: ServerPlace
    clock: Clock
    warn: (message: string, fields: Record<string, unknown>) => void
  }) {
    this.#options = options
    this.#id = options.servers[0]?.id ?? ''
    this.#started = this.#start()
  }

  #fail(reason: string) {
    if (this.#state !== 'running') return
    this.#state = 'failed'
    this.#failure = `The language server ${this.#id} cannot be used: ${reason}. Edits of this session are not checked by it any more.`
    this.#killed.abort()
    this.#options.warn('language server', { server: this.#id, reason })
  }

  async #start(): Promise<Started | null> {
    let problem: string | undefined
    for (const server of this.#options.servers) {
      for (const candidate of candidatesFor(server, this.#options.root, this.#options.place)) {
        if (this.#state !== 'running') return null
        this.#id = server.id
        try {
          this.#connection = await connect(
            await candidate(),
            this.#options.root,
            server.options,
            this.#killed.signal,
          )
        } catch (error) {
          if (!(error instanceof NotStarted && error.isMissing)) problem = messageOf(error)
          continue
        }
        void this.#connection.ended.then(reason => this.#fail(reason))
        return {
          connection: this.#connection,
          documents: new OpenDocuments(this.#options.clock, this.#connection, path =>
            languageOf(server, path),
          ),
          changes: new FileChanges(this.#options.root, new Set(Object.keys(server.languages))),
        }
      }
    }
    if (problem !== undefined) this.#fail(problem)
    if (this.#state === 'running') this.#state = 'absent'
    return null
  }

  async #checkNow(edits: readonly EditedFile[]) {
    const server = await this.#started
    if (!server || this.#state !== 'running') return null
    server.connection.resetLimit()
    const events = await server.changes.list()
    if (events.length > 0)
      void server.connection.notify('workspace/didChangeWatchedFiles', { changes: events })
    const cancel = this.#options.clock.timer(CHECK_MS, () => this.#fail('it does not answer'))
    return compareEdits(server.documents, edits).finally(cancel)
  }

  /** New and old errors and warnings; null: not known. Never rejects. `late` ends the wait, not the check. */
  async check(
    edits: readonly EditedFile[],
    late: Promise<typeof LATE>,
  ): Promise<{ before: Diagnostic[]; after: Diagnostic[] } | null> {
    // A check that is late is not waited for again; this edit is seen with the next check.
    if (this.#state !== 'running' || this.#isLate) return null
    const before = this.#current
    const own = (async () => {
      await before
      try {
        return await this.#checkNow(edits)
      } catch {
        // The server has ended, which `fail` reports, or it does not know: no result.
        return null
      }
    })()
    this.#current = own
    void own.then(() => {
      if (this.#current !== own) return
      this.#current = null
      this.#isLate = false
    })
    const result = await Promise.race([own, late])
    if (result !== LATE) {
      this.#lateChecks = 0
      return result
    }
    this.#isLate = this.#current !== null
    this.#lateChecks += 1
    if (this.#lateChecks === MAX_LATE) this.#fail('it takes too long')
    return null
  }

  /** Why it is not asked any more, once. */
  takeFailure(): string | undefined {
    const failure = this.#failure
    this.#failure = undefined
    return failure
  }

  hasFailed(): boolean {
    return this.#state === 'failed'
  }

  /** It has a process, or is about to start one. */
  isRunning(): boolean {
    return this.#state === 'running'
  }

  isBusy(): boolean {
    return this.#current !== null
  }

  stop(how: 'ask' | 'kill'): void {
    if (this.#state === 'running') this.#state = 'stopped'
    if (how === 'ask' && this.#connection) this.#connection.stop('ask')
    else this.#killed.abort()
  }
}
