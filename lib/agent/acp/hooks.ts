/** Hooks around what an external agent does: before it acts through us, and after it reports the end of a call. */
import type { Words } from '../../base/sentences.ts'
import { Refusal } from '../../base/refusal.ts'
import { askForHook } from '../hooked-call.ts'
import type { BeforeCall, HookedCall } from '../hooks.ts'
import type { AgentRequest, ApprovalRequest } from '../types.ts'

export type AgentCall = {
  callId: string
  /** Of our tools, as `describe` maps the agent's call. */
  name: string
  /** The kind of the call in ACP. */
  kind: string
  args: Record<string, unknown>
}

const KINDS: Readonly<Record<string, HookedCall['tool']['kind']>> = {
  execute: 'execute',
  edit: 'write',
  delete: 'write',
  move: 'write',
}

const toHooked = (
  { callId, name, kind, args }: AgentCall,
  { signal }: AgentRequest,
): HookedCall => ({ callId, tool: { name, kind: KINDS[kind] ?? 'read' }, input: args, signal })

type Approve = (ask: ApprovalRequest, callId: string) => ReturnType<AgentRequest['approve']>

const decide = async (
  { approve, workspace }: AgentRequest,
  call: AgentCall,
  before: BeforeCall,
): Promise<Approve> => {
  const blocked =
    before.blocked ??
    // The protocol cannot change the arguments of a call, so it must not run with the old ones.
    (before.input ? 'it wants other arguments, which this agent can’t take.' : null)
  if (blocked !== null)
    throw new Refusal('hook', `A hook of the user blocked this call: ${blocked}`)
  const preview = typeof call.args.command === 'string' ? call.args.command : null
  const denied = await askForHook(before, call, preview, {
    approve: ask => approve(ask, call.callId),
    workspace,
  })
  if (denied) throw new Refusal('user', 'The user denied this call.')
  return before.decision === 'allow'
    ? (ask, callId) => approve({ allowedBy: 'hook', ...ask }, callId)
    : approve
}

export type AgentHooks = ReturnType<typeof createAgentHooks>

/** The hooks of one turn of an agent with this display name. */
export const createAgentHooks = (
  request: AgentRequest,
  name: string,
  warn: (message: Words) => void,
) => {
  const { hooks, signal } = request
  const running = new Set<Promise<void>>()
  return {
    /** `approve` of the call: what a hook allows is not asked about. Throws `Refusal`. */
    async before(call: AgentCall): Promise<Approve> {
      if (!hooks) return request.approve
      return decide(request, call, await hooks.before(toHooked(call, request)))
    },

    /** Not waited for: the agent has its result already. */
    finished(call: AgentCall, result: { content: string; isError: boolean; durationMs: number }) {
      if (!hooks || signal.aborted) return
      const content = request.secrets?.mask(result.content) ?? result.content
      const work = hooks
        .after(toHooked(call, request), { ...result, content })
        .then(({ context }) => {
          for (const text of context) warn(`${name} can’t be given what a hook says: ${text}`)
        })
        // The turn was stopped.
        .catch(() => undefined)
        .finally(() => running.delete(work))
      running.add(work)
    },

    /** Waits for hooks of finished calls, then runs those at the end of the turn. */
    async ended(text: string, durationMs: number): Promise<void> {
      await Promise.all(running)
      if (!hooks || signal.aborted) return
      const answer = await hooks.atEnd(text, signal)
      if (answer) warn(`${name} can’t be made to continue by a hook, which said: ${answer.text}`)
      const { model } = request.endpoint
      await hooks.ended({ status: 'finished', text, model, durationMs }, signal)
    },
  }
}
