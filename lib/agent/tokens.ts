/** Token estimates, accurate enough to compact a conversation in time, and context limits in error messages. */
import type { StoredImage } from '../schema/image.ts'
import type { LoopMessage, WireMessage } from './types.ts'

/** Bytes, not characters: non-Latin scripts take more tokens per character, and more bytes. */
const BYTES_PER_TOKEN = 4
/** Roles and separators. */
const TOKENS_PER_MESSAGE = 4
/** Assumed for an image of unknown width and height, whatever its bytes. */
const TOKENS_PER_IMAGE = 1_500
/** Claude's rule; other providers count less for large images. */
const PIXELS_PER_TOKEN = 750
/** Providers make larger images smaller. */
const MAX_IMAGE_TOKENS = 1_600
/** The most that one request contains; see `providers/images.ts`. */
const MAX_IMAGES = 20

export const estimateTextTokens = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)

const tokensOfPart = (part: { type: string; [key: string]: unknown }): number =>
  typeof part.text === 'string' ? estimateTextTokens(part.text) : TOKENS_PER_IMAGE

const estimateImageTokens = ({ width, height }: StoredImage): number =>
  Math.min(MAX_IMAGE_TOKENS, Math.ceil((width * height) / PIXELS_PER_TOKEN))

export const estimateTokens = (message: LoopMessage): number =>
  estimateWithoutImages(message) +
  (message.images ?? []).reduce((sum, image) => sum + estimateImageTokens(image), 0)

/** Messages of a conversation do not change, and all of them are counted before each step. */
const counted = new WeakMap<WireMessage, number>()

const estimateWithoutImages = (message: WireMessage): number => {
  const cachedTokens = counted.get(message)
  if (cachedTokens !== undefined) return cachedTokens
  const tokens = countWithoutImages(message)
  counted.set(message, tokens)
  return tokens
}

const countWithoutImages = ({ content, tool_calls, refusal }: WireMessage): number =>
  TOKENS_PER_MESSAGE +
  (typeof content === 'string'
    ? estimateTextTokens(content)
    : content.reduce((sum, part) => sum + tokensOfPart(part), 0)) +
  (tool_calls ? estimateTextTokens(JSON.stringify(tool_calls)) : 0) +
  (refusal ? estimateTextTokens(refusal) : 0)

/** The text of a message; other parts appear by type, such as `[image_url]`. */
export const messageText = ({ content }: WireMessage): string =>
  typeof content === 'string'
    ? content
    : content
        .map(part => (typeof part.text === 'string' ? part.text : `[${part.type}]`))
        .filter(Boolean)
        .join('\n')

/** Older images are not sent, so they do not count. `withImages`: false for an endpoint that gets none. */
export const estimateAllTokens = (messages: readonly LoopMessage[], withImages = true): number => {
  const images = withImages ? messages.flatMap(message => message.images ?? []) : []
  return (
    images.slice(-MAX_IMAGES).reduce((sum, image) => sum + estimateImageTokens(image), 0) +
    messages.reduce((sum, message) => sum + estimateWithoutImages(message), 0)
  )
}

/** `128k`, `1.2m`. */
export const formatTokens = (tokens: number): string => {
  if (tokens < 1_000) return String(Math.round(tokens))
  const [value, unit] = tokens < 999_500 ? [tokens / 1_000, 'k'] : [tokens / 1_000_000, 'm']
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)}${unit}`
}

/** Common context windows in tokens. */
const COMMON_WINDOWS = [131_072, 65_536, 32_768, 16_384, 8_192]

/** The smallest common window of at least so many tokens; 0 above all of them. */
export const commonWindowFor = (tokens: number): number =>
  [...COMMON_WINDOWS, 4_096].findLast(step => step >= tokens) ?? 0

/** Error messages that contain the limit: "maximum context length is 8192 tokens". */
const LIMITS = [
  /range of input length should be \[\d+, ?(\d+)\]/i,
  /\blimit:? (\d[\d,_]{2,}),? requested/i,
  /supports? up to (\d[\d,_]{2,})/i,
  /tokens\W+(?:\+ \W?max_new_tokens\W+)?must (?:be <=|have less than) (\d[\d,_]{2,})/i,
  /must have less than (\d[\d,_]{2,}) tokens/i,
  /(?:context (?:length|window|size)|maximum (?:context|prompt|input)(?: length)?|(?:input |token |context )limit)[^0-9]{0,40}?(\d[\d,_]{2,})/i,
  />\s*(\d[\d,_]{2,})\s*(?:maximum|max|tokens?|limit)/i,
  /(?:max(?:imum)?|limit|at most|up to)[^0-9]{0,24}?(\d[\d,_]{2,})\s*(?:input |context |prompt )?tokens/i,
  /(\d[\d,_]{2,})[ -]token(?:s)? (?:context|limit|window|maximum)/i,
]

/** The context limit in an error message; 0 when there is none. */
export const contextLimitIn = (message: string): number => {
  for (const pattern of LIMITS) {
    const [, digits] = pattern.exec(message) ?? []
    const tokens = Number(digits?.replace(/[,_]/g, ''))
    if (tokens >= 256 && tokens <= 20_000_000) return tokens
  }
  return 0
}

/** The next smaller common window, for errors that do not name the limit. */
export const nextSmallerWindow = (tokens: number): number =>
  COMMON_WINDOWS.find(step => step < tokens) ?? 4_096
