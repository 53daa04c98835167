/** Closes sessions in an agent: idle ones that it can restore, and those of deleted chats. */
import type { Clock } from '../../base/clock.ts'
import type { Connection } from './connection.ts'
import type { Session } from './session.ts'

export type IdleSessionsOptions = {
  clock: Pick<Clock, 'monotonic' | 'timer'>
  connection: Connection
  /** All open sessions, oldest first. */
  opened: Session[]
  /** Attached sessions, by the id of our session. */
  sessions: Map<string, Session>
  idleMs: number
  /** How many idle sessions may stay open. */
  maxIdle: number
  log: (line: string) => void
}

const canClose = ({ capabilities: { agentCapabilities } }: Connection): boolean => {
  const { loadSession, sessionCapabilities } = agentCapabilities
  return Boolean(sessionCapabilities.close) && Boolean(loadSession || sessionCapabilities.resume)
}

export const createIdleSessions = ({
  clock,
  connection,
  opened,
  sessions,
  idleMs,
  maxIdle,
  log,
}: IdleSessionsOptions) => {
  let cancel = (): void => undefined

  const closing = new Set<Promise<unknown>>()

  const close = (session: Session): void => {
    opened.splice(opened.indexOf(session), 1)
    for (const [key, each] of sessions) if (each === session) sessions.delete(key)
    session.terminals.stopAll()
    const { sessionCapabilities } = connection.capabilities.agentCapabilities
    if (!sessionCapabilities.close) return
    const closed = connection
      .request('session/close', { sessionId: session.id })
      .catch(() => log('could not close a session; it ends with the process'))
      .finally(() => closing.delete(closed))
    closing.add(closed)
  }

  /** Closes sessions that are due, and schedules itself for the next one. */
  const sweep = (): void => {
    cancel()
    if (!canClose(connection)) return
    const unused = opened
      .filter(({ turn, isOpening }) => turn === null && !isOpening)
      .sort((a, b) => a.usedAt - b.usedAt)
    const now = clock.monotonic()
    const due = unused.filter(
      ({ usedAt }, at) => now - usedAt >= idleMs || unused.length - at > maxIdle,
    )
    for (const session of due) close(session)
    const next = unused[due.length]
    if (!next) return
    cancel = clock.timer(Math.max(1, next.usedAt + idleMs - now), sweep)
  }

  return {
    sweep,
    close,
    stop: () => cancel(),
    /** Closes the session of a deleted chat, with its MCP servers. False if they stay until the process ends. */
    forget(key: string): boolean {
      const session = sessions.get(key)
      if (!session || session.turn) return true
      close(session)
      return Boolean(connection.capabilities.agentCapabilities.sessionCapabilities.close)
    },
    /** Resolves when no session is being closed: one that is can't be opened again yet. */
    settled: async (): Promise<void> => void (await Promise.all(closing)),
  }
}
