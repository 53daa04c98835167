/** How long a text is for a model, roughly: enough to know in time that a conversation grows too long. */
import type { LoopMessage, WireMessage } from './types.ts'

/** Bytes and not characters: scripts beyond Latin take more tokens a character, and more bytes. */
const BYTES_A_TOKEN = 4
/** Roles and separators. */
const TOKENS_A_MESSAGE = 4
/** What a picture is counted as, whatever the size of its data. */
const TOKENS_A_PICTURE = 1_500

export const estimateTextTokens = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_A_TOKEN)

const tokensOfPart = (part: { type: string; [key: string]: unknown }): number =>
  typeof part.text === 'string' ? estimateTextTokens(part.text) : TOKENS_A_PICTURE

export const estimateTokens = ({ content, tool_calls, refusal }: WireMessage): number =>
  TOKENS_A_MESSAGE +
  (typeof content === 'string'
    ? estimateTextTokens(content)
    : content.reduce((sum, part) => sum + tokensOfPart(part), 0)) +
  (tool_calls ? estimateTextTokens(JSON.stringify(tool_calls)) : 0) +
  (refusal ? estimateTextTokens(refusal) : 0)

/** The words of a message; a picture is named only. */
export const textOf = ({ content }: WireMessage): string =>
  typeof content === 'string'
    ? content
    : content
        .map(part => (typeof part.text === 'string' ? part.text : `[${part.type}]`))
        .filter(Boolean)
        .join('\n')

export const estimateAllTokens = (messages: readonly LoopMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0)

/** `128k`, `1.2m`: for a sentence. */
export const formatTokens = (tokens: number): string => {
  if (tokens < 1_000) return String(Math.round(tokens))
  const [value, unit] = tokens < 999_500 ? [tokens / 1_000, 'k'] : [tokens / 1_000_000, 'm']
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)}${unit}`
}

/** The windows models commonly have; what is too long for one is tried with the next. */
const STEPS = [131_072, 65_536, 32_768, 16_384, 8_192]

/** Words before or behind the number in providers' sentences: "maximum context length is 8192 tokens". */
const LIMITS = [
  /range of input length should be \[\d+, ?(\d+)\]/i,
  /\blimit:? (\d[\d,_]{2,}),? requested/i,
  /supports? up to (\d[\d,_]{2,})/i,
  /(?:context (?:length|window|size)|maximum (?:context|prompt|input)(?: length)?|(?:input |token |context )limit)[^0-9]{0,40}?(\d[\d,_]{2,})/i,
  />\s*(\d[\d,_]{2,})\s*(?:maximum|max|tokens?|limit)/i,
  /(?:max(?:imum)?|limit|at most|up to)[^0-9]{0,24}?(\d[\d,_]{2,})\s*(?:input |context |prompt )?tokens/i,
  /(\d[\d,_]{2,})[ -]token(?:s)? (?:context|limit|window|maximum)/i,
]

/** The window a provider named when it refused; 0 when it named none. */
export const contextLimitIn = (message: string): number => {
  for (const pattern of LIMITS) {
    const [, digits] = pattern.exec(message) ?? []
    const tokens = Number(digits?.replace(/[,_]/g, ''))
    if (tokens >= 256 && tokens <= 20_000_000) return tokens
  }
  return 0
}

/** The next smaller common window, for a provider that refuses without saying what fits. */
export const nextSmallerWindow = (tokens: number): number =>
  STEPS.find(step => step < tokens) ?? 4_096
