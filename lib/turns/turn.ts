/** Runs one turn: calls the agent, records its events, and records an unfinished end. */
import { changeWords, sentence } from '../base/sentences.ts'
import { type Clock, toSeconds } from '../base/clock.ts'
import type { Demands } from '../agent/answer-form.ts'
import type {
  Agent,
  AgentEvent,
  AgentRequest,
  ApprovalRequest,
  Failure,
  ModelEndpoint,
  Outcome,
  ProviderState,
  Resumed,
  Tool,
} from '../agent/types.ts'
import { UserError, wordsOf } from '../errors.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { SummaryRef } from '../schema/summary.ts'
import type { TurnLimit } from '../sessions/entries.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import { cancelledEvent, closingMessages, failedEvent, closingOf } from './interrupted-turn.ts'
import type { Usage } from '../schema/usage.ts'
import type { EventLog } from './event-log.ts'
import type { LiveState } from './live-turn.ts'
import { type StreamMask, elide, toCompressedEvent, toTurnEvent } from './to-stream-event.ts'

/** An unattended turn: its addition to the prompt, and the approval policy that answers instead of the user. */
export type Unattended = {
  preamble: string
  ask: (ask: ApprovalRequest) => ApprovalChoice
}

/** The program that a turn answers through the client API, instead of a person at a page. */
export type TurnClient = {
  /** Its system prompt, added to ours. */
  instructions: string
  /** Functions that it runs itself. */
  tools: readonly Tool[]
  /** What it demands of the answer. */
  demands: Demands
  /** It accepts one call of them at a time. */
  oneCall: boolean
  /** What needs approval is denied, or asked on the page. */
  approvals: 'ask' | 'deny'
  /** It continues without the program's connection. */
  continues: boolean
}

/** The waits before repeated model calls of one turn, which the user can end early. */
export class RetryWaits {
  readonly #log: EventLog
  /** With the position of the turn's log at which each was announced. */
  readonly #waits = new Map<() => void, number>()

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Adds a wait; the returned function removes it. */
  add(retryNow: () => void): () => void {
    this.#waits.set(retryNow, this.#log.position())
    return () => void this.#waits.delete(retryNow)
  }

  /** Whether a call is waiting. */
  isWaiting(): boolean {
    return this.#waits.size > 0
  }

