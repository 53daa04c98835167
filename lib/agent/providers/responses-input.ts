/** A conversation in chat shape as the items of OpenAI's Responses. */
import type { JsonObject } from '../../base/json.ts'
import type { ProviderRequest } from '../types.ts'
import { type Part, partsOf } from './content-parts.ts'
import { createIdSanitizer, sanitizeToolName } from './sanitize-ids.ts'
import { inContentOrder, readPositionedItems } from './content-order.ts'

type Message = ProviderRequest['messages'][number]

export type InputShape = {
  /** Thoughts go back to the model that had them. */
  providerState: boolean
  /** OpenAI accepts only thoughts it has encrypted; others say theirs in plain words. */
  encryptedOnly: boolean
}

/** The first system messages are the instructions; one that comes later is said where it stands. */
export const toItems = (
  messages: readonly Message[],
  shape: InputShape,
): { instructions: string; input: JsonObject[] } => {
  const plainId = createIdSanitizer()
  const begin = messages.findIndex(({ role }) => role !== 'system')
  const head = begin < 0 ? messages : messages.slice(0, begin)
  return {
    instructions: head.map(textOf).join('\n\n'),
    input: messages.slice(head.length).flatMap(message => itemsOf(message, plainId, shape)),
  }
}

const textOf = ({ content }: Message): string =>
  partsOf(content)
    .flatMap(part => ('text' in part ? [part.text] : []))
    .join('\n')

const itemsOf = (
  message: Message,
  plainId: (id: string) => string,
  shape: InputShape,
): JsonObject[] => {
  const parts = partsOf(message.content)
  switch (message.role) {
    case 'system':
      return [{ type: 'message', role: 'developer', content: parts.map(toInput) }]
    case 'user':
      return [{ type: 'message', role: 'user', content: parts.map(toInput) }]
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: plainId(message.tool_call_id ?? ''),
          output: parts.some(part => 'image' in part) ? parts.map(toInput) : textOf(message),
        },
      ]
    case 'assistant':
      return assistantItems(message, plainId, shape)
  }
}

const toInput = (part: Part): JsonObject =>
  'text' in part
    ? { type: 'input_text', text: part.text }
    : { type: 'input_image', image_url: part.image, detail: 'auto' }

const assistantItems = (
  message: Message,
  plainId: (id: string) => string,
  { providerState, encryptedOnly }: InputShape,
): JsonObject[] => {
  const said = typeof message.content === 'string' ? message.content : textOf(message)
  const placed = (providerState ? readPositionedItems(message.providerState) : []).filter(
    ({ item }) => !encryptedOnly || item.encrypted_content !== undefined,
  )
  return inContentOrder(said, placed, message.tool_calls ?? []).map(piece => {
    if ('text' in piece) return answer(piece.text)
    if ('item' in piece) return piece.item
    const { id, function: work } = piece.call
    return {
      type: 'function_call',
      call_id: plainId(String(id)),
      name: sanitizeToolName(work.name),
      arguments: work.arguments,
    }
  })
}

const answer = (words: string): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
})
