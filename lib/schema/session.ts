/** A session: its compact row for lists, and its full record with the messages. */
import { z } from 'zod'
import { Message } from './message.ts'
import { Question } from './question.ts'
import { SummaryRef } from './summary.ts'
import { Queued } from './queue.ts'
import { LiveSubagent } from './subagent.ts'
import { Usage } from './usage.ts'

/** One tool call of the whole session in short, for clients that draw cards from it. */
export const ToolSummary = z
  .object({
    name: z.string(),
    snippet: z.string(),
    tid: z.string(),
    assistant_msg_idx: z.number(),
    args: z.record(z.string(), z.string()),
  })
  .meta({ id: 'ToolSummary' })
export type ToolSummary = z.infer<typeof ToolSummary>

/** The compact record C of contract §3.1. Times are seconds since 1970, with fractions. */
export const SessionRow = z
  .looseObject({
    session_id: z.string(),
    title: z.string(),
    workspace: z.string(),
    model: z.string().nullable(),
    message_count: z.number(),
    created_at: z.number(),
    updated_at: z.number(),
    pinned: z.boolean(),
    archived: z.boolean(),
    project_id: z.string().nullable(),
    profile: z.string(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    estimated_cost: z.number(),
    personality: z.string().nullable(),
    compression_anchor_visible_idx: z.number().nullable(),
    compression_anchor_message_key: z.unknown(),
    active_stream_id: z.string().nullable(),
    is_streaming: z.boolean(),
    /** Open approvals and questions: the row needs a person. */
    waiting: z.number(),
    /** How the last turn ended; null before the first one and while one runs. */
    last_turn: z.enum(['done', 'failed', 'cancelled', 'interrupted']).nullable(),
    /** First characters of the newest user message, for the detailed list. */
    preview: z.string(),
  })
  .meta({ id: 'SessionRow' })
export type SessionRow = z.infer<typeof SessionRow>

export const Draft = z
  .object({ text: z.string().max(50_000), files: z.array(z.string()).max(50) })
  .meta({ id: 'Draft' })
export type Draft = z.infer<typeof Draft>

/** What a running turn has produced beyond the journal: enough to draw it without its stream. */
export const LiveTurn = z
  .object({
    stream_id: z.string(),
    /** Position of the last event in the turn's log. */
    pos: z.number(),
    started_at: z.number(),
    model: z.string(),
    provider: z.string(),
    /** The assistant message being spoken, if one is. */
    message_id: z.string().nullable(),
    text: z.string(),
    reasoning: z.string(),
    /** Calls that have begun and not ended, with what they printed so far (a bounded tail). */
    tools: z.array(
      z.object({
        tid: z.string(),
        name: z.string(),
        preview: z.string().nullable(),
        args: z.record(z.string(), z.string()),
        started_at: z.number(),
        output: z.string(),
      }),
    ),
    /** Those of calls that run, subagents of subagents too. */
    subagents: z.array(LiveSubagent).optional(),
    /** A call has failed and is made again at `until` (seconds since 1970); `attempt` have failed, of `attempts` at most. */
    retry: z
      .object({
        attempt: z.number(),
        attempts: z.number(),
        until: z.number(),
        message: z.string(),
      })
      .optional(),
  })
  .meta({ id: 'LiveTurn' })
export type LiveTurn = z.infer<typeof LiveTurn>

/** The full record F. With `limit`, `messages` is the tail and `_messages_offset` tells how many stand before it. */
export const Session = z
  .looseObject({
    ...SessionRow.shape,
    messages: z.array(Message),
    tool_calls: z.array(ToolSummary),
    pending_user_message: z.string().nullable(),
    pending_attachments: z.array(z.string()),
    pending_started_at: z.number().nullable(),
    composer_draft: Draft,
    questions: z.array(Question),
    /** Messages that wait to be sent, in their order; also in `queue` events. */
    queued: z.array(Queued),
    live: LiveTurn.nullable(),
    last_usage: Usage.nullable(),
    /** What the model is told of earlier messages instead of themselves; the messages are all here. */
    summaries: z.array(SummaryRef),
    cursor: z.string(),
    _messages_truncated: z.boolean(),
    _messages_offset: z.number(),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>
