/** The agent of another program that a session's model is: its process's home, how it is called, and its refusals. */
import type { ModelEndpoint } from '../agent/types.ts'
import { sayError } from '../agent/acp/failures.ts'
import { invalid, UserError, unavailable } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import { redact } from '../redact/redact.ts'
import type { Sessions } from '../sessions/types.ts'

export type ExternalAgentTargetOptions = {
  sessions: Sessions
  homeOf: (profile: string | null | undefined) => Home
  /** Throws a Refusal where the session's model cannot be called. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
}

export type ExternalAgentTarget = NonNullable<
  ReturnType<ReturnType<typeof createExternalAgentTargets>['findTarget']>
>

export const createExternalAgentTargets = ({
  sessions,
  homeOf,
  endpointOf,
}: ExternalAgentTargetOptions) => {
  /** Null when the session's model is no agent, or cannot be called at all. */
  const findTarget = (sessionId: string) => {
    const row = sessions.require(sessionId)
    const home = homeOf(row.profile)
    try {
      const endpoint = endpointOf(home, row.model)
      const { agent } = endpoint
      return agent ? { id: row.session_id, row, home, endpoint, agent } : null
    } catch (error) {
      // Its next turn says why.
      if (error instanceof UserError) return null
      throw error
    }
  }

  const requireTarget = (sessionId: string) => {
    const place = findTarget(sessionId)
    if (!place) throw invalid('The model of this session is no agent of another program.')
    return place
  }

  return { findTarget, requireTarget }
}

/** The agent says no, or nothing: its words are the answer. */
export const callAgent = async <T>(name: string, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw unavailable(`${name}: ${redact(sayError(error)).slice(0, 500)}`)
  }
}
