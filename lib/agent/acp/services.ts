/** What an agent may ask of us while it works for a session: permission, files, terminals, answers. */
import type { AgentRequest, ToolContext } from '../types.ts'
import { readForAgent, writeForAgent } from './client-files.ts'
import type { Services } from './connection.ts'
import { askPermission } from './permissions.ts'
import { askForm } from './questions.ts'
import type { Session, TurnSide } from './session.ts'
import { CallUpdate } from './updates.ts'

export const contextOf = (request: AgentRequest, callId: string): ToolContext => ({
  callId,
  workspace: request.workspace,
  env: request.env,
  forbidden: request.forbidden,
  controlPaths: request.controlPaths,
  ownAddresses: request.ownAddresses,
  guards: request.guards,
  signal: request.signal,
  output: () => undefined,
  beforeChange: async what => {
    await request.beforeChange?.(what)
    request.signal.throwIfAborted()
  },
  approve: ask => request.approve(ask, callId),
  clarify: (question, choices) => request.clarify(question, choices, callId),
  memo: new Map(),
  secrets: request.secrets,
  now: request.now ?? Date.now,
})

/** `find` throws a sentence where nobody is in that session. */
export const createServices = (name: string, find: (id: string) => Session): Services => {
  const during = (id: string): { session: Session; turn: TurnSide } => {
    const session = find(id)
    const { turn } = session
    if (!turn || turn.request.signal.aborted) throw new Error('No turn runs in this session.')
    return { session, turn }
  }

  return {
    async permission(asked) {
      const turn = find(asked.sessionId).turn
      if (!turn || turn.request.signal.aborted) return { outcome: { outcome: 'cancelled' } }
      const update = CallUpdate.parse(asked.toolCall)
      const { call, id, diff } = turn.transcript.asked(update)
      const { request, allowed, warn } = turn
      const work = askPermission(asked, call, id, { name, request, allowed, warn, diff })
      const outcome = await turn.serving(work)
      const option = asked.options.find(
        ({ optionId }) => outcome.outcome === 'selected' && optionId === outcome.optionId,
      )
      if (!option?.kind.startsWith('allow')) turn.transcript.denied(asked.toolCall.toolCallId)
      return { outcome: request.signal.aborted ? { outcome: 'cancelled' } : outcome }
    },
    read({ sessionId, path, line, limit }) {
      const { turn } = during(sessionId)
      const content = readForAgent(contextOf(turn.request, 'fs'), path, line, limit)
      return { content: turn.request.secrets?.mask(content) ?? content }
    },
    async write({ sessionId, path, content }) {
      const { turn } = during(sessionId)
      await turn.serving(writeForAgent(contextOf(turn.request, 'fs'), path, content))
      return {}
    },
    async terminal(asked) {
      const { session, turn } = during(asked.sessionId)
      const work = session.terminals.create(contextOf(turn.request, 'terminal'), asked, {
        name,
        allowed: turn.allowed,
      })
      return { terminalId: await turn.serving(work) }
    },
    output({ sessionId, terminalId }) {
      const { terminals, turn } = find(sessionId)
      const printed = terminals.output(terminalId)
      return { ...printed, output: turn?.request.secrets?.mask(printed.output) ?? printed.output }
    },
    async wait({ sessionId, terminalId }) {
      const { turn, terminals } = find(sessionId)
      const ended = terminals.wait(terminalId)
      return turn ? turn.serving(ended) : ended
    },
    kill({ sessionId, terminalId }) {
      find(sessionId).terminals.kill(terminalId)
      return {}
    },
    release({ sessionId, terminalId }) {
      find(sessionId).terminals.release(terminalId)
      return {}
    },
    async form(asked) {
      if (!('sessionId' in asked) || typeof asked.sessionId !== 'string')
        return { action: 'cancel' }
      const { turn } = during(asked.sessionId)
      return turn.serving(askForm(asked, turn.request, 'form'))
    },
  }
}
