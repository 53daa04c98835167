/** Recognizes servers that drop what does not fit into their window and answer as if nothing had happened. Pure. */
import { commonWindowFor, estimateTextTokens } from './tokens.ts'
import type { LoopMessage } from './types.ts'
import type { AskedWindow } from './window-services.ts'

/** Tokenizers differ by a factor of about two; beyond this one, something is missing. */
const MIN_FACTOR = 3
/** Enough where the server itself names a window that the prompt exceeds. */
const MIN_FACTOR_ASKED = 1.5
/** Even the shortest prompt and tools are longer, so a smaller count is not a length. */
const MIN_COUNTED = 1_000
const MIN_MISSING = 2_000
/** Tokens that no count can overlook. */
const MIN_ADDED = 500
/** Share of a window that a truncated prompt fills at least. */
const MIN_FILLED = 0.75

/** Runs of one character, which tokenizers merge. */
const RUN = /(.)\1{7,}/gs

/** A lower estimate than that of `tokens.ts`: images count nothing, and runs of one character hardly anything. */
export const leastTokens = (text: string): number => estimateTextTokens(text.replace(RUN, '$1$1'))

export const leastMessageTokens = (messages: readonly LoopMessage[]): number =>
  messages.reduce((sum, { content, tool_calls }) => {
    const texts = typeof content === 'string' ? [content] : content.map(({ text }) => text)
    const written = texts.filter(text => typeof text === 'string').join('\n')
    return sum + leastTokens(written + (tool_calls ? JSON.stringify(tool_calls) : ''))
  }, 0)

export type PromptCount = {
  /** The server's count of the whole prompt. */
  counted: number
  /** The part of it that came from a cache. */
  cached: number
  /** `leastTokens` of everything sent, and of what is new since the last answer. */
  sent: number
  added: number
  /** The same of the call before; absent for the first one. */
  before?: { counted: number; sent: number }
}

/** Whether a prompt of at most `most` tokens may have been truncated at all: the exact estimates read the whole prompt again. */
export const isWorthCounting = (counted: number, most: number): boolean =>
  most >= counted * MIN_FACTOR_ASKED || isAbout(counted, commonWindowFor(counted))

/** More was sent than before, and yet the count is about the same, and that of a common window. */
const isFlat = ({ counted, sent, before }: PromptCount): boolean =>
  before !== undefined &&
  sent - before.sent >= MIN_ADDED &&
  (counted - before.counted) * MIN_FACTOR < sent - before.sent &&
  isAbout(counted, before.counted) &&
  isAbout(counted, commonWindowFor(counted))

const isAbout = (a: number, b: number): boolean => Math.abs(a - b) <= b * 0.005

/** Whether the count alone is suspicious, so that the server is worth asking. */
export const isSuspicious = (count: PromptCount): boolean => {
  const { counted, cached, sent } = count
  if (cached > 0 || counted < MIN_COUNTED) return false
  return isFlat(count) || (sent >= counted * MIN_FACTOR_ASKED && sent - counted >= MIN_MISSING)
}

/** The window in tokens when a part of the prompt was dropped; 0 otherwise. `served`: null when the server cannot be asked. */
export const truncatedTo = (count: PromptCount, served: AskedWindow | null): number => {
  if (!isSuspicious(count)) return 0
  const { counted, sent, added } = count
  if (served && served.tokens > 0)
    return counted <= served.tokens && sent > served.tokens ? served.tokens : 0
  // A count that leaves out cached tokens is about as long as what was added.
  const isAdded = counted >= added / 2 && counted <= added * 2 + 500
  if (!isFlat(count) && (sent < counted * MIN_FACTOR || isAdded)) return 0
  // Whole messages are dropped, so the count is often a little below the window.
  const common = commonWindowFor(counted)
  return counted >= common * MIN_FILLED ? common || counted : counted
}
