/** Cuts the middle out of long tool results, longest first, until a conversation fits. Pure. */
import { estimateAllTokens, estimateTokens } from './tokens.ts'
import type { LoopMessage } from './types.ts'

/** Tokens that remain of a shortened tool result, roughly; fewer in a small window. */
const SHORT_RESULT_TOKENS = 1_500
const MIN_SHORT_RESULT_TOKENS = 200
const SHORT_RESULT_SHARE = 0.1

export const withShortResults = (
  original: readonly LoopMessage[],
  maxTokens: number,
): LoopMessage[] => {
  const messages = [...original]
  const most = Math.floor(
    Math.min(
      SHORT_RESULT_TOKENS,
      Math.max(MIN_SHORT_RESULT_TOKENS, maxTokens * SHORT_RESULT_SHARE),
    ),
  )
  let tokens = estimateAllTokens(messages)
  const longest = messages
    .map((message, at) => ({ at, size: message.role === 'tool' ? estimateTokens(message) : 0 }))
    .filter(({ size }) => size > most / 2)
    .toSorted((a, b) => b.size - a.size)
  for (const { at, size } of longest) {
    if (tokens <= maxTokens) break
    const message = messages[at] as LoopMessage
    if (typeof message.content !== 'string') continue
    messages[at] = { ...message, content: shortened(message.content, most * 2) }
    tokens += estimateTokens(messages[at]) - size
  }
  return messages
}

const shortened = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const omitted = text.length - maxChars
  const half = maxChars / 2
  return `${text.slice(0, half)}\n[… ${omitted} characters left out: they do not fit into this model's window …]\n${text.slice(half + omitted)}`
}
