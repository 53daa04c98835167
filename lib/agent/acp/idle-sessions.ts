/** Conversations that are not used are closed in their agent: it is asked to go on with them when they are wanted again. */
import type { Connection } from './connection.ts'
import type { Session } from './session.ts'

export type IdleSessionsOptions = {
  connection: Connection
  /** All that were opened, oldest first. */
  opened: Session[]
  /** Those of our sessions. */
  sessions: Map<string, Session>
  idleMs: number
  /** How many that nobody uses may stay open. */
  maxIdle: number
  log: (line: string) => void
}

export const canClose = ({ capabilities: { agentCapabilities } }: Connection): boolean => {
  const { loadSession, sessionCapabilities } = agentCapabilities
  return Boolean(sessionCapabilities.close) && Boolean(loadSession || sessionCapabilities.resume)
}

export const createIdleSessions = ({
  connection,
  opened,
  sessions,
  idleMs,
  maxIdle,
  log,
}: IdleSessionsOptions) => {
  let timer: NodeJS.Timeout | undefined

  const close = (session: Session): void => {
    opened.splice(opened.indexOf(session), 1)
    for (const [key, each] of sessions) if (each === session) sessions.delete(key)
    session.terminals.stopAll()
    connection
      .request('session/close', { sessionId: session.id })
      .catch(() => log('a conversation could not be closed; it ends with the process'))
  }

  /** To be called when one has been used. Sooner or later it calls itself. */
  const sweep = (): void => {
    clearTimeout(timer)
    if (!canClose(connection)) return
    const unused = opened
      .filter(({ turn, isOpening }) => turn === null && !isOpening)
      .sort((a, b) => a.usedAt - b.usedAt)
    const now = performance.now()
    const due = unused.filter(
      ({ usedAt }, at) => now - usedAt >= idleMs || unused.length - at > maxIdle,
    )
    for (const session of due) close(session)
    const next = unused[due.length]
    if (!next) return
    timer = setTimeout(sweep, Math.max(1, next.usedAt + idleMs - now))
    timer.unref()
  }

  return { sweep, stop: () => clearTimeout(timer) }
}
