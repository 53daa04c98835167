/** Finds the external agent that serves a session. */
import { errorText, SignedOut } from '../../agent/acp/failures.ts'
import { invalid, UserError, unavailable } from '../../errors.ts'
import { redact } from '../../base/redact/redact.ts'
import type { Services } from './services.ts'

export type ExternalAgentTarget = NonNullable<ReturnType<typeof findTarget>>

const NOT_STARTED: readonly string[] = ['agent_not_installed', 'agent_unknown']

/** Null when the session's model is not an external agent or cannot be called. */
export const findTarget = ({ sessions, homes, endpointOf }: Services, sessionId: string) => {
  const row = sessions.require(sessionId)
  const home = homes.of(row.profile)
  try {
    const endpoint = endpointOf(home, row.model)
    const { agent } = endpoint
    return agent ? { id: row.session_id, row, home, endpoint, agent } : null
  } catch (error) {
    // The next turn reports the reason.
    if (error instanceof UserError) return null
    throw error
  }
}

export const requireTarget = (services: Services, sessionId: string): ExternalAgentTarget => {
  const target = findTarget(services, sessionId)
  if (target) return target
  const row = services.sessions.require(sessionId)
  try {
    services.endpointOf(services.homes.of(row.profile), row.model)
  } catch (error) {
    // It is one, but can't be started.
    if (error instanceof UserError && NOT_STARTED.includes(error.code)) throw error
  }
  throw invalid("This chat's model isn't an external agent.")
}

/** Runs a request to an external agent; its error message becomes a UserError. */
export const callAgent = async <T>(name: string, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    const text =
      error instanceof SignedOut
        ? `${error.failure.message} ${error.failure.hint ?? ''}`
        : errorText(error)
    const reason = redact(text).slice(0, error instanceof SignedOut ? 2_000 : 500)
    throw unavailable(`${name}: ${reason}`, { code: 'agent_failed', values: { name, reason } })
  }
}
