/** One message of a transcript, on disk and on the wire. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'
import { RunsIn } from './command-place.ts'
import { Decision } from './decision.ts'
import { HookActivity } from './hook.ts'
import { RefusedBy } from './refused-by.ts'
import { StoredImage } from './image.ts'
import { RecordedSummary } from './recorded-summary.ts'

export const ToolCall = z
  .looseObject({
    id: z.string(),
    type: z.literal('function'),
    /** `arguments` is JSON text, exactly as the model sent it. */
    function: z.looseObject({ name: z.string(), arguments: z.string() }),
    /** The tool through which the model made the call (`call_tool`); absent: it called the tool itself. */
    via: z.string().exactOptional(),
  })
  .meta({ id: 'ToolCall' })
export type ToolCall = z.infer<typeof ToolCall>

export const Role = z.enum(['system', 'user', 'assistant', 'tool'])
export type Role = z.infer<typeof Role>

export const Message = z
  .looseObject({
    /** `m<n>`: the next free journal number when the message started. Never reused. */
    id: z.string(),
    role: Role,
    /** The id that the client of the person gave to the message: its page recognizes it by this. Shown, never sent to a provider. */
    client_message_id: z.string().exactOptional(),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
    tool_calls: z.array(ToolCall).exactOptional(),
    tool_call_id: z.string().exactOptional(),
    name: z.string().exactOptional(),
    refusal: z.string().exactOptional(),
    /** Whole seconds since 1970. */
    timestamp: z.number().exactOptional(),
    _ts: z.number().exactOptional(),
    /** File names; shown, never sent to a provider. */
    attachments: z.array(z.string()).exactOptional(),
    reasoning: z.string().exactOptional(),
    /** An error or the cancel marker: shown, never sent to a provider. */
    _error: z.boolean().exactOptional(),
    /** With it: codes of its `message` and its `hint`. */
    _sentences: Sentences.exactOptional(),
    /** What had streamed when the turn was stopped. */
    _partial: z.boolean().exactOptional(),
    /** In replies and events only: the ids of all versions of this user message, in the order they were written, its own among them. */
    _versions: z.array(z.string()).exactOptional(),
    /** The turn ended with this message because it had used all its steps: their number. Shown, never sent to a provider. */
    _step_limit: z.number().exactOptional(),
    /** The model and provider that produced this assistant message. */
    model: z.string().exactOptional(),
    provider: z.string().exactOptional(),
    /** In replies of GET /api/session with `limit`: `content` was truncated; the full length in characters. */
    _content_length: z.number().exactOptional(),
    /** With it: number of lines of the full output. */
    _content_lines: z.number().exactOptional(),
    /** Terminal output with its colors (SGR sequences), if it had any. Shown, never sent to a provider. */
    _output: z.string().exactOptional(),
    /** Images of a tool result: copies stored with the session, shown, and sent to models that accept images. */
    _images: z.array(StoredImage).exactOptional(),
    /**
     * What the user's hooks did about a tool call. On a message of the role `user`: a hook wrote it, to make the agent
     * continue. Shown, never sent to a provider.
     */
    _hooks: z.array(HookActivity).exactOptional(),
    /** Where the command of a tool call ran; of several, the one with the widest reach. Shown, never sent to a provider. */
    _ran_in: RunsIn.exactOptional(),
    /** The tool call failed; one that was refused has not. Shown, never sent to a provider. */
    _failed: z.literal(true).exactOptional(),
    /** Who refused the tool call. Shown, never sent to a provider. */
    _refused_by: RefusedBy.exactOptional(),
    /** Approvals and questions of the agent after this message, in order, as they were settled. Shown, never sent to a provider. */
    _decisions: z.array(Decision).exactOptional(),
    /** Tool calls that were recorded beside the messages. Shown, never sent to a provider. */
    _tool_summaries: z.array(RecordedSummary).exactOptional(),
  })
  .meta({ id: 'Message' })
export type Message = z.infer<typeof Message>

/** A message that is not in a journal yet. */
export type NewMessage = Omit<Message, 'id'> & { id?: string }
