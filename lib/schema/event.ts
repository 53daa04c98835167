/** Events of a turn's stream, and of the multiplexed event stream of the page. */
import { z } from 'zod'
import { RunsIn } from './command-place.ts'
import { Decision } from './decision.ts'
import { HookActivity } from './hook.ts'
import { Message } from './message.ts'
import { Approval, Clarify, Unanswered } from './question.ts'
import { NoticeCode, NoticeValues } from './notice.ts'
import { Sentences } from './sentence.ts'
import { Queued } from './queue.ts'
import { PendingRetry, RetryReason } from './retry.ts'
import { SessionRow } from './session.ts'
import { SummaryRef } from './summary.ts'
import { FailureType } from './failure-type.ts'
import { SubagentStatus } from './subagent.ts'
import { Usage } from './usage.ts'

const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ type: z.literal(type), data: z.object(shape) })

const ToolFields = {
  name: z.string(),
  preview: z.string().nullable(),
  /** The first four arguments, each as text cut to 120 characters. */
  args: z.record(z.string(), z.string()),
  tid: z.string(),
  /**
   * A subagent's call: the delegating call, and the index of the task. Its `name` is then `subagent_progress`, which
   * clients without nesting show as a card of its own, and `tool` is the name of the called tool.
   */
  parent_tid: z.string().optional(),
  task_index: z.number().optional(),
  tool: z.string().optional(),
}

/** Events of one turn, in the order they were written to its log. Deltas carry only the delta. */
export const TurnEvent = z.discriminatedUnion('type', [
  event('turn_started', {
    session_id: z.string(),
    stream_id: z.string(),
    model: z.string(),
    provider: z.string(),
    started_at: z.number(),
  }),
  event('token', { text: z.string(), message_id: z.string() }),
  event('reasoning', { text: z.string(), message_id: z.string() }),
  /**
   * The call is retried in `delay_ms`, at `until`: discard what was streamed for this message; it is streamed again under
   * the same id. `attempt` calls have failed, of at most `attempts`. Other fields are as in `PendingRetry`. A second event
   * with a delay of 0 follows when the user ends the wait.
   */
  event('retry', {
    message_id: z.string(),
    attempt: z.number(),
    attempts: z.number().optional(),
    delay_ms: z.number(),
    message: z.string(),
    until: z.number().optional(),
    reason: RetryReason.optional(),
    provider: z.string().optional(),
  }),
  /** A finished message, already in the transcript. Tool output over 4 000 characters is truncated as in a paged read. */
  event('message', {
    message: Message,
    /** This message and all after it are hidden from now on: the new one takes their place. */
    replaces: z.string().optional(),
  }),
  event('tool', { event_type: z.literal('tool.started'), ...ToolFields }),
  /**
   * The model writes the call of a file edit, the nth of this message: `text` is added to what it writes into the file at `path`, of
   * which the last one that came counts. The message has all of it; `retry` takes it back.
   */
  event('tool_writing', {
    message_id: z.string(),
    index: z.number(),
    name: z.string(),
    path: z.string().optional(),
    text: z.string(),
  }),
  event('tool_output', { tid: z.string(), text: z.string(), parent_tid: z.string().optional() }),
  event('tool_complete', {
    event_type: z.literal('tool.completed'),
    ...ToolFields,
    /** Seconds. */
    duration: z.number().nullable(),
    is_error: z.boolean(),
    /** What the user's hooks did about the call; absent: nothing. */
    hooks: z.array(HookActivity).optional(),
    /** Where its command ran; absent: there was none, or commands run directly on this computer. */
    ran_in: RunsIn.optional(),
  }),
  /** A subagent starts or ends (`status`), or streams; `again`: the reason why its streamed text is discarded; `retry` is when it is streamed again. */
  event('subagent', {
    parent_tid: z.string(),
    task_index: z.number(),
    goal: z.string().optional(),
    status: SubagentStatus.optional(),
    text: z.string().optional(),
    reasoning: z.string().optional(),
    again: z.string().optional(),
    retry: PendingRetry.optional(),
  }),
  z.object({ type: z.literal('approval'), data: Approval }),
  z.object({ type: z.literal('clarify'), data: Clarify }),
  event('answered', {
    id: z.string(),
    kind: z.enum(['approval', 'clarify']),
    answer: z.string(),
    reason: Unanswered.optional(),
    /** The message after which it was asked, and all of its `_decisions`, this one included. */
    message_id: z.string().optional(),
    decisions: z.array(Decision).optional(),
  }),
  /** Usage of the turn so far, after each model call that reports it. */
  event('usage', { usage: Usage }),
  event('warning', {
    message: z.string(),
    type: z.string().optional(),
    sentences: Sentences.optional(),
  }),
  /** Earlier messages are being summarized; the model is called afterwards. */
  event('compressing', { message: z.string(), sentences: Sentences.optional() }),
  /** Earlier messages are now replaced by a summary for the model. */
  event('compressed', {
    message: z.string(),
    sentences: Sentences.optional(),
    summary: SummaryRef.optional(),
    last_prompt_tokens: z.number().optional(),
  }),
  /** The chat stream of the specification replaces `message_ids` by the whole `session`. */
  event('done', {
    usage: Usage,
    message_ids: z.array(z.string()),
    /** A side question, which is not stored in the session. */
    ephemeral: z.boolean().optional(),
    answer: z.string().optional(),
  }),
  event('apperror', {
    message: z.string(),
    type: FailureType,
    hint: z.string().optional(),
    sentences: Sentences.optional(),
  }),
  event('cancel', { message: z.string() }),
  event('title_status', {
    session_id: z.string(),
    status: z.string(),
    reason: z.string().optional(),
    title: z.string().optional(),
  }),
  event('title', { session_id: z.string(), title: z.string() }),
  event('stream_end', { session_id: z.string() }),
])
export type TurnEvent = z.infer<typeof TurnEvent>

