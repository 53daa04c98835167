/** Serves an agent's requests during a turn: permissions, files, terminals, and questions. */
import type { RequestPermissionOutcome } from '@agentclientprotocol/sdk'
import { Refusal } from '../../base/refusal.ts'
import { planRefusal } from '../plan-mode.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import type { AgentRequest, ToolContext } from '../types.ts'
import { readForAgent, writeForAgent } from './client-files.ts'
import type { ClientServices } from './connection.ts'
import { answerFor, askPermission, refusalWarning } from './permissions.ts'
import { answerPlan, refusedByPlanMode } from './plan.ts'
import { askForm, askQuestions, questionsIn } from './questions.ts'
import type { Session, ActiveTurn } from './session.ts'
import { describe, explanationIn } from './tool-calls.ts'
import { CallUpdate } from './updates.ts'

/** It works with files and terminals of its own, perhaps on another machine. */
export const usesOwnFiles = ({ endpoint }: Pick<AgentRequest, 'endpoint'>): boolean =>
  endpoint.agent?.settings?.files === 'agent'

/** For what the agent asks this service to do: nothing of it is offloaded, and it has no tools of ours. */
export const toolContextOf = (request: AgentRequest, callId: string): ToolContext => ({
  ...request,
  callId,
  output: () => undefined,
  offload: () => null,
  beforeChange: async what => {
    await request.beforeChange?.(what)
    request.signal.throwIfAborted()
  },
  approve: ask => request.approve(ask, callId),
  clarify: (question, choices, signal) => request.clarify(question, choices, callId, signal),
  memo: new Map(),
})

/** `find` throws if the session is unknown. */
export const createServices = (name: string, find: (id: string) => Session): ClientServices => {
  const requireTurn = (id: string): { session: Session; turn: ActiveTurn } => {
    const session = find(id)
    const { turn } = session
    if (!turn || turn.request.signal.aborted) throw new Error('No turn is running in this session.')
    return { session, turn }
  }
  /** For files and terminals: those of this machine are not those of an agent on another one, whatever their paths. */
  const requireOwnTurn = (id: string) => {
    const found = requireTurn(id)
    if (usesOwnFiles(found.turn.request)) throw new Error('Use your own files and terminals.')
    return found
  }

  return {
    async permission(params) {
      const turn = find(params.sessionId).turn
      if (!turn || turn.request.signal.aborted) return { outcome: { outcome: 'cancelled' } }
      const update = CallUpdate.parse(params.toolCall)
      const { call, id, diff } = turn.transcript.awaitApproval(update)
      const { request, allowed, warn, hooks } = turn
      let why = new Refusal('user', 'The user denied this.')
      const refuse = (refusal: Refusal): RequestPermissionOutcome => {
        why = refusal
        return answerFor('deny', params.options)
      }
      const reply: { answers?: Record<string, string> } = {}
      const ask = async (): Promise<RequestPermissionOutcome> => {
        const questions = questionsIn(update)
        if (questions.length > 0) {
          reply.answers = await askQuestions(questions, request, id)
          return answerFor('once', params.options)
        }
        const plan = await answerPlan(request, call, id, params.options)
        if (plan) return plan
        const refused = refusedByPlanMode(request, call)
        if (refused !== null) {
          warn(refusalWarning(name, `“${call.title || call.kind}”`, refused))
          return refuse(new Refusal('plan', refused))
        }
        const described = describe(call, request.workspace)
        const asked = { ...described, callId: id, kind: call.kind }
        const approve = await hooks.before(asked).catch((error: unknown) => {
          const shown = `“${described.preview || described.name}”`
          if (error instanceof Refusal) warn(refusalWarning(name, shown, error.message))
          throw error
        })
        const own = { ...request, approve }
        return askPermission(params, call, id, {
          name,
          request: own,
          allowed,
          warn,
          refuse,
          diff,
          explanation: explanationIn(update),
        })
      }
      const asked = ask().catch((error: unknown) => {
        if (error instanceof Refusal) return refuse(error)
        throw error
      })
      const outcome = await turn.whileServing(asked)
      const option = params.options.find(
        ({ optionId }) => outcome.outcome === 'selected' && optionId === outcome.optionId,
      )
      if (!option?.kind.startsWith('allow'))
        turn.transcript.markDenied(params.toolCall.toolCallId, why)
      if (request.signal.aborted) return { outcome: { outcome: 'cancelled' } }
      return { outcome, ...reply }
    },
    async read({ sessionId, path, line, limit }) {
      const { turn } = requireOwnTurn(sessionId)
      const work = readForAgent(toolContextOf(turn.request, 'fs'), path, line, limit)
      const content = await turn.whileServing(work)
      return { content: turn.request.secrets?.mask(content) ?? content }
    },
    async write({ sessionId, path, content }) {
      const { turn } = requireOwnTurn(sessionId)
      const write = async (): Promise<void> => {
        const { request } = turn
        const shell = shellContextFor(request, request.workspace)
        const refused = planRefusal(request.planMode, null, shell)
        if (refused !== null) throw new Error(refused)
        const call = { callId: 'fs', name: 'write_file', kind: 'edit', args: { path, content } }
        await turn.hooks.before(call)
        await writeForAgent(toolContextOf(turn.request, 'fs'), path, content)
      }
      await turn.whileServing(write())
      return {}
    },
    async terminal(params) {
      const { session, turn } = requireOwnTurn(params.sessionId)
      const work = session.terminals.create(toolContextOf(turn.request, 'terminal'), params, {
        name,
        allowed: turn.allowed,
        hooks: turn.hooks,
      })
      return { terminalId: await turn.whileServing(work) }
    },
    output({ sessionId, terminalId }) {
      const { terminals, turn } = find(sessionId)
      const printed = terminals.output(terminalId)
      return { ...printed, output: turn?.request.secrets?.mask(printed.output) ?? printed.output }
    },
    async wait({ sessionId, terminalId }) {
      const { turn, terminals } = find(sessionId)
      const ended = terminals.wait(terminalId)
      return turn ? turn.whileServing(ended) : ended
    },
    kill({ sessionId, terminalId }) {
      find(sessionId).terminals.kill(terminalId)
      return {}
    },
    release({ sessionId, terminalId }) {
      find(sessionId).terminals.release(terminalId)
      return {}
    },
    async form(params) {
      if (!('sessionId' in params) || typeof params.sessionId !== 'string')
        return { action: 'cancel' }
      const { turn } = requireTurn(params.sessionId)
      return turn.whileServing(askForm(params, turn.request, 'form'))
    },
  }
}
