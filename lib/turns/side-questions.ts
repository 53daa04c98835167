/**
 * Side questions: answered from a session's transcript, without tools, on their own stream. The running turn is not
 * affected, and the transcript does not change; only the usage is recorded.
 */
import { changeWords, sentence, type Words } from '../base/sentences.ts'
import { failedEvent } from '../turns/interrupted-turn.ts'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, toSeconds } from '../base/clock.ts'
import type { Agent, AgentEvent, ModelEndpoint, Outcome, Providers } from '../agent/types.ts'
import { conflict, invalid, messageOf, UserError, unavailable } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Hub } from '../http/hub.ts'
import type { ServiceEvent, TurnEvent } from '../schema/event.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import { toConversation } from '../sessions/history.ts'
import { withStates } from './context/provider-states.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { addToTotals } from '../sessions/usage.ts'
import { createEventLog, type EventLog } from './event-log.ts'
import { createStreamMask, toTurnEvent } from './to-stream-event.ts'
import type { EventLogRegistry } from './event-log-registry.ts'

export type SideQuestionsOptions = {
  sessions: Sessions
  /** Publishes progress on the session's event stream. */
  hub: Pick<Hub, 'publish'>
  eventLogs: EventLogRegistry
  liveDir: string
  agent: Agent
  providers: Providers
  homeOf: (profile: string | null | undefined) => Home
  /** The session's own model. Throws UserError when it cannot be called. */
  endpoint: (sessionId: string) => Promise<ModelEndpoint>
  /** The spending limit; it cannot be extended here. */
  budgetFor: (about: {
    sessionId: string
    home: Home
    turn: { usage: Usage }
  }) => () => Promise<Words | null>
  redact: (text: string) => string
  clock: Clock
  log: (message: string, extra?: Record<string, unknown>) => void
}

const SYSTEM =
  'You answer a side question about the conversation so far. Answer it briefly and directly, from what stands in the conversation and what you know. You have no tools here, and the work of the conversation goes on without you: do not continue it.'

type AsideEvent = Extract<ServiceEvent, { type: 'aside' }>['data']

/** Converts a turn event to the page's event; null for events that are not shown. */
const toAsideEvent = ({
  type,
  data,
}: TurnEvent): Omit<AsideEvent, 'stream_id' | 'question'> | null => {
  if (type === 'token') return { status: 'running', text: data.text }
  if (type === 'done') return { status: 'done', answer: data.answer ?? '' }
  if (type === 'apperror') return { status: 'failed', error: data.message }
  return type === 'cancel' ? { status: 'done' } : null
}

type Running = { controller: AbortController; streamId: string }

export type SideQuestions = ReturnType<typeof createSideQuestions>