/** Events outside turns: list rows, questions, notices. `ping` and `ready` have no source. */
export const ServiceEvent = z.discriminatedUnion('type', [
  event('row', { row: SessionRow }),
  /** `seq`: rows with a lower one are older; absent for a row of the host agent. */
  event('gone', { session_id: z.string(), seq: z.number().optional() }),
  z.object({ type: z.literal('asked'), data: z.union([Approval, Clarify]) }),
  event('settled', {
    id: z.string(),
    session_id: z.string(),
    answer: z.string(),
    reason: Unanswered.optional(),
  }),
  /** On the session's source: its queue has changed. */
  event('queue', { session_id: z.string(), queued: z.array(Queued) }),
  /**
   * On the session's source: a side question and its streamed answer; `answer` is complete, at the end. It is not stored in
   * the session: after a reset, only its end is sent.
   */
  event('aside', {
    stream_id: z.string(),
    question: z.string(),
    status: z.enum(['running', 'done', 'failed']),
    text: z.string().optional(),
    answer: z.string().optional(),
    error: z.string().optional(),
  }),
  event('notice', {
    level: z.enum(['info', 'warn', 'error']),
    message: z.string(),
    code: NoticeCode,
    values: NoticeValues.optional(),
    sentences: Sentences.optional(),
    /** The session it concerns. */
    session_id: z.string().optional(),
  }),
  /** Whether the command-line sessions of a profile are watched; `changed`: fetch the list again. */
  event('gateway', {
    alive: z.boolean(),
    profile: z.string().optional(),
    changed: z.boolean().optional(),
  }),
  /** The source cannot be resumed: fetch it over HTTP, then ignore frames up to the reply's cursor. */
  event('reset', {}),
])
export type ServiceEvent = z.infer<typeof ServiceEvent>

/** `data:` of a frame of GET /api/events; `n` is the process-wide number, `boot` is in the SSE id. */
export type Frame = {
  source: `session:${string}` | 'list' | 'inbox' | 'gateway' | 'notices'
  n: number
  stream?: string
  pos?: number
} & (TurnEvent | ServiceEvent)
