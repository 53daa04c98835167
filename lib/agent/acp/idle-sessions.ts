/** Closes idle sessions in an agent that can restore them. */
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

  const close = (session: Session): void => {
    opened.splice(opened.indexOf(session), 1)
    for (const [key, each] of sessions) if (each === session) sessions.delete(key)
    session.terminals.stopAll()
    connection
      .request('session/close', { sessionId: session.id })
      .catch(() => log('could not close a session; it ends with the process'))
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

  return { sweep, stop: () => cancel() }
}
