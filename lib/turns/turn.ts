/** One turn, read from top to bottom like a recipe: ask the agent, record what it says, close the books. */
import { stripCallMarkup } from '../agent/tool-calls.ts'
import type {
  Agent,
  AgentEvent,
  AgentRequest,
  ApprovalRequest,
  Failure,
  LoopMessage,
  ModelEndpoint,
  Outcome,
} from '../agent/types.ts'
import { messageOf, UserError } from '../errors.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { SummaryRef } from '../schema/summary.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import { closingMessages, CANCEL_MARKER, failureText } from './interrupted-turn.ts'
import type { Usage } from '../schema/usage.ts'
import type { EventLog } from './event-log.ts'
import type { LiveState } from './live-turn.ts'
import type { StreamMask } from './mask-stream.ts'
import { elide, toCompressedEvent, toTurnEvent } from './to-stream-event.ts'

export type Ending = 'done' | 'failed' | 'cancelled'

/** A turn nobody watches: what the model is told of that, and who answers in the person's place. */
export type Unattended = {
  preamble: string
  ask: (ask: ApprovalRequest) => ApprovalChoice
}

/** A turn while it runs. `over` is set in the tick that decides its end: nothing the engine says later is recorded. */
export type Turn = {
  readonly sessionId: string
  readonly streamId: string
  readonly startedAt: number
  readonly userMessageId: string
  readonly endpoint: ModelEndpoint | UserError
  readonly unattended: Unattended | null
  readonly log: EventLog
  readonly live: LiveState
  readonly mask: StreamMask
  readonly controller: AbortController
  readonly messageIds: string[]
  /** What it has used so far, its subagents included: known however it ends. */
  usage: Usage
  /** Bound when the turn begins to run. */
  context: TurnContext | null
  over: boolean
  /** A write that failed: the turn ends with this sentence. */
  writeError: unknown
}

/** All that the engine is told, but for what the turn itself knows. */
export type BoundRequest = Omit<AgentRequest, 'endpoint' | 'history' | 'signal' | 'now' | 'spent'>

/** What a turn needs of the rest of the house, already bound to its session and home. */
export type TurnContext = {
  agent: Agent
  /** Asked for when the turn runs: tools of other programs may have to be started first. */
  request: () => Promise<BoundRequest>
  /** Read when the turn runs, not when it is started: a long transcript must not delay the reply. */
  history: () => LoopMessage[]
  /** Records a summary; null when what it stands for does not stand together in the transcript. */
  recordSummary: (event: Extract<AgentEvent, { type: 'compressed' }>) => SummaryRef | null
  /** Appends one message to the transcript and answers it as recorded, redacted for the wire. `steered`: its key in the queue. */
  record: (message: NewMessage, steered?: string) => Message
  redact: (text: string) => string
}

/** Transcript first, then the turn's own log, then the readers. */
export const recordMessage = (
  turn: Turn,
  context: TurnContext,
  message: NewMessage,
  steered?: string,
): void => {
  const recorded = context.record(message, steered)
  turn.messageIds.push(recorded.id)
  turn.log.append({ type: 'message', data: { message: elide(recorded) } })
}

const take = (turn: Turn, context: TurnContext, now: () => number, event: AgentEvent): void => {
  if (event.type === 'message') {
    const { content } = event.message
    const message = {
      ...event.message,
      content:
        event.message.role === 'assistant' && typeof content === 'string'
          ? stripCallMarkup(content)
          : content,
      timestamp: Math.floor(now()),
    }
    recordMessage(turn, context, message, event.steeringKey)
  } else if (event.type === 'compressed') {
    turn.log.append(toCompressedEvent(event, context.recordSummary(event)))
  } else {
    turn.log.append(toTurnEvent(event, context.redact))
  }
  turn.live.apply(event)
}

const onEvent = (turn: Turn, context: TurnContext, now: () => number, event: AgentEvent): void => {
  if (turn.over) return
  try {
    for (const masked of turn.mask.push(event)) take(turn, context, now, masked)
  } catch (error) {
    // A full disk, most likely. The engine must not see it; the turn ends with the sentence.
    turn.writeError ??= error
    turn.controller.abort(error)
  }
}

const failureOf = (error: unknown): Failure => ({
  type: 'error',
  message: error instanceof UserError ? error.message : 'The turn could not be recorded.',
})

/** Runs the agent to its end. Never rejects; what it says is recorded as it comes. */
export const runAgent = async (
  turn: Turn,
  context: TurnContext,
  now: () => number,
): Promise<Outcome> => {
  const { endpoint } = turn
  const failed = (failure: Failure): Outcome => ({
    status: 'failed',
    text: '',
    steps: 0,
    usage: turn.usage,
    provider: endpoint instanceof UserError ? '' : endpoint.provider,
    model: endpoint instanceof UserError ? '' : endpoint.model,
    failure,
  })
  if (endpoint instanceof UserError && endpoint.extra.config_problem === true)
    return failed({ type: 'error', message: endpoint.message })
  if (endpoint instanceof UserError) {
    return failed({
      type: 'auth_mismatch',
      message: endpoint.message,
      hint: 'Choose another model, or add a key for this provider.',
    })
  }
  const call = async (): Promise<Outcome> => {
    const { signal } = turn.controller
    const spent = (usage: Usage): void => {
      if (!turn.over) turn.usage = usage
    }
    const bound = await context.request()
    const request = { ...bound, endpoint, signal, now: () => now() * 1_000, spent }
    signal.throwIfAborted()
    return context.agent({ ...request, history: context.history() }, event =>
      onEvent(turn, context, now, event),
    )
  }
  // The loop's contract is to never reject; if anything here does all the same, the session must not stay stuck.
  const outcome = await call().catch((error: unknown) =>
    failed({ type: 'error', message: messageOf(error) }),
  )
  if (turn.writeError) return { ...outcome, status: 'failed', failure: failureOf(turn.writeError) }
  return outcome
}

const events = {
  cancelled: (): TurnEvent => ({ type: 'cancel', data: { message: 'Cancelled by user' } }),
  failed: (failure: Failure): TurnEvent => ({
    type: 'apperror',
    data: {
      message: failure.message,
      type: failure.type,
      ...(failure.hint ? { hint: failure.hint } : {}),
    },
  }),
}

/** Records what is left of a turn that did not finish, then says why. */
export const recordUnfinished = (
  turn: Turn,
  context: TurnContext,
  given: Failure | null,
  now: () => number,
): TurnEvent => {
  for (const held of turn.mask.flush()) take(turn, context, now, held)
  const failure = given && {
    ...given,
    message: context.redact(given.message),
    ...(given.hint !== undefined && { hint: context.redact(given.hint) }),
  }
  const closing = closingMessages(
    turn.live,
    failure
      ? { stopped: failure.message, note: failureText(failure) }
      : { stopped: 'Stopped by the user.', note: CANCEL_MARKER },
    Math.floor(now()),
  )
  for (const message of closing) recordMessage(turn, context, message)
  return failure ? events.failed(failure) : events.cancelled()
}
