/** The offline demo model: scripted replies that use the real loop and the real tools. */
import type { Clock } from '../../base/clock.ts'
import { isObject } from '../../base/json.ts'
import type { Provider, ProviderDelta, ProviderRequest, WireMessage } from '../types.ts'
import { sceneOf, type ToolAnswer, type Turn } from './demo-script.ts'

/** Characters per streamed piece. */
const PIECE_CHARS = 6
const DELAY_MS = 15
const CHARS_PER_TOKEN = 4

/** `delayMs`: between two pieces. */
export const demo = (clock: Clock, delayMs = DELAY_MS): Provider =>
  async function* (request) {
    const turn = offered(request, decide(request.messages))
    let answerChars = 0
    for (const delta of toDeltas(turn)) {
      // Checked here as well, because with `delayMs` 0 there is no wait that could abort.
      request.signal.throwIfAborted()
      if (delayMs > 0) await clock.delay(delayMs, request.signal)
      answerChars += deltaChars(delta)
      yield delta
    }
    const total = request.messages.reduce((sum, message) => sum + messageText(message).length, 0)
    yield {
      type: 'usage',
      inputTokens: Math.ceil(total / CHARS_PER_TOKEN),
      outputTokens: Math.ceil(answerChars / CHARS_PER_TOKEN),
      cost: 0,
    }
    yield { type: 'finish', reason: turn.uses?.length ? 'tool_calls' : 'stop' }
  }

const decide = (messages: readonly WireMessage[]): Turn => {
  const at = messages.findLastIndex(message => message.role === 'user')
  const user = messages[at]
  const results = messages
    .slice(at + 1)
    .filter(message => message.role === 'tool')
    .map(toSeen)
  return sceneOf(user ? withoutTags(messageText(user)) : '')(results)
}

/** Without the tags that the server adds to the message of the user. */
const withoutTags = (content: string): string =>
  content
    .replace(/^\[Workspace:[^\]\n]*\]\n/, '')
    .replace(/\n\n\[Attached files:[^\]\n]*\]\s*$/, '')
    .trim()

/** Explains a missing tool instead of calling it. */
const offered = ({ tools }: ProviderRequest, turn: Turn): Turn => {
  const missing = turn.uses?.find(({ name }) => !tools.some(tool => tool.name === name))
  return missing
    ? { text: `I would use the tool \`${missing.name}\` now, but it is not available here.` }
    : turn
}

const toSeen = (message: WireMessage): ToolAnswer => {
  const raw = messageText(message)
  const name = message.name ?? ''
  try {
    const json: unknown = JSON.parse(raw)
    if (isObject(json)) return { name, json: json as Record<string, unknown>, raw }
  } catch {
    // Results may be plain text.
  }
  return { name, json: {}, raw }
}

const messageText = ({ content }: WireMessage): string =>
  typeof content === 'string'
    ? content
    : content.map(part => (typeof part.text === 'string' ? part.text : '')).join('')

const toDeltas = ({ reasoning = '', text = '', uses = [] }: Turn): ProviderDelta[] => [
  ...pieces(reasoning).map(piece => ({ type: 'reasoning' as const, text: piece })),
  ...pieces(text).map(piece => ({ type: 'text' as const, text: piece })),
  ...uses.flatMap(({ name, args }, index) => [
    { type: 'tool_call' as const, index, name },
    ...pieces(JSON.stringify(args), 64).map(piece => ({
      type: 'tool_call' as const,
      index,
      arguments: piece,
    })),
  ]),
]

/** Split between code points. */
const pieces = (text: string, size = PIECE_CHARS): string[] => {
  const points = Array.from(text)
  return Array.from({ length: Math.ceil(points.length / size) }, (_, at) =>
    points.slice(at * size, (at + 1) * size).join(''),
  )
}

const deltaChars = (delta: ProviderDelta): number =>
  delta.type === 'tool_call'
    ? (delta.arguments?.length ?? delta.name?.length ?? 0)
    : 'text' in delta
      ? `${delta.text}`.length
      : 0