export const createSideQuestions = (deps: SideQuestionsOptions) => {
  const { sessions, eventLogs } = deps
  const running = new Map<string, Running>()

  const recordUsage = (sessionId: string, streamId: string, usage: Usage): void => {
    if (usage.input_tokens + usage.output_tokens === 0) return
    const row = sessions.row(sessionId)
    if (!row) return
    sessions.append(sessionId, [
      { t: 'turn_ended', stream_id: streamId, how: 'done', usage },
      { t: 'meta', patch: addToTotals(row, usage) },
    ])
  }

  const appendOutcome = (log: EventLog, { status, text, usage, failure }: Outcome): void => {
    if (status === 'finished') {
      const answer = deps.redact(text)
      log.append({ type: 'done', data: { usage, message_ids: [], ephemeral: true, answer } })
    } else if (status === 'stopped') {
      log.append({ type: 'cancel', data: { message: 'Cancelled by user' } })
    } else {
      const { type, message, hint } = failure ?? {
        type: 'no_response' as const,
        message: sentence('turn.no_response'),
      }
      log.append(
        failedEvent({
          type,
          message: changeWords(message, deps.redact),
          ...(hint && { hint: changeWords(hint, deps.redact) }),
        }),
      )
    }
  }

  const answer = async (
    log: EventLog,
    endpoint: ModelEndpoint,
    question: string,
    { controller }: Running,
  ): Promise<void> => {
    const id = log.session_id
    const home = deps.homeOf(sessions.row(id)?.profile)
    const turn = { usage: emptyUsage }
    const mask = createStreamMask()
    const show = (event: AgentEvent): void => {
      if (event.type === 'token' || event.type === 'reasoning' || event.type === 'retry')
        log.append(toTurnEvent(event, deps.redact, deps.clock.now()))
    }
    const outcome = await deps.agent(
      {
        endpoint,
        system: SYSTEM,
        history: [
          ...withStates(toConversation(sessions.load(id)), sessions.providerStates(id)),
          { role: 'user', content: question },
        ],
        tools: [],
        workspace: home.dir,
        env: {},
        forbidden: [],
        maxSteps: 1,
        signal: controller.signal,
        nextMessageId: () => 'aside',
        approve: async () => 'deny',
        clarify: async () => null,
        providers: deps.providers,
        sessionKey: id,
        clock: deps.clock,
        checkBudget: deps.budgetFor({ sessionId: id, home, turn }),
        onUsage: usage => {
          turn.usage = usage
        },
      },
      event => mask.push(event).forEach(show),
    )
    mask.flush().forEach(show)
    recordUsage(id, log.stream_id, turn.usage)
    appendOutcome(log, outcome)
  }

  return {
    /** Returns at once; the stream is read like a turn's. */
    async ask(given: string, question: string) {
      const { session_id: sessionId } = sessions.require(given)
      const text = question.trim()
      if (!text) throw invalid('question is required', { code: 'missing_fields' })
      const endpoint = await deps.endpoint(sessionId)
      if (endpoint.apiMode === 'acp')
        throw unavailable("External agents can't answer side questions. Choose a model.", {
          code: 'side_question_unavailable',
        })
      if (running.has(sessionId))
        throw conflict('Another side question is being answered.', {
          code: 'side_question_running',
        })
      const streamId = randomBytes(16).toString('hex')
      const publish = (data: Omit<AsideEvent, 'stream_id' | 'question'>): void =>
        void deps.hub.publish(`session:${sessionId}`, {
          type: 'aside',
          data: { stream_id: streamId, question: deps.redact(text), ...data },
        })
      const log = createEventLog(
        join(deps.liveDir, `${streamId}.jsonl`),
        { session_id: sessionId, stream_id: streamId, at: toSeconds(deps.clock.now()) },
        event => {
          const said = toAsideEvent(event)
          if (said) publish(said)
        },
      )
      publish({ status: 'running' })
      eventLogs.put(log)
      const own: Running = { controller: new AbortController(), streamId }
      running.set(sessionId, own)
      void answer(log, endpoint, text, own)
        .catch((error: unknown) => {
          deps.log('a side question failed', { session_id: sessionId, error: messageOf(error) })
          const message =
            error instanceof UserError
              ? deps.redact(error.message)
              : "Couldn't answer the side question."
          log.emitUnsaved({ type: 'apperror', data: { type: 'error', message } })
        })
        .finally(() => {
          running.delete(sessionId)
          log.emitUnsaved({ type: 'stream_end', data: { session_id: sessionId } })
          eventLogs.retire(log)
        })
      return { streamId, sessionId }
    },

    /** False when no such stream is running. */
    cancel(streamId: string): boolean {
      const own = [...running.values()].find(each => each.streamId === streamId)
      own?.controller.abort(new Error('cancelled'))
      return own !== undefined
    },

    /** Cancels the side question of a session. */
    endSession(sessionId: string): void {
      running.get(sessionId)?.controller.abort(new Error('cancelled'))
    },

    close(): void {
      for (const { controller } of running.values()) controller.abort(new Error('closing'))
    },
  }
}
