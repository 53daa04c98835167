/** Warnings of a turn that are shown once per session, and again when they change. */
import type { TurnScope } from './turn-scope.ts'

/** How many sessions we remember warnings for. */
const MAX_SESSIONS = 200

export type SessionWarnings = (
  scope: Pick<TurnScope, 'turn' | 'sessionId'>,
  warnings: readonly string[],
) => void

/** `type` is that of the event. `onWarning` receives the warnings where the turn's log is not shown. */
export const createSessionWarnings = (
  type: string,
  redact: (text: string) => string,
  onWarning?: (message: string) => void,
): SessionWarnings => {
  const shown = new Map<string, string>()
  return ({ turn, sessionId }, warnings) => {
    const text = warnings.join('\n')
    if (text === (shown.get(sessionId) ?? '') || turn.over) return
    shown.delete(sessionId)
    if (text !== '') shown.set(sessionId, text)
    for (const message of warnings.map(redact)) {
      turn.log.append({ type: 'warning', data: { message, type } })
      onWarning?.(message)
    }
    const [oldest] = shown.keys()
    if (shown.size > MAX_SESSIONS && oldest !== undefined) shown.delete(oldest)
  }
}

/** Those of the turn itself. */
export const createTurnWarnings = (
  redact: (text: string) => string,
  onWarning?: (message: string) => void,
) => ({
  warnShell: createSessionWarnings('shell', redact, onWarning),
  warnImages: createSessionWarnings('image', redact, onWarning),
})