  /** Ends the waits that were announced up to position `seen`, so that a late request does not end a later wait. */
  end(seen: number = Number.POSITIVE_INFINITY): boolean {
    const ended = [...this.#waits].filter(([, announced]) => announced <= seen)
    for (const [retryNow] of ended) {
      this.#waits.delete(retryNow)
      retryNow()
    }
    return ended.length > 0
  }
}

/** A running turn. `over` is set in the tick that decides its end: later engine events are not recorded. */
export type Turn = {
  readonly sessionId: string
  readonly streamId: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly userMessageId: string
  /** Set again when the turn continues after a restart. */
  endpoint: ModelEndpoint | UserError
  /** Set again when the turn continues after a restart. */
  unattended: Unattended | null
  client: TurnClient | null
  readonly log: EventLog
  readonly live: LiveState
  readonly mask: StreamMask
  readonly controller: AbortController
  readonly retries: RetryWaits
  readonly messageIds: string[]
  /** Usage so far, including subagents. */
  usage: Usage
  /** It continues after a restart: no program has to take part in it. */
  readonly isResumable: boolean
  /** What it has done in an earlier process; null when it has begun in this one. */
  readonly resumed: Resumed | null
  /** It stops at the next step boundary (`asked`) or has stopped (`suspended`) without an end: it continues in another process. */
  parking: 'asked' | 'suspended' | null
  /** Null until the start of the turn is recorded. */
  context: TurnContext | null
  over: boolean
  /** Set with the message that says so. */
  limit: TurnLimit | null
  /** The error of a failed write: it fails the turn. */
  writeError: unknown
}

/** Empty where no model can be called. */
export const servedBy = (endpoint: ModelEndpoint | UserError) =>
  endpoint instanceof UserError
    ? { model: '', provider: '' }
    : { model: endpoint.model, provider: endpoint.provider }

/** An external agent runs it. */
export const isExternal = ({ endpoint }: Turn): boolean =>
  !(endpoint instanceof UserError) && endpoint.apiMode === 'acp'

/** The engine's request without what the turn itself adds. */
export type BoundRequest = Omit<
  AgentRequest,
  'signal' | 'clock' | 'onUsage' | 'onRetryWait' | 'onStepBoundary' | 'resumed'
>

/** `steered`: the key of a queued message, which leaves the queue. `providerState` is recorded beside the message. */
export type RecordExtra = {
  steered?: string | undefined
  providerState?: ProviderState | undefined
}

/** What a turn is given, bound to its session and home. */
export type TurnContext = {
  agent: Agent
  /** Async: a long transcript is read in slices, and MCP servers may have to be started first. */
  request: () => Promise<BoundRequest>
  /** Records a summary; null when the messages it covers are not contiguous in the transcript. */
  recordSummary: (event: Extract<AgentEvent, { type: 'compressed' }>) => SummaryRef | null
  /** Appends one message to the transcript and returns it as recorded, redacted for the wire. */
  record: (message: NewMessage, extra?: RecordExtra) => Message
  /** Records the text with which a message was sent to the model. */
  recordSent: (messageId: string, text: string) => void
  redact: (text: string) => string
}

/** Writes an event to the turn's log, and sends it. */
const show = (turn: Turn, event: TurnEvent): void => {
  turn.log.append(event)
  turn.live.apply(event)
}

/** Writes to the transcript first, then to the turn's log and its readers. */
const recordMessage = (
  turn: Turn,
  context: TurnContext,
  message: NewMessage,
  extra?: RecordExtra,
): void => {
  const recorded = context.record(message, extra)
  turn.messageIds.push(recorded.id)
  show(turn, { type: 'message', data: { message: elide(recorded) } })
}

const apply = (turn: Turn, context: TurnContext, clock: Clock, event: AgentEvent): void => {
  if (event.type === 'message') {
    if (event.message._step_limit) turn.limit = 'steps'
    const message = {
      ...event.message,
      timestamp: Math.floor(toSeconds(clock.now())),
    }
    const { steeringKey: steered, providerState } = event
    recordMessage(turn, context, message, { steered, providerState })
  } else if (event.type === 'sent') {
    context.recordSent(event.messageId, event.text)
  } else if (event.type === 'compressed') {
    show(turn, toCompressedEvent(event, context.recordSummary(event)))
  } else {
    show(turn, toTurnEvent(event, context.redact, clock.now()))
  }
}

const onEvent = (turn: Turn, context: TurnContext, clock: Clock, event: AgentEvent): void =>
  write(turn, () => {
    for (const masked of turn.mask.push(event)) apply(turn, context, clock, masked)
  })

const write = (turn: Turn, append: () => void): void => {
  if (turn.over) return
  try {
    append()
  } catch (error) {
    // Probably a full disk. The turn is aborted and fails with this error.
    turn.writeError ??= error
    turn.controller.abort(error)
  }
}

const failureOf = (error: unknown): Failure => ({
  type: 'error',
  message: error instanceof UserError ? wordsOf(error) : sentence('turn.not_saved'),
})

/** Runs the agent to its end, recording its events as they arrive. Never rejects. */
export const runAgent = async (
  turn: Turn,
  context: TurnContext,
  clock: Clock,
  onStepBoundary: () => void,
): Promise<Outcome> => {
  const { endpoint } = turn
  const failed = (failure: Failure): Outcome => ({
    status: 'failed',
    text: '',
    steps: 0,
    usage: turn.usage,
    ...servedBy(endpoint),
    failure,
  })
  if (endpoint instanceof UserError) {
    const message = wordsOf(endpoint)
    // No key helps with a configuration, or where a program is missing; the message says what does.
    const isOfModel =
      endpoint.extra.config_problem !== true &&
      !['agent_not_installed', 'agent_unknown'].includes(endpoint.code)
    return failed(
      isOfModel
        ? { type: 'auth_mismatch', message, hint: sentence('advice.choose_model') }
        : { type: 'error', message },
    )
  }
  const call = async (): Promise<Outcome> => {
    const { signal } = turn.controller
    const onUsage = (usage: Usage): void => {
      write(turn, () => {
        turn.usage = usage
        turn.log.append({ type: 'usage', data: { usage } })
      })
    }
    const bound = await context.request()
    const request: AgentRequest = {
      ...bound,
      signal,
      clock,
      onUsage,
      onRetryWait: retryNow => turn.retries.add(retryNow),
      onStepBoundary,
      ...(turn.resumed && { resumed: turn.resumed }),
    }
    signal.throwIfAborted()
    return context.agent(request, event => onEvent(turn, context, clock, event))
  }
  // The loop never rejects by contract; if anything here does anyway, the session must not stay busy.
  const outcome = await call().catch((error: unknown) =>
    failed({ type: 'error', message: wordsOf(error) }),
  )
  if (turn.writeError) return { ...outcome, status: 'failed', failure: failureOf(turn.writeError) }
  return outcome
}

/** Records what the mask has held back: a secret could have begun there. */
export const recordHeld = (turn: Turn, context: TurnContext, clock: Clock): void => {
  for (const event of turn.mask.flush()) apply(turn, context, clock, event)
}

/** Records the rest of an unfinished turn and returns the event that ends it. `cause` is null when the user stopped it. */
export const recordUnfinished = (
  turn: Turn,
  context: TurnContext,
  cause: Failure | null,
  clock: Clock,
): TurnEvent => {
  recordHeld(turn, context, clock)
  const failure = cause && {
    ...cause,
    message: changeWords(cause.message, context.redact),
    ...(cause.hint !== undefined && { hint: changeWords(cause.hint, context.redact) }),
  }
  const closing = closingMessages(turn.live, closingOf(failure), Math.floor(toSeconds(clock.now())))
  for (const message of closing) recordMessage(turn, context, message)
  return failure ? failedEvent(failure) : cancelledEvent()
}
