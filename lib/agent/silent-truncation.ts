/** Recognizes servers that drop what does not fit into their window and answer as if nothing had happened. Pure. */
import { commonWindowFor, estimateTextTokens } from './tokens.ts'
import type { LoopMessage } from './types.ts'
import type { AskedWindow } from './window-services.ts'

/** Tokenizers differ by a factor of about two; beyond this one, something is missing. */
const MIN_FACTOR = 3
/** Enough where the server itself names a window that the prompt exceeds. */
export const MIN_FACTOR_ASKED = 1.5
/** Even the shortest prompt and tools are longer, so a smaller count is not a length. */
const MIN_COUNTED = 1_000
const MIN_MISSING = 2_000
/** Share of a window that a truncated prompt fills at least. */
const MIN_FILLED = 0.75

/** Runs of one character, which tokenizers merge. */
const RUN = /(.)\1{7,}/gs

/** A lower estimate than that of `tokens.ts`: images count nothing, and runs of one character hardly anything. */
export const leastTokens = (text: string): number => estimateTextTokens(text.replace(RUN, '$1$1'))

export const leastMessageTokens = (messages: readonly LoopMessage[]): number =>
  messages.reduce((sum, { content, tool_calls }) => {
    const texts = typeof content === 'string' ? [content] : content.map(({ text }) => text)
    const plainText = texts.filter(text => typeof text === 'string').join('\n')
    return sum + leastTokens(plainText + (tool_calls ? JSON.stringify(tool_calls) : ''))
  }, 0)

export type PromptCount = {
  /** The server's count of the whole prompt. */
  counted: number
  /** The part of it that came from a cache. */
  cached: number
  /** `leastTokens` of everything sent, and of what is new since the last answer. */
  sent: number
  added: number
}

/** Whether the count alone is suspicious, so that the server is worth asking. */
export const isSuspicious = ({ counted, cached, sent }: PromptCount): boolean =>
  cached === 0 &&
  counted >= MIN_COUNTED &&
  sent >= counted * MIN_FACTOR_ASKED &&
  sent - counted >= MIN_MISSING

/** The window in tokens when a part of the prompt was dropped; 0 otherwise. `served`: null when the server cannot be asked. */
export const truncatedTo = (count: PromptCount, served: AskedWindow | null): number => {
  if (!isSuspicious(count)) return 0
  const { counted, sent, added } = count
  if (served && served.tokens > 0)
    return counted <= served.tokens && sent > served.tokens ? served.tokens : 0
  // A count that leaves out cached tokens is about as long as what was added.
  const isAdded = counted >= added / 2 && counted <= added * 2 + 500
  if (sent < counted * MIN_FACTOR || isAdded) return 0
  // Whole messages are dropped, so the count is often a little below the window.
  const common = commonWindowFor(counted)
  return counted >= common * MIN_FILLED ? common || counted : counted
}
