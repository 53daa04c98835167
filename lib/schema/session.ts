/** Sessions: the row for lists, and the full record with messages. */
import { z } from 'zod'
import { MAX_DRAFT_CHARS } from '../base/draft-limit.ts'
import { ClientMessageId } from './ids.ts'
import { Message } from './message.ts'
import { Question } from './question.ts'
import { RecordedSummary } from './recorded-summary.ts'
import { SummaryRef } from './summary.ts'
import { Queued } from './queue.ts'
import { PendingRetry } from './retry.ts'
import { LiveSubagent } from './subagent.ts'
import { TurnUsage, Usage } from './usage.ts'

/** Summary of a tool call, for clients that show cards from it. */
export const ToolSummary = RecordedSummary.extend({ assistant_msg_idx: z.number() }).meta({
  id: 'ToolSummary',
})
export type ToolSummary = z.infer<typeof ToolSummary>

export const SessionMode = z.enum(['plan', 'normal'])
export type SessionMode = z.infer<typeof SessionMode>

/** A session in lists and replies. Times are fractional seconds since 1970. */
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
    /** As in `Usage`, of all turns. */
    cache_read_tokens: z.number().optional(),
    cache_write_tokens: z.number().optional(),
    personality: z.string().nullable(),
    /** `plan`: read-only until the user approves a plan. Absent in sessions that were never in plan mode. */
    mode: SessionMode.nullish(),
    compression_anchor_visible_idx: z.number().nullable(),
    compression_anchor_message_key: z.unknown(),
    active_stream_id: z.string().nullable(),
    is_streaming: z.boolean(),
    /** Number of open approvals and questions. */
    waiting: z.number(),
    /** How the last turn ended; null before the first one and while one is running. */
    last_turn: z.enum(['done', 'failed', 'cancelled', 'interrupted']).nullable(),
    /** What ended it before its work was done. */
    last_turn_limit: z.enum(['steps', 'budget']).optional(),
    /** Its last question was not answered in time. */
    last_turn_missed: z.literal(true).optional(),
    /** Start of the latest user message, for the detailed list. */
    preview: z.string(),
    /** Rises with every change of any row of this server: of two copies, the lower one is older. Absent in rows of the host agent. */
    seq: z.number().optional(),
  })
  .meta({ id: 'SessionRow' })
export type SessionRow = z.infer<typeof SessionRow>

/** A comment on lines of a diff; see `lib/base/comment-text.ts`. */
const DraftComment = z
  .object({
    path: z.string().min(1).max(4_096),
    /** The numbers are those of before the change, because all lines are removed ones. */
    removed: z.boolean(),
    from: z.number().int().min(1),
    to: z.number().int().min(1),
    /** The lines as in a diff: each begins with a space, `+`, or `-`. */
    quote: z.string().max(20_000),
    text: z.string().min(1).max(10_000),
  })
  .meta({ id: 'DraftComment' })

export const Draft = z
  .object({
    text: z.string().max(MAX_DRAFT_CHARS),
    files: z.array(z.string()).max(50),
    /** Comments on lines of diffs, sent with the message; absent when there are none. */
    comments: z.array(DraftComment).max(50).optional(),
    /** The id of the message that it will be sent as; absent from clients that do not name one. */
    client_message_id: ClientMessageId.optional(),
  })
  .meta({ id: 'Draft' })
export type Draft = z.infer<typeof Draft>

/** The call of a file edit that the model writes. */
const LiveWriting = z
  .object({
    message_id: z.string(),
    index: z.number(),
    name: z.string(),
    /** Absent until it is written. */
    path: z.string().optional(),
    /** The end of it. */
    text: z.string(),
    /** Of all that was written. */
    lines: z.number(),
  })
  .meta({ id: 'LiveWriting' })

/** State of a running turn that is not in the journal yet: enough to show it without its stream. */
export const LiveTurn = z
  .object({
    stream_id: z.string(),
    /** Position of the last event in the turn's log. */
    pos: z.number(),
    started_at: z.number(),
    model: z.string(),
    provider: z.string(),
    /** The assistant message being streamed, if any. */
    message_id: z.string().nullable(),
    text: z.string(),
    reasoning: z.string(),
    /** Running tool calls with the end of their output. */
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
    writing: LiveWriting.optional(),
    /** Running subagents, nested ones included. */
    subagents: z.array(LiveSubagent).optional(),
    retry: PendingRetry.optional(),
    /** Usage so far; absent until a model call has reported it. */
    usage: Usage.optional(),
  })
  .meta({ id: 'LiveTurn' })
export type LiveTurn = z.infer<typeof LiveTurn>

/** The full record F. With `limit`, `messages` has the last ones and `_messages_offset` is the number of earlier ones. */
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
    /** The queue, in order; also in `queue` events. */
    queued: z.array(Queued),
    live: LiveTurn.nullable(),
    last_usage: Usage.nullable(),
    /** In paged replies: the usage of the turns on the page. */
    turn_usage: z.array(TurnUsage).optional(),
    /** Summaries that the model reads in place of earlier messages. The messages are still in the record. */
    summaries: z.array(SummaryRef),
    cursor: z.string(),
    _messages_truncated: z.boolean(),
    _messages_offset: z.number(),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>
