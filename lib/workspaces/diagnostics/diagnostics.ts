/** Diagnostics after an edit: language servers by session and project, started by the first edit and stopped when idle. */
import { relative } from 'node:path'
import { type Clock, fromSeconds } from '../../base/clock.ts'
import type { CheckEdits, EditDiagnostics, EditedFile } from '../../agent/tool-services.ts'
import { isInside } from '../../store/path-within.ts'
import { newFound, toLines } from './compare.ts'
import { type Place, rootOf } from './programs.ts'
import { languageOf, type Server, serversOf } from './servers.ts'
import { LATE, type SessionServer, startSessionServer } from './session-server.ts'

export type DiagnosticsScope = Place & {
  /** Whose servers these are: the id of the session. */
  owner: string
  /** `lsp` of config.yaml. */
  settings: { wait_timeout: number; idle_timeout: number; servers?: unknown }
}

export type LanguageServers = {
  checkFor: (scope: DiagnosticsScope) => CheckEdits
  /** Kills all servers. */
  close: () => void
}

export type LanguageServersOptions = {
  clock: Clock
  warn: (message: string, fields: Record<string, unknown>) => void
}

/** Of the whole service: a server of a large project has hundreds of megabytes. */
const MAX_SERVERS = 6
/** Those that cannot be used are remembered as well. */
const MAX_ENTRIES = 200

type Entry = { server: SessionServer; cancelIdle?: () => void }

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
const lateAfter = (clock: Pick<Clock, 'timer'>, ms: number, signal: AbortSignal) => {
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

export const createLanguageServers = ({ clock, warn }: LanguageServersOptions): LanguageServers => {
  /** The least recently used first. */
  const entries = new Map<string, Entry>()
  let isClosed = false

  const remove = (key: string, how: 'ask' | 'kill') => {
    const entry = entries.get(key)
    entry?.cancelIdle?.()
    entries.delete(key)
    entry?.server.stop(how)
  }

  /** Stops idle servers rather than busy ones. */
  const stopExcess = () => {
    const running = [...entries].filter(([, { server }]) => server.isRunning())
    const oldest = running.toSorted(([, a], [, b]) => +a.server.isBusy() - +b.server.isBusy())
    const excess = Math.max(0, running.length - MAX_SERVERS + 1)
    const forgotten = [...entries].slice(0, Math.max(0, entries.size - MAX_ENTRIES))
    for (const [key] of [...oldest.slice(0, excess), ...forgotten]) remove(key, 'ask')
  }

  const serverFor = (
    { server: { id }, root }: Group,
    scope: DiagnosticsScope,
    all: readonly Server[],
  ): SessionServer => {
    const servers = all.filter(each => each.id === id)
    const { owner, runner, settings } = scope
    const key = JSON.stringify([owner, runner?.kind ?? '', root, servers])
    let entry = entries.get(key)
    if (!entry) {
      stopExcess()
      entry = { server: startSessionServer({ servers, root, place: scope, clock, warn }) }
    }
    const { server } = entry
    entries.delete(key)
    entries.set(key, entry)
    entry.cancelIdle?.()
    const stopIdle = () => {
      // What failed stays off for the session.
      if (!server.hasFailed()) remove(key, 'ask')
    }
    if (settings.idle_timeout > 0)
      entry.cancelIdle = clock.timer(fromSeconds(settings.idle_timeout), stopIdle)
    return server
  }

  const checkFor =
    (scope: DiagnosticsScope): CheckEdits =>
    async (edits, signal): Promise<EditDiagnostics> => {
      const { settings, workspace } = scope
      if (isClosed || signal.aborted) return {}
      const servers = serversOf(settings.servers)
      const groups = groupsOf(edits, servers, workspace)
      if (groups.length === 0) return {}
      const { late, release } = lateAfter(clock, fromSeconds(settings.wait_timeout), signal)
      const results = await Promise.all(
        groups.map(async group => {
          const server = serverFor(group, scope, servers)
          const found = await server.check(group.edits, late)
          return {
            found: found && newFound(found.before, found.after),
            failure: server.takeFailure(),
          }
        }),
      )
      release()
      const found = results.flatMap(each => each.found ?? [])
      const isKnown = found.length > 0 || results.every(each => each.found !== null)
      const failures = results.flatMap(({ failure }) => failure ?? [])
      const edited = new Set(edits.map(({ fullPath }) => fullPath))
      return {
        ...(isKnown && { diagnostics: toLines(found, path => relative(workspace, path), edited) }),
        ...(failures.length > 0 && { diagnostics_note: failures.join(' ') }),
      }
    }

  return {
    checkFor,
    close() {
      isClosed = true
      for (const key of [...entries.keys()]) remove(key, 'kill')
    },
  }
}
