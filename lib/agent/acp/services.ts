/** Serves an agent's requests during a turn: permissions, files, terminals, and questions. */
import { sentence } from '../../base/sentences.ts'
import type * as acp from '@agentclientprotocol/sdk'
import { Refusal } from '../../base/refusal.ts'
import { answerForm } from '../elicitation.ts'
import { planRefusal } from '../plan-mode.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import type { AgentRequest, ToolContext } from '../types.ts'
import { readForAgent, writeForAgent } from './client-files.ts'
import { answerFor, askPermission } from './permissions.ts'
import { answerPlan, refusedByPlanMode } from './plan.ts'
import { askQuestions, canAsk, questionsIn } from './questions.ts'
import type { Session, ActiveTurn } from './session.ts'
import { type Call, describe, explanationIn } from './tool-calls.ts'
import type { UpdateRouter } from './update-router.ts'
import { CallUpdate } from './updates.ts'

/** It works with files and terminals of its own, perhaps on another machine. */
export const usesOwnFiles = ({ endpoint }: AgentRequest): boolean =>
  endpoint.agent?.settings?.files === 'agent'

/** For what the agent asks this service to do: nothing of it is offloaded, and it has no tools of ours. */
export const toolContextOf = (request: AgentRequest, callId: string): ToolContext => ({
  turn: request,
  callId,
  signal: request.signal,
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

/** The requests of one agent process. */
export class ClientRequests {
  /** The agent's display name. */
  readonly #name: string
  readonly #router: UpdateRouter

  constructor(name: string, router: UpdateRouter) {
    this.#name = name
    this.#router = router
  }

  permission = async (
    params: acp.RequestPermissionRequest,
  ): Promise<acp.RequestPermissionResponse> => {
    const { turn } = this.#router.require(params.sessionId)
    if (!turn || turn.request.signal.aborted) return { outcome: { outcome: 'cancelled' } }
    const { options } = params
    const update = CallUpdate.parse(params.toolCall)
    const { call, id, diff } = turn.transcript.awaitApproval(update)
    let why = new Refusal('user', 'The user denied this.')
    const refuse = (refusal: Refusal): acp.RequestPermissionOutcome => {
      why = refusal
      return answerFor('deny', options)
    }
    const reply: { answers?: Record<string, string> } = {}
    const ask = async (): Promise<acp.RequestPermissionOutcome> => {
      const questions = questionsIn(update)
      if (questions.length === 0) return this.#askAbout(turn, { call, id, diff, update, options })
      reply.answers = await askQuestions(questions, turn.request, id)
      return answerFor('once', options)
    }
    const outcome = await turn.whileServing(
      ask().catch((error: unknown) => {
        if (error instanceof Refusal) return refuse(error)
        throw error
      }),
    )
    const option = options.find(
      ({ optionId }) => outcome.outcome === 'selected' && optionId === outcome.optionId,
    )
    if (!option?.kind.startsWith('allow'))
      turn.transcript.markDenied(params.toolCall.toolCallId, why)
    if (turn.request.signal.aborted) return { outcome: { outcome: 'cancelled' } }
    return { outcome, ...reply }
  }

  read = async (params: acp.ReadTextFileRequest): Promise<acp.ReadTextFileResponse> => {
    const { path, line, limit, sessionId } = params
    const { turn } = this.#requireOwnTurn(sessionId)
    const work = readForAgent(toolContextOf(turn.request, 'fs'), path, line, limit)
    const content = await turn.whileServing(work)
    return { content: turn.request.secrets?.mask(content) ?? content }
  }

  write = async (params: acp.WriteTextFileRequest): Promise<acp.WriteTextFileResponse> => {
    const { sessionId, path, content } = params
    const { turn } = this.#requireOwnTurn(sessionId)
    const write = async (): Promise<void> => {
      const { request } = turn
      const shell = shellContextFor(request, request.workspace)
      const refusal = planRefusal(request.planMode, null, shell)
      if (refusal !== null) throw new Error(refusal)
      const call = { callId: 'fs', name: 'write_file', kind: 'edit', args: { path, content } }
      await turn.hooks.before(call)
      await writeForAgent(toolContextOf(request, 'fs'), path, content)
    }
    await turn.whileServing(write())
    return {}
  }

  terminal = async (params: acp.CreateTerminalRequest): Promise<acp.CreateTerminalResponse> => {
    const { session, turn } = this.#requireOwnTurn(params.sessionId)
    const ctx = toolContextOf(turn.request, 'terminal')
    const agent = { name: this.#name, allowed: turn.allowed, hooks: turn.hooks }
    return { terminalId: await turn.whileServing(session.terminals.create(ctx, params, agent)) }
  }

  output = ({ sessionId, terminalId }: acp.TerminalOutputRequest): acp.TerminalOutputResponse => {
    const { terminals, turn } = this.#router.require(sessionId)
    const printed = terminals.output(terminalId)
    return { ...printed, output: turn?.request.secrets?.mask(printed.output) ?? printed.output }
  }

  wait = async (
    params: acp.WaitForTerminalExitRequest,
  ): Promise<acp.WaitForTerminalExitResponse> => {
    const { turn, terminals } = this.#router.require(params.sessionId)
    const ended = terminals.wait(params.terminalId)
    return turn ? turn.whileServing(ended) : ended
  }

  kill = ({ sessionId, terminalId }: acp.KillTerminalRequest): acp.KillTerminalResponse => {
    this.#router.require(sessionId).terminals.kill(terminalId)
    return {}
  }

  release = ({
    sessionId,
    terminalId,
  }: acp.ReleaseTerminalRequest): acp.ReleaseTerminalResponse => {
    this.#router.require(sessionId).terminals.release(terminalId)
    return {}
  }

  form = async (params: acp.CreateElicitationRequest): Promise<acp.CreateElicitationResponse> => {
    if (!('sessionId' in params) || typeof params.sessionId !== 'string')
      return { action: 'cancel' }
    const { turn } = this.#requireTurn(params.sessionId)
    const { clarify, tools } = turn.request
    const ask = (question: string, choices: string[]) => clarify(question, choices, 'form')
    return turn.whileServing(answerForm(params, canAsk(tools) ? ask : null))
  }

  /** Throws `Refusal` where a hook blocks it. */
  async #askAbout(
    turn: ActiveTurn,
    question: {
      call: Call
      id: string
      diff: string
      update: CallUpdate
      options: acp.PermissionOption[]
    },
  ): Promise<acp.RequestPermissionOutcome> {
    const { call, id, diff, update, options } = question
    const { request, warn } = turn
    const plan = await answerPlan(request, call, id, options)
    if (plan) return plan
    const refusal = refusedByPlanMode(request, call)
    if (refusal !== null) {
      const label = call.title || call.kind
      warn(sentence('turn.agent_refused_call', { name: this.#name, call: label, reason: refusal }))
      throw new Refusal('plan', refusal)
    }
    const described = describe(call, request.workspace)
    const approve = await turn.hooks
      .before({ ...described, callId: id, kind: call.kind })
      .catch((error: unknown) => {
        const label = described.preview || described.name
        if (error instanceof Refusal)
          warn(
            sentence('turn.agent_refused_call', {
              name: this.#name,
              call: label,
              reason: error.message,
            }),
          )
        throw error
      })
    return askPermission(options, call, id, {
      name: this.#name,
      request: { ...request, approve },
      allowed: turn.allowed,
      warn,
      diff,
      explanation: explanationIn(update),
    })
  }

  #requireTurn(id: string): { session: Session; turn: ActiveTurn } {
    const session = this.#router.require(id)
    const { turn } = session
    if (!turn || turn.request.signal.aborted) throw new Error('No turn is running in this session.')
    return { session, turn }
  }

  /** For files and terminals: those of this machine are not those of an agent on another one, whatever their paths. */
  #requireOwnTurn(id: string): { session: Session; turn: ActiveTurn } {
    const active = this.#requireTurn(id)
    if (usesOwnFiles(active.turn.request)) throw new Error('Use your own files and terminals.')
    return active
  }
}
