/** The external agent (ACP) of a session: its modes, options, commands and sessions. */
import { z } from 'zod'
import { type Ctx, endpoint, maySession } from '../lib/context.ts'
import { missing } from '../lib/errors.ts'
import { Adopted, AgentSessions, ExternalAgent } from '../lib/schema/external.ts'
import { SessionId } from '../lib/schema/ids.ts'

const listFor = (ctx: Ctx, sessionId: string) =>
  ctx.app.externalAgentSessions.list(sessionId, id => maySession(ctx, 'read', id))

const Name = z.string().min(1).max(300)

export const view = endpoint({
  access: 'read',
  summary: 'The external agent of a session: its modes, options and commands',
  cache: 'no-store',
  input: z.object({ session_id: SessionId }),
  output: ExternalAgent,
  run: (ctx, { session_id }) => ctx.app.externalAgentOptions.view(session_id),
})

export const open = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Start the external agent of the session, so that its modes and options can be set',
  input: z.object({ session_id: SessionId }),
  output: ExternalAgent,
  run: (ctx, { session_id }) => ctx.app.externalAgentOptions.open(session_id),
})

export const signIn = endpoint({
  access: 'own',
  summary: 'Have the external agent sign in by itself, in one of the ways that it offers',
  input: z.object({ session_id: SessionId, method: Name }),
  output: ExternalAgent,
  run: (ctx, input) => ctx.app.externalAgentOptions.signIn(input.session_id, input.method),
})

export const mode = endpoint({
  access: 'own',
  summary: 'Set the mode of the external agent',
  input: z.object({ session_id: SessionId, mode: Name }),
  output: ExternalAgent,
  run: (ctx, input) => ctx.app.externalAgentOptions.setMode(input.session_id, input.mode),
})

export const option = endpoint({
  access: 'own',
  summary: 'Set an option of the external agent',
  input: z.object({ session_id: SessionId, option: Name, value: Name }),
  output: ExternalAgent,
  run: (ctx, input) =>
    ctx.app.externalAgentOptions.setOption(input.session_id, input.option, input.value),
})

export const sessions = endpoint({
  access: 'work',
  summary: 'Sessions of the external agent in the workspace of the session',
  cache: 'no-store',
  input: z.object({ session_id: SessionId }),
  output: AgentSessions,
  run: (ctx, { session_id }) => listFor(ctx, session_id),
})

export const adopt = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Continue a session of the external agent in an empty session',
  input: z.object({
    session_id: SessionId,
    agent_session_id: z.string().min(1).max(500),
    /** The new title of the session. */
    title: z.string().trim().max(200).optional(),
  }),
  output: Adopted,
  async run(ctx, { session_id, agent_session_id, title }) {
    // The agent knows sessions of all profiles and folders by their ids.
    if (ctx.person.role !== 'owner') {
      const { sessions: visible } = await listFor(ctx, session_id)
      if (!visible.some(each => each.agent_session_id === agent_session_id))
        throw missing('The agent has no such session in this workspace.', {
          code: 'session_not_found',
        })
    }
    return ctx.app.externalAgentSessions.adopt(session_id, agent_session_id, title)
  },
})
