/** Converts a conversation to the input items of the format `codex_responses`. */
import type { JsonObject } from '../../base/json.ts'
import type { ProviderRequest } from '../types.ts'
import { type ContentPart, contentParts } from './content-parts.ts'
import { createIdSanitizer, sanitizeToolName } from './sanitize-ids.ts'
import { inContentOrder, readPositionedItems } from './content-order.ts'

type Message = ProviderRequest['messages'][number]

export type InputShape = {
  /** Return reasoning to the model that produced it. */
  providerState: boolean
  /** OpenAI accepts only encrypted reasoning; other servers use plain text. */
  encryptedOnly: boolean
  /** Mark messages as commentary or final answer, as they were received. */
  phases: boolean
}

/** Leading system messages become the instructions; later ones stay in place as developer messages. */
export const toItems = (
  messages: readonly Message[],
  shape: InputShape,
): { instructions: string; input: JsonObject[] } => {
  const sanitizeId = createIdSanitizer()
  const begin = messages.findIndex(({ role }) => role !== 'system')
  const head = begin < 0 ? messages : messages.slice(0, begin)
  return {
    instructions: head.map(plainText).join('\n\n'),
    input: messages.slice(head.length).flatMap(message => itemsOf(message, sanitizeId, shape)),
  }
}

const plainText = ({ content }: Message): string =>
  contentParts(content)
    .flatMap(part => ('text' in part ? [part.text] : []))
    .join('\n')

const itemsOf = (
  message: Message,
  sanitizeId: (id: string) => string,
  shape: InputShape,
): JsonObject[] => {
  const parts = contentParts(message.content)
  switch (message.role) {
    case 'system':
      return [{ type: 'message', role: 'developer', content: parts.map(toInput) }]
    case 'user':
      return [{ type: 'message', role: 'user', content: parts.map(toInput) }]
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: sanitizeId(message.tool_call_id ?? ''),
          output: parts.some(part => 'image' in part) ? parts.map(toInput) : plainText(message),
        },
      ]
    case 'assistant':
      return assistantItems(message, sanitizeId, shape)
  }
}

const toInput = (part: ContentPart): JsonObject =>
  'text' in part
    ? { type: 'input_text', text: part.text }
    : { type: 'input_image', image_url: part.image, detail: 'auto' }

const assistantItems = (
  message: Message,
  sanitizeId: (id: string) => string,
  { providerState, encryptedOnly, phases }: InputShape,
): JsonObject[] => {
  const content = typeof message.content === 'string' ? message.content : plainText(message)
  const placed = readPositionedItems(message.providerState).filter(({ item }) =>
    item.type === 'message'
      ? phases
      : providerState && (!encryptedOnly || item.encrypted_content !== undefined),
  )
  let phase: JsonObject = {}
  return inContentOrder(content, placed, message.tool_calls ?? []).flatMap(piece => {
    if ('text' in piece) return [{ ...answer(piece.text), ...phase }]
    if ('call' in piece) {
      const { id, function: fn } = piece.call
      return [
        {
          type: 'function_call',
          call_id: sanitizeId(String(id)),
          name: sanitizeToolName(fn.name),
          arguments: fn.arguments,
        },
      ]
    }
    if (piece.item.type !== 'message') return [piece.item]
    phase = { phase: piece.item.phase }
    return []
  })
}

const answer = (words: string): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
})
