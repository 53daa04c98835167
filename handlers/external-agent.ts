/** Another program's agent in a session: what it offers to choose from, and choosing. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { Adopted, AgentSessions, ExternalAgent } from '../lib/schema/external.ts'
import { SessionId } from '../lib/schema/ids.ts'

const Name = z.string().min(1).max(300)

export const view = endpoint({
  summary: 'The agent of another program a session talks to: its modes, options and commands',
  cache: 'no-store',
  input: z.object({ session_id: SessionId }),
  output: ExternalAgent,
  run: (ctx, { session_id }) => ctx.app.externalAgentOptions.view(session_id),
})

export const open = endpoint({
  summary: 'Start that agent for the session, so that its modes and options can be chosen',
  input: z.object({ session_id: SessionId }),
  output: ExternalAgent,
  run: (ctx, { session_id }) => ctx.app.externalAgentOptions.open(session_id),
})

export const mode = endpoint({
  summary: 'Let that agent work in another of its modes',
  input: z.object({ session_id: SessionId, mode: Name }),
  output: ExternalAgent,
  run: (ctx, input) => ctx.app.externalAgentOptions.setMode(input.session_id, input.mode),
})

export const option = endpoint({
  summary: 'Set one of that agent’s options',
  input: z.object({ session_id: SessionId, option: Name, value: Name }),
  output: ExternalAgent,
  run: (ctx, input) =>
    ctx.app.externalAgentOptions.setOption(input.session_id, input.option, input.value),
})

export const sessions = endpoint({
  summary: 'The sessions that agent itself knows for the workspace of the session',
  cache: 'no-store',
  input: z.object({ session_id: SessionId }),
  output: AgentSessions,
  run: (ctx, { session_id }) => ctx.app.externalAgentSessions.list(session_id),
})

export const adopt = endpoint({
  summary: 'Let an empty session go on with a session of that agent',
  input: z.object({
    session_id: SessionId,
    agent_session_id: z.string().min(1).max(500),
    /** How the session is called from now on. */
    title: z.string().trim().max(200).optional(),
  }),
  output: Adopted,
  run: (ctx, { session_id, agent_session_id, title }) =>
    ctx.app.externalAgentSessions.adopt(session_id, agent_session_id, title),
})
