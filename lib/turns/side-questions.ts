/**
 * Side questions: answered from a session's transcript, without tools, on their own stream. The running turn is not
 * affected, and the transcript does not change; only the usage is recorded.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { toSeconds } from '../base/clock.ts'
import { redact } from '../base/redact/redact.ts'
import { changeWords, sentence } from '../base/sentences.ts'
import type { AgentEvent, ModelEndpoint, Outcome } from '../agent/types.ts'
import { conflict, invalid, messageOf, UserError, unavailable } from '../errors.ts'
import type { ServiceEvent, TurnEvent } from '../schema/event.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import { toConversation } from '../sessions/history.ts'
import { addToTotals } from '../sessions/usage.ts'
import { withStates } from './context/provider-states.ts'
import type { Services } from './context/services.ts'
import { SpendingLimit } from './context/spending-limit.ts'
import { EventLog } from './event-log.ts'
import { cancelledEvent, failedEvent } from './interrupted-turn.ts'
import type { TurnStarter } from './start-turn.ts'
import { StreamMask, toTurnEvent } from './to-stream-event.ts'
import type { Turns } from './turns.ts'

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

export class SideQuestions {
  readonly #services: Services
  readonly #turns: Turns
  readonly #starter: TurnStarter
  readonly #liveDir: string
  readonly #running = new Map<string, Running>()

  constructor(services: Services, turns: Turns, starter: TurnStarter, liveDir: string) {
    this.#services = services
    this.#turns = turns
    this.#starter = starter
    this.#liveDir = liveDir
  }

  /** Returns at once; the stream is read like a turn's. */
  async ask(session: string, input: string) {
    const { sessions, hub, clock, log: logs } = this.#services
    const { session_id: sessionId } = sessions.require(session)
    const text = input.trim()
    if (!text) throw invalid('question is required', { code: 'missing_fields' })
    const endpoint = await this.#starter.endpoint(sessionId)
    if (endpoint.apiMode === 'acp')
      throw unavailable("External agents can't answer side questions. Choose a model.", {
        code: 'side_question_unavailable',
      })
    if (this.#running.has(sessionId))
      throw conflict('Another side question is being answered.', {
        code: 'side_question_running',
      })
    const streamId = randomBytes(16).toString('hex')
    const question = redact(text)
    const publish = (data: Omit<AsideEvent, 'stream_id' | 'question'>): void =>
      void hub.publish(`session:${sessionId}`, {
        type: 'aside',
        data: { stream_id: streamId, question, ...data },
      })
    const header = { session_id: sessionId, stream_id: streamId, at: toSeconds(clock.now()) }
    const log = new EventLog(join(this.#liveDir, `${streamId}.jsonl`), header, event => {
      const aside = toAsideEvent(event)
      if (aside) publish(aside)
    })
    publish({ status: 'running' })
    this.#turns.eventLogs.put(log)
    const controller = new AbortController()
    this.#running.set(sessionId, { controller, streamId })
    void this.#answer(log, endpoint, text, controller.signal)
      .catch((error: unknown) => {
        const about = { session_id: sessionId, error: messageOf(error) }
        logs.error('a side question failed', about)
        const message =
          error instanceof UserError ? redact(error.message) : "Couldn't answer the side question."
        log.emitUnsaved({ type: 'apperror', data: { type: 'error', message } })
      })
      .finally(() => {
        this.#running.delete(sessionId)
        log.emitUnsaved({ type: 'stream_end', data: { session_id: sessionId } })
        this.#turns.eventLogs.retire(log)
      })
    return { streamId, sessionId }
  }

  /** False when no such stream is running. */
  cancel(streamId: string): boolean {
    const own = [...this.#running.values()].find(each => each.streamId === streamId)
    own?.controller.abort(new Error('cancelled'))
    return own !== undefined
  }

  /** Cancels the side question of a session. */
  endSession(sessionId: string): void {
    this.#running.get(sessionId)?.controller.abort(new Error('cancelled'))
  }

  close(): void {
    for (const { controller } of this.#running.values()) controller.abort(new Error('closing'))
  }

  async #answer(
    log: EventLog,
    endpoint: ModelEndpoint,
    content: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { sessions, homes, spending, providers, clock, agent } = this.#services
    const sessionId = log.session_id
    const home = homes.of(sessions.row(sessionId)?.profile)
    const turn = { usage: emptyUsage }
    const mask = new StreamMask()
    const show = (event: AgentEvent): void => {
      if (event.type === 'token' || event.type === 'reasoning' || event.type === 'retry')
        log.append(toTurnEvent(event, redact, clock.now()))
    }
    // It cannot be extended here.
    const scope = { sessionId, home, turn, unattended: true }
    const { approve } = deniesAll
    const limit = new SpendingLimit(scope, sessions, spending, approve, clock)
    const { folded, states } = await sessions.loadForModel(sessionId)
    const outcome = await agent(
      {
        endpoint,
        system: SYSTEM,
        history: [...withStates(toConversation(folded), states), { role: 'user', content }],
        tools: [],
        workspace: home.dir,
        env: {},
        forbidden: [],
        maxSteps: 1,
        signal,
        nextMessageId: () => 'aside',
        ...deniesAll,
        providers,
        sessionKey: sessionId,
        clock,
        checkBudget: () => limit.check(),
        onUsage: usage => {
          turn.usage = usage
        },
      },
      event => mask.push(event).forEach(show),
    )
    mask.flush().forEach(show)
    this.#recordUsage(sessionId, log.stream_id, turn.usage)
    log.append(endOf(outcome))
  }

  #recordUsage(sessionId: string, stream_id: string, usage: Usage): void {
    const { sessions } = this.#services
    const row = sessions.row(sessionId)
    if (!row || usage.input_tokens + usage.output_tokens === 0) return
    sessions.append(sessionId, [
      { t: 'turn_ended', stream_id, how: 'done', usage },
      { t: 'meta', patch: addToTotals(row, usage) },
    ])
  }
}

/** Nothing is asked. */
const deniesAll = { approve: async () => 'deny' as const, clarify: async () => null }

const endOf = ({ status, text, usage, failure }: Outcome): TurnEvent => {
  if (status === 'finished') {
    const data = { usage, message_ids: [], ephemeral: true as const, answer: redact(text) }
    return { type: 'done', data }
  }
  if (status === 'stopped') return cancelledEvent()
  const { type, message, hint } = failure ?? {
    type: 'no_response' as const,
    message: sentence('turn.no_response'),
  }
  const words = { type, message: changeWords(message, redact) }
  return failedEvent({ ...words, ...(hint && { hint: changeWords(hint, redact) }) })
}
