/** Converts a conversation to the messages of the format `anthropic_messages`: alternating roles, content blocks. */
import { parseDataUrl } from '../../base/data-url.ts'
import { asString, type JsonObject } from '../../base/json.ts'
import { parseArguments } from '../tool-calls.ts'
import type { ProviderRequest } from '../types.ts'
import { type ContentPart, contentParts } from './content-parts.ts'
import { createIdSanitizer, sanitizeToolName } from './sanitize-ids.ts'
import { inContentOrder, type PositionedItem, readPositionedItems } from './content-order.ts'

export type Block = JsonObject & { type: string }
export type Turn = { role: 'user' | 'assistant'; content: Block[] }

type Message = ProviderRequest['messages'][number]

/** Replaces empty messages, which the API rejects. A new object each time, because cache breakpoints are set on blocks. */
const emptyBlock = (): Block => ({ type: 'text', text: '(empty)' })

export type HistoryShape = {
  /** Return reasoning to the model that produced it. */
  providerState: boolean
  /** Claude accepts only thinking it has signed; other models do not sign theirs. */
  signedOnly: boolean
  /** Add blank thinking to the model's messages that have none. */
  blanks: boolean
}

export const toTurns = (
  messages: readonly Message[],
  shape: HistoryShape,
): { system: string; turns: Turn[] } => {
  const sanitizeId = createIdSanitizer()
  const turns: Turn[] = []
  const system: string[] = []

  /** Merges messages of the same role; tool results come before the user's text. */
  const add = (role: Turn['role'], content: Block[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) turns.push({ role, content })
  }

  for (const message of messages) {
    if (message.role === 'system')
      system.push(
        ...contentParts(message.content).flatMap(part => ('text' in part ? [part.text] : [])),
      )
    else if (message.role === 'user') add('user', blocksOf(message) ?? [emptyBlock()])
    else if (message.role === 'tool')
      add('user', [
        {
          type: 'tool_result',
          tool_use_id: sanitizeId(message.tool_call_id ?? ''),
          content: blocksOf(message) ?? '',
          ...(isError(message) && { is_error: true }),
        },
      ])
    else add('assistant', assistantBlocks(message, sanitizeId, shape))
  }
  // The first message must be the user's, even if the beginning was cut off.
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [emptyBlock()] })
  return { system: system.join('\n\n'), turns }
}

/** Failed tools return JSON with an `error` field. */
const isError = ({ content }: Message): boolean =>
  typeof content === 'string' && /^\{\s*"error"\s*:\s*"/.test(content)

const blocksOf = ({ content }: Message): Block[] | null => {
  const blocks = contentParts(content).map(toBlock)
  return blocks.length > 0 ? blocks : null
}

const toBlock = (part: ContentPart): Block => {
  if ('text' in part) return { type: 'text', text: part.text }
  const inline = parseDataUrl(part.image)
  return {
    type: 'image',
    source: inline
      ? { type: 'base64', media_type: inline.mediaType, data: inline.data }
      : { type: 'url', url: part.image },
  }
}

const isSigned = ({ item }: PositionedItem) =>
  asString(item.signature) !== '' || asString(item.data) !== ''

const BLANK = { type: 'thinking', thinking: ' ', signature: '' }

const assistantBlocks = (
  message: Message,
  sanitizeId: (id: string) => string,
  { providerState: withState, signedOnly, blanks }: HistoryShape,
): Block[] => {
  const { content, tool_calls = [], providerState } = message
  const text = typeof content === 'string' ? content : ''
  const items = withState ? readPositionedItems(providerState) : []
  const placed = signedOnly ? items.filter(isSigned) : items
  if (blanks && placed.length === 0) placed.unshift({ item: { ...BLANK }, chars: 0, calls: 0 })
  const blocks = inContentOrder(text, placed, tool_calls).map((piece): Block => {
    if ('text' in piece) return { type: 'text', text: piece.text }
    if ('item' in piece) return { ...piece.item, type: String(piece.item.type) }
    const { id, function: fn } = piece.call
    return {
      type: 'tool_use',
      id: sanitizeId(String(id)),
      name: sanitizeToolName(fn.name),
      input: parseArguments(fn.arguments) ?? {},
    }
  })
  return Array.isArray(content) ? [...contentParts(content).map(toBlock), ...blocks] : blocks
}
