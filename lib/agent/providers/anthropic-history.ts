/** A conversation in chat shape as Anthropic wants it: roles that alternate, blocks for everything. */
import { asString, type JsonObject } from '../../base/json.ts'
import { parseArguments } from '../tool-calls.ts'
import type { ProviderRequest } from '../types.ts'
import { type Part, partsOf, readDataUrl } from './content-parts.ts'
import { createIdSanitizer, sanitizeToolName } from './sanitize-ids.ts'
import { inContentOrder, type PositionedItem, readPositionedItems } from './content-order.ts'

export type Block = JsonObject & { type: string }
export type Turn = { role: 'user' | 'assistant'; content: Block[] }

type Message = ProviderRequest['messages'][number]

/** What stands for a message that says nothing: empty text is refused. */
const NOTHING: Block = { type: 'text', text: '(empty)' }

export type HistoryShape = {
  /** Thoughts go back to the model that had them. */
  providerState: boolean
  /** Claude accepts only thoughts it has signed; others sign nothing and want theirs back all the same. */
  signedOnly: boolean
  /** Messages with calls whose thought is not known get a blank one. */
  blanks: boolean
}

export const toTurns = (
  messages: readonly Message[],
  shape: HistoryShape,
): { system: string; turns: Turn[] } => {
  const plainId = createIdSanitizer()
  const turns: Turn[] = []
  const system: string[] = []

  /** Neighbours of the same role are one turn; results stand before what a person says with them. */
  const add = (role: Turn['role'], content: Block[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) turns.push({ role, content })
  }

  for (const message of messages) {
    if (message.role === 'system')
      system.push(...partsOf(message.content).flatMap(part => ('text' in part ? [part.text] : [])))
    else if (message.role === 'user') add('user', blocksOf(message) ?? [NOTHING])
    else if (message.role === 'tool')
      add('user', [
        {
          type: 'tool_result',
          tool_use_id: plainId(message.tool_call_id ?? ''),
          content: blocksOf(message) ?? '',
          ...(isError(message) && { is_error: true }),
        },
      ])
    else add('assistant', assistantBlocks(message, plainId, shape))
  }
  // A conversation begins with a person, also where its beginning was cut off.
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [NOTHING] })
  return { system: system.join('\n\n'), turns }
}

/** Our tools answer JSON; one that failed says so in a field of its own. */
const isError = ({ content }: Message): boolean =>
  typeof content === 'string' && /^\{\s*"error"\s*:\s*"/.test(content)

const blocksOf = ({ content }: Message): Block[] | null => {
  const blocks = partsOf(content).map(toBlock)
  return blocks.length > 0 ? blocks : null
}

const toBlock = (part: Part): Block => {
  if ('text' in part) return { type: 'text', text: part.text }
  const inline = readDataUrl(part.image)
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
  plainId: (id: string) => string,
  { providerState: withCarry, signedOnly, blanks }: HistoryShape,
): Block[] => {
  const { content, tool_calls = [], providerState } = message
  const said = typeof content === 'string' ? content : ''
  const known = withCarry ? readPositionedItems(providerState) : []
  const placed = signedOnly ? known.filter(isSigned) : known
  if (blanks && placed.length === 0 && tool_calls.length > 0)
    placed.unshift({ item: { ...BLANK }, chars: 0, calls: 0 })
  const blocks = inContentOrder(said, placed, tool_calls).map((piece): Block => {
    if ('text' in piece) return { type: 'text', text: piece.text }
    if ('item' in piece) return { ...piece.item, type: String(piece.item.type) }
    const { id, function: work } = piece.call
    return {
      type: 'tool_use',
      id: plainId(String(id)),
      name: sanitizeToolName(work.name),
      input: parseArguments(work.arguments) ?? {},
    }
  })
  return Array.isArray(content) ? [...partsOf(content).map(toBlock), ...blocks] : blocks
}
