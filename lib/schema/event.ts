/** Everything a turn says over a stream, and everything the multiplexed stream says beside it. */
import { z } from 'zod'
import { Message } from './message.ts'
import { Approval, Clarify } from './question.ts'
import { Queued } from './queue.ts'
import { SessionRow } from './session.ts'
import { SummaryRef } from './summary.ts'
import { SubagentStatus } from './subagent.ts'
import { Usage } from './usage.ts'

/** The words for a failed turn (contract, decision 30); providers' failures use the same. */
export const FailureType = z.enum([
  'quota_exhausted',
  'rate_limit',
  'auth_mismatch',
  'model_not_found',
  'context_overflow',
  'network',
  'no_response',
  'interrupted',
  'budget_reached',
  'error',
])
export type FailureType = z.infer<typeof FailureType>

const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ type: z.literal(type), data: z.object(shape) })

const ToolFields = {
  name: z.string(),
  preview: z.string().nullable(),
  /** The first four arguments, each as text cut to 120 characters. */
  args: z.record(z.string(), z.string()),
  tid: z.string(),
  /**
   * A subagent's call: which call delegated, and to which of its tasks it belongs. Its `name` is then `subagent_progress`,
   * which clients that know no nesting draw as a card of its own, and `tool` says what was called.
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
   * What was streamed for this message is void: the call is made again in `delay_ms`, and all of it comes again under the same
   * id. `attempt` calls have failed, of `attempts` that are made at most.
   */
  event('retry', {
    message_id: z.string(),
    attempt: z.number(),
    attempts: z.number().optional(),
    delay_ms: z.number(),
    message: z.string(),
  }),
  /** A finished message, already in the transcript. Tool output longer than 4 000 characters is cut as in a paged read. */
  event('message', { message: Message }),
  event('tool', { event_type: z.literal('tool.started'), ...ToolFields }),
  event('tool_output', { tid: z.string(), text: z.string(), parent_tid: z.string().optional() }),
  event('tool_complete', {
    event_type: z.literal('tool.completed'),
    ...ToolFields,
    /** Seconds. */
    duration: z.number().nullable(),
    is_error: z.boolean(),
  }),
  /** A subagent begins or ends (`status`), or speaks; `again` says why what it was saying is void. */
  event('subagent', {
    parent_tid: z.string(),
    task_index: z.number(),
    goal: z.string().optional(),
    status: SubagentStatus.optional(),
    text: z.string().optional(),
    reasoning: z.string().optional(),
    again: z.string().optional(),
  }),
  z.object({ type: z.literal('approval'), data: Approval }),
  z.object({ type: z.literal('clarify'), data: Clarify }),
  event('answered', { id: z.string(), kind: z.enum(['approval', 'clarify']), answer: z.string() }),
  event('warning', { message: z.string(), type: z.string().optional() }),
  /** Earlier messages are being summarised; the model is called when that is done. */
  event('compressing', { message: z.string() }),
  /** From here on a summary stands for them: its number, and the message after which its divider is drawn. */
  event('compressed', {
    message: z.string(),
    summary: SummaryRef.optional(),
    last_prompt_tokens: z.number().optional(),
  }),
  /** The chat stream of the specification replaces `message_ids` by the whole `session`. */
  event('done', {
    usage: Usage,
    message_ids: z.array(z.string()),
    /** A side question: nothing of it is in the session. */
    ephemeral: z.boolean().optional(),
    answer: z.string().optional(),
  }),
  event('apperror', {
    message: z.string(),
    type: FailureType,
    hint: z.string().optional(),
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

/** Beside turns: rows of the list, what waits for a person, notices. `ping` and `ready` carry no source. */
export const ServiceEvent = z.discriminatedUnion('type', [
  event('row', { row: SessionRow }),
  event('gone', { session_id: z.string() }),
  z.object({ type: z.literal('asked'), data: z.union([Approval, Clarify]) }),
  event('settled', { id: z.string(), session_id: z.string(), answer: z.string() }),
  /** On the session's own source: what waits to be sent to it has changed. */
  event('queue', { session_id: z.string(), queued: z.array(Queued) }),
  /**
   * On the session's own source: a side question is asked, and what is said to it. `answer` is the whole of it, at the end.
   * It is no part of the session: after a reset only its end is told.
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
    /** The conversation it is about. */
    session_id: z.string().optional(),
  }),
  /** Whether the command-line sessions of a profile are watched; `changed`: fetch the list again. */
  event('gateway', {
    alive: z.boolean(),
    profile: z.string().optional(),
    changed: z.boolean().optional(),
  }),
  /** The source cannot be resumed: fetch it by HTTP, then drop frames up to the reply's cursor. */
  event('reset', {}),
])
export type ServiceEvent = z.infer<typeof ServiceEvent>

/** `data:` of a frame of GET /api/events; `n` is the process-wide number, `boot` stands in the SSE id. */
export type Frame = {
  source: `session:${string}` | 'list' | 'inbox' | 'gateway' | 'notices'
  n: number
  stream?: string
  pos?: number
} & (TurnEvent | ServiceEvent)
