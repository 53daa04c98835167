/** Diagnostics after an edit: language servers by session and project, started by the first edit and stopped when idle. */
import { relative } from 'node:path'
import { type Clock, fromSeconds } from '../../base/clock.ts'
import type { CheckEdits, EditDiagnostics, EditedFile } from '../../agent/tool-services.ts'
import { isInside } from '../../store/path-within.ts'
import { newDiagnostics, toLines } from './compare.ts'
import { type ServerPlace, rootOf } from './programs.ts'
import { languageOf, type Server, serversOf } from './servers.ts'
import { LATE, SessionServer } from './session-server.ts'

export type DiagnosticsScope = ServerPlace & {
  /** Whose servers these are: the id of the session. */
  owner: string
  /** `lsp` of config.yaml. */
  settings: { wait_timeout: number; idle_timeout: number; servers?: unknown }
}

/** Of the whole service: a server of a large project has hundreds of megabytes. */
const MAX_SERVERS = 6
/** Those that cannot be used are remembered as well. */
const MAX_ENTRIES = 200

type ServerEntry = { server: SessionServer; cancelIdle?: () => void }

type Group = { server: Server; root: string; edits: EditedFile[] }

/** The edits that a server reads, by server and root. */
const groupsOf = (
  edits: readonly EditedFile[],
  servers: readonly Server[],
  workspace: string,
): Group[] => {
  const groups = new Map<string, Group>()
  for (const edit of edits) {
    const { fullPath } = edit
    const server = servers.find(each => languageOf(each, fullPath) !== undefined)
    if (!server || !isInside(workspace, fullPath)) continue
    const root = rootOf(server, fullPath, workspace)
    const key = JSON.stringify([server.id, root])
    const group = groups.get(key) ?? { server, root, edits: [] }
    group.edits.push(edit)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Resolves after this time, or when the turn is stopped. */
const lateAfter = (clock: Clock, ms: number, signal: AbortSignal) => {
  let release: () => void = () => undefined
  const late = new Promise<typeof LATE>(resolve => {
    const stop = () => resolve(LATE)
    const cancel = clock.timer(ms, stop)
    signal.addEventListener('abort', stop, { once: true })
    release = () => {
      cancel()
      signal.removeEventListener('abort', stop)
    }
  })
  return { late, release }
}

export class LanguageServers {
  readonly #clock: Clock
  readonly #warn: (message: string, fields: Record<string, unknown>) => void
  /** The least recently used first. */
  readonly #entries = new Map<string, ServerEntry>()
  #isClosed = false

  constructor(clock: Clock, warn: (message: string, fields: Record<string, unknown>) => void) {
    this.#clock = clock
    this.#warn = warn
  }

  #remove(key: string, how: 'ask' | 'kill') {
    const entry = this.#entries.get(key)
    entry?.cancelIdle?.()
    this.#entries.delete(key)
    entry?.server.stop(how)
  }

  /** Stops idle servers rather than busy ones. */
  #stopExcess() {
    const running = [...this.#entries].filter(([, { server }]) => server.isRunning())
    const oldest = running.toSorted(([, a], [, b]) => +a.server.isBusy() - +b.server.isBusy())
    const excess = Math.max(0, running.length - MAX_SERVERS + 1)
    const forgotten = [...this.#entries].slice(0, Math.max(0, this.#entries.size - MAX_ENTRIES))
    for (const [key] of [...oldest.slice(0, excess), ...forgotten]) this.#remove(key, 'ask')
  }

  #serverFor(
    { server: { id }, root }: Group,
    scope: DiagnosticsScope,
    all: readonly Server[],
  ): SessionServer {
    const servers = all.filter(each => each.id === id)
    const { owner, runner, settings } = scope
    const key = JSON.stringify([owner, runner?.kind ?? '', root, servers])
    let entry = this.#entries.get(key)
    if (!entry) {
      this.#stopExcess()
      entry = {
        server: new SessionServer({
          servers,
          root,
          place: scope,
          clock: this.#clock,
          warn: this.#warn,
        }),
      }
    }
    const { server } = entry
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    entry.cancelIdle?.()
    const stopIdle = () => {
      // What failed stays off for the session.
      if (!server.hasFailed()) this.#remove(key, 'ask')
    }
    if (settings.idle_timeout > 0)
      entry.cancelIdle = this.#clock.timer(fromSeconds(settings.idle_timeout), stopIdle)
    return server
  }

  checkFor(scope: DiagnosticsScope): CheckEdits {
    return async (edits, signal): Promise<EditDiagnostics> => {
      const { settings, workspace } = scope
      if (this.#isClosed || signal.aborted) return {}
      const servers = serversOf(settings.servers)
      const groups = groupsOf(edits, servers, workspace)
      if (groups.length === 0) return {}
      const { late, release } = lateAfter(this.#clock, fromSeconds(settings.wait_timeout), signal)
      const results = await Promise.all(
        groups.map(async group => {
          const server = this.#serverFor(group, scope, servers)
          const result = await server.check(group.edits, late)
          return {
            diagnostics: result && newDiagnostics(result.before, result.after),
            failure: server.takeFailure(),
          }
        }),
      )
      release()
      const fresh = results.flatMap(each => each.diagnostics ?? [])
      const isKnown = fresh.length > 0 || results.every(each => each.diagnostics !== null)
      const failures = results.flatMap(({ failure }) => failure ?? [])
      const edited = new Set(edits.map(({ fullPath }) => fullPath))
      return {
        ...(isKnown && { diagnostics: toLines(fresh, path => relative(workspace, path), edited) }),
        ...(failures.length > 0 && { diagnostics_note: failures.join(' ') }),
      }
    }
  }

  /** Kills all servers. */
  close(): void {
    this.#isClosed = true
    for (const key of [...this.#entries.keys()]) this.#remove(key, 'kill')
  }
}
