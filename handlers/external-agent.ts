/** Another program's agent in a session: what it offers to choose from, and choosing. */
import { z } from 'zod'
import { endpoint } from '../lib/ctx.ts'
import { ExternalAgent } from '../lib/schema/external.ts'
import { SessionId } from '../lib/schema/ids.ts'

const Name = z.string().min(1).max(300)

export const view = endpoint({
  summary: 'The agent of another program a session talks to: its modes, options and commands',
  cache: 'no-store',
  input: z.object({ session_id: SessionId }),
  output: ExternalAgent,
  run: (ctx, { session_id }) => ctx.app.agentChoices.view(session_id),
})

export const open = endpoint({
  summary: 'Start that agent for the session, so that its modes and options can be chosen',
  input: z.object({ session_id: SessionId }),
  output: ExternalAgent,
  run: (ctx, { session_id }) => ctx.app.agentChoices.open(session_id),
})

export const mode = endpoint({
  summary: 'Let that agent work in another of its modes',
  input: z.object({ session_id: SessionId, mode: Name }),
  output: ExternalAgent,
  run: (ctx, input) => ctx.app.agentChoices.setMode(input.session_id, input.mode),
})

export const option = endpoint({
  summary: 'Set one of that agent’s options',
  input: z.object({ session_id: SessionId, option: Name, value: Name }),
  output: ExternalAgent,
  run: (ctx, input) => ctx.app.agentChoices.setOption(input.session_id, input.option, input.value),
})
