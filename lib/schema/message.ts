/** One message of a transcript, as it stands on disk and on the wire. */
import { z } from 'zod'

export const ToolCall = z
  .looseObject({
    id: z.string(),
    type: z.literal('function'),
    /** `arguments` is JSON text, exactly as the model wrote it. */
    function: z.looseObject({ name: z.string(), arguments: z.string() }),
  })
  .meta({ id: 'ToolCall' })
export type ToolCall = z.infer<typeof ToolCall>

export const Role = z.enum(['system', 'user', 'assistant', 'tool'])
export type Role = z.infer<typeof Role>

export const Message = z
  .looseObject({
    /** `m<n>`, n being the journal number that was free when the message began; never reused. */
    id: z.string(),
    role: Role,
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
    tool_calls: z.array(ToolCall).exactOptional(),
    tool_call_id: z.string().exactOptional(),
    name: z.string().exactOptional(),
    refusal: z.string().exactOptional(),
    /** Whole seconds since 1970. */
    timestamp: z.number().exactOptional(),
    _ts: z.number().exactOptional(),
    /** Names of files; shown, never sent to a provider. */
    attachments: z.array(z.string()).exactOptional(),
    reasoning: z.string().exactOptional(),
    /** An error or the cancel marker: kept for the reader, never sent to a provider. */
    _error: z.boolean().exactOptional(),
    /** What had streamed when the turn was stopped. */
    _partial: z.boolean().exactOptional(),
    /** Which model and provider really served this assistant message. */
    model: z.string().exactOptional(),
    provider: z.string().exactOptional(),
    /** On a reply of GET /api/session with `limit`: `content` was cut and this many characters are stored. */
    _content_length: z.number().exactOptional(),
    /** Then also: lines of the whole output. */
    _content_lines: z.number().exactOptional(),
    /** What a program printed, with its colours (SGR sequences); only where it had some. For people, never sent to a provider. */
    _output: z.string().exactOptional(),
  })
  .meta({ id: 'Message' })
export type Message = z.infer<typeof Message>

/** A message that has no place in a journal yet. */
export type NewMessage = Omit<Message, 'id'> & { id?: string }
