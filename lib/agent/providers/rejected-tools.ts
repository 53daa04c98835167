/** MCP tools that an endpoint rejects for their description are left out, so that one of them never fails a chat. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'
import type { Objection, Quirks } from './quirks.ts'

const ALL = 'mcp_'
/** After so many rejected tools, all are left out: there may be as many more. */
const MAX_SINGLE = 4
const MARK = 'rejected tool '

/** About what a tool looks like, not about how many there are. */
const ABOUT_SCHEMA =
  /schema|parameters?\b|propert|\bitems\b|pattern|\benum\b|\brequired\b|\btype\b|\bname\b|descri|\$ref|recurs|nest/i
const NO_SCHEMA =
  /(?:json )?schema (?:conversion|generation|compil|validation|error)|(?:invalid|unsupported|unrecognized|failed to \w+)[^.]{0,60}schema|unable to generate parser|failed to (?:parse|initialize|compile)[^.]{0,20}grammar/i
/** The form of the answer has a schema, too. */
const ABOUT_ANSWER = /response_format|text\.format|output_(?:config|format)/i
const INDEX =
  /(?:function_?declarations|functionDeclarations)[.[](\d+)|(?:tools|functions)[.[](\d+)/g

const namesIn = (quirks: Quirks): string[] =>
  [...quirks].flatMap(quirk => (quirk.startsWith(MARK) ? [quirk.slice(MARK.length)] : []))

export const withoutRejectedTools = (request: ProviderRequest, quirks: Quirks): ProviderRequest => {
  const rejected = namesIn(quirks)
  if (rejected.length === 0) return request
  const tools = request.tools.filter(
    ({ name }) => !rejected.includes(name) && !(rejected.includes(ALL) && name.startsWith(ALL)),
  )
  return { ...request, tools }
}

/** `request` as it was sent, without those that were rejected before. */
export const rejectedToolObjection = (
  { message }: ProviderFailure,
  quirks: Quirks,
  { tools }: ProviderRequest,
): Objection | null => {
  const strange = tools.filter(({ name }) => name.startsWith(ALL))
  if (strange.length === 0) return null
  const tool = strange.find(({ name }) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(message))
  const toolName = tool?.name ?? (ABOUT_SCHEMA.test(message) ? atIndex(message, tools) : undefined)
  const isAboutTools = NO_SCHEMA.test(message) && !ABOUT_ANSWER.test(message)
  if (toolName === undefined && !isAboutTools) return null
  const isEnough = namesIn(quirks).length >= MAX_SINGLE
  return { quirk: `${MARK}${isEnough ? ALL : (toolName ?? ALL)}`, scope: 'session' }
}

/** The MCP tool at the place that the message names: `tools[3].function.parameters`. */
const atIndex = (message: string, tools: ProviderRequest['tools']): string | undefined => {
  const [, declared, listed] = [...message.matchAll(INDEX)].toSorted(byDeclaration)[0] ?? []
  const name = tools[Number(declared ?? listed ?? -1)]?.name
  return name?.startsWith(ALL) ? name : undefined
}

/** Gemini has one tool with many declarations. */
const byDeclaration = (a: RegExpExecArray, b: RegExpExecArray): number =>
  Number(b[1] !== undefined) - Number(a[1] !== undefined)

/** Null when none is left out. */
export const rejectedToolNotice = (
  { endpoint: { model, provider, providerName: name = provider } }: ProviderRequest,
  quirks: Quirks,
): Sentence | null => {
  const rejected = namesIn(quirks)
  if (rejected.length === 0) return null
  return rejected.includes(ALL)
    ? sentence('model.mcp_rejected', { name, model })
    : sentence('model.tools_rejected', { name, model, tools: rejected.join(', ') })
}
