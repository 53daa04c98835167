/** Endpoints that accept fewer tools than are available, or none: truncates the list and notifies the user. */
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'
import type { Objection } from './quirks.ts'
import { ownWords, paramIs } from './rejection.ts'

/** Ollama, Groq, Together, OpenAI: what they say of the model. */
export const NO_TOOLS =
  /\bdoes(?: not|n't) support (?:tools|function calling|tool use)\b|(?:tool (?:use|calling)|tools?|function calling)['"`]? (?:is|are) not supported (?:by|for|with|on) th(?:is|e) model|(?:unsupported|unknown|unrecognized)[^.]{0,40}['"`]tools['"`]/i

/** OpenRouter's routing, vLLM's and llama.cpp's options, a server that is starting: the answer may be another one in a minute. */
export const TOOLS_REFUSED =
  /support tool use|support tools|enable-auto-tool-choice|--jinja|tool (?:use|calling|choice) (?:is )?(?:not supported|disabled|not enabled)|tools? (?:are|is) (?:currently )?not (?:supported|available|enabled)/i

/** The list itself, not something in it such as `tools[0].function.name`. */
const LIST = String.raw`(?:tools|functions|function_?declarations|function declarations)\b(?![.[]|_name|\s+name)`

/** Limits on the number of tools, as OpenAI, Azure, pydantic, Groq, Copilot, xAI, Google, AWS word them. */
const LIMITS: readonly RegExp[] = [
  String.raw`['"\x60 ]${LIST}['"\x60]?: (?:array|list) (?:is )?too long.{0,60}?(?:maximum length|at most|max)\D{0,12}(\d+)`,
  String.raw`(?:^|[\s.])${LIST}['"\x60]?\s*: (?:list|array|tuple) should have at most (\d+) items`,
  String.raw`${LIST}['"\x60]?\s*: (?:value .{0,40})?(?:maximum number of items|maximum items|max items|member must have length less than or equal to)\D{0,12}(\d+)`,
  String.raw`maximum (?:number|amount) of ${LIST}(?: allowed| supported)?(?: is| of|:)? (\d+)`,
  String.raw`maximum ${LIST} limit reached:(?: received \d+, max)? (\d+)`,
  String.raw`(?:at most|up to|more than|maximum of|max(?:imum)?) (\d+) ${LIST}`,
  String.raw`too many ${LIST}.{0,40}?(?:max(?:imum)?|limit|at most|up to)(?: is| of|:)? (\d+)`,
  String.raw`${LIST} (?:list )?(?:exceeds?|exceeded) the (?:maximum|limit)(?: number| length)?(?: of)? (\d+)`,
].map(source => new RegExp(source, 'i'))

/** The number of tools that a rejection allows; null when it is about something else, or does not help. */
export const toolLimitIn = (
  failure: Pick<ProviderFailure, 'message' | 'param'>,
  sent: number,
): number | null => {
  if (!paramIs(failure, /^(?:tools|functions)$/)) return null
  const words = ownWords(failure)
  for (const pattern of LIMITS) {
    const most = Number(pattern.exec(words)?.[1] ?? 0)
    if (most >= 1 && most < sent) return most
  }
  return null
}

export const toolObjection = (
  failure: ProviderFailure,
  known: ReadonlySet<string>,
  request: ProviderRequest,
): Objection<`tools ${number}`> | null => {
  const most = toolLimitIn(failure, offeredTools(request, known).length)
  return most === null ? null : { quirk: `tools ${most}`, scope: 'endpoint' }
}

/** The number in quirks such as `tools 64`; the smallest of several, infinite without one. `name` ends with a space. */
export const smallestLimit = (quirks: ReadonlySet<string>, name: string): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...[...quirks].flatMap(one => (one.startsWith(name) ? [Number(one.slice(name.length))] : [])),
  )

export const offeredTools = (
  { tools }: ProviderRequest,
  quirks: ReadonlySet<string>,
): ProviderRequest['tools'] =>
  quirks.has('no tools') || quirks.has('tools refused')
    ? []
    : tools.slice(0, smallestLimit(quirks, 'tools '))

/** Null when all tools are included. */
export const toolLimitNotice = (
  request: ProviderRequest,
  quirks: ReadonlySet<string>,
): string | null => {
  const left = request.tools.length - offeredTools(request, quirks).length
  if (left === 0) return null
  const { model, provider, providerName = provider } = request.endpoint
  if (quirks.has('no tools'))
    return `${model} doesn’t support tools, so it can only answer in text. Choose another model for work on files and commands.`
  return quirks.has('tools refused')
    ? `${providerName} did not accept tools for ${model} this time, so it answers in text. The next message offers them again.`
    : `${model} takes at most ${smallestLimit(quirks, 'tools ')} tools, so ${left} are left out. Turn off tools you don’t need in Settings, Tools.`
}
