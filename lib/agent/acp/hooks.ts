/** Hooks around what an external agent does: before it acts through us, and after it reports the end of a call. */
import { sentence } from '../../base/sentences.ts'
import type { Words } from '../../base/sentences.ts'
import { Refusal } from '../../base/refusal.ts'
import { askForHook } from '../hooked-call.ts'
import type { BeforeCall, HookedCall, HookedTool } from '../hooks.ts'
import type { AgentRequest, ApprovalRequest, ToolContext } from '../types.ts'

export type AgentCall = {
  callId: string
  /** The name of our tool that `describe` maps the agent's call to. */
  name: string
  /** The kind of the call in ACP. */
  kind: string
  args: Record<string, unknown>
}

const KINDS: Readonly<Record<string, HookedTool['kind']>> = {
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
  const ask: ToolContext['approve'] = approval => approve(approval, call.callId)
  const denial = await askForHook(before, call.name, preview, ask, workspace)
  if (denial) throw new Refusal('user', 'The user denied this call.')
  return before.decision === 'allow'
    ? (ask, callId) => approve({ allowedBy: 'hook', ...ask }, callId)
    : approve
}

/** The hooks of one turn of an agent. */
export class AgentHooks {
  readonly #request: AgentRequest
  /** The agent's display name. */
  readonly #name: string
  readonly #warn: (message: Words) => void
  readonly #running = new Set<Promise<void>>()

  constructor(request: AgentRequest, name: string, warn: (message: Words) => void) {
    this.#request = request
    this.#name = name
    this.#warn = warn
  }

  /** `approve` of the call: what a hook allows is not asked about. Throws `Refusal`. */
  async before(call: AgentCall): Promise<Approve> {
    const { hooks, approve } = this.#request
    if (!hooks) return approve
    return decide(this.#request, call, await hooks.before(toHooked(call, this.#request)))
  }

  /** Not waited for: the agent has its result already. */
  finished(
    call: AgentCall,
    result: { content: string; isError: boolean; durationMs: number },
  ): void {
    const { hooks, signal, secrets } = this.#request
    if (!hooks || signal.aborted) return
    const content = secrets?.mask(result.content) ?? result.content
    const work = hooks
      .after(toHooked(call, this.#request), { ...result, content })
      .then(({ context }) => {
        for (const text of context)
          this.#warn(sentence('turn.agent_no_hook', { name: this.#name, reason: text }))
      })
      // The turn was stopped.
      .catch(() => undefined)
      .finally(() => this.#running.delete(work))
    this.#running.add(work)
  }

  /** Waits for hooks of finished calls, then runs those at the end of the turn. */
  async ended(text: string, durationMs: number): Promise<void> {
    await Promise.all(this.#running)
    const { hooks, signal, endpoint } = this.#request
    if (!hooks || signal.aborted) return
    const answer = await hooks.atEnd(text, signal)
    if (answer)
      this.#warn(sentence('turn.agent_no_continuation', { name: this.#name, reason: answer.text }))
    await hooks.ended({ status: 'finished', text, model: endpoint.model, durationMs }, signal)
  }
}
