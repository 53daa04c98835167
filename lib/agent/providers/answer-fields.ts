/** How each wire format asks for an answer of a given form, or for a call. A server that rejects it is asked without. */
import type { AnswerFormat } from '../answer-form.ts'
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'
import type { Objection, Quirks } from './quirks.ts'
import { hostname } from './stream-request.ts'

/** Hosts whose models still call tools when an answer has a form. Local servers hold every token to the form, so that no call is possible. */
const KEEPS_TOOLS = /(?:^|\.)(?:openai\.com|chatgpt\.com|openai\.azure\.com|anthropic\.com)$/

const formatOf = ({ answer, tools, endpoint }: ProviderRequest): AnswerFormat | undefined =>
  tools.length === 0 || KEEPS_TOOLS.test(hostname(endpoint.baseUrl)) ? answer : undefined

export const chatAnswer = (request: ProviderRequest) => {
  const format = formatOf(request)
  return {
    ...(format && { response_format: toResponseFormat(format) }),
    ...(request.mustCall && { tool_choice: 'required' }),
  }
}

const toResponseFormat = ({ name, schema, strict }: AnswerFormat) =>
  schema === null
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: { name, schema, strict } }

export const responsesAnswer = (request: ProviderRequest) => {
  const format = formatOf(request)
  return {
    ...(format && { text: { format: toTextFormat(format) } }),
    ...(request.mustCall && { tool_choice: 'required' }),
  }
}

const toTextFormat = ({ name, schema, strict }: AnswerFormat) =>
  schema === null ? { type: 'json_object' } : { type: 'json_schema', name, schema, strict }

/** `fields` may have an `output_config` already. The API has no form without a schema. */
export const withAnthropicAnswer = (
  fields: Readonly<Record<string, unknown>>,
  request: ProviderRequest,
): Record<string, unknown> => {
  const schema = formatOf(request)?.schema
  const output = { ...(fields.output_config as object), format: { type: 'json_schema', schema } }
  return {
    ...fields,
    ...(schema && { output_config: output }),
    ...(request.mustCall && { tool_choice: { type: 'any' } }),
  }
}

export const ollamaAnswer = (request: ProviderRequest) => {
  const format = formatOf(request)
  return format ? { format: format.schema ?? 'json' } : {}
}

export const withoutAnswer = (request: ProviderRequest, quirks: Quirks): ProviderRequest => {
  if (!quirks.has('no answer form')) return request
  const { answer: _, mustCall: __, ...rest } = request
  return rest
}

const NAMED =
  /response_format|json_schema|json_object|output_config|text\.format|tool_choice|structured|grammar|schema/i

/**
 * `isNamed`: only where the server says that this is its reason. A schema that one API rejects is fine for another, so
 * it is not remembered.
 */
export const answerObjection = (
  { message }: ProviderFailure,
  quirks: Quirks,
  { answer, mustCall }: ProviderRequest,
  isNamed: boolean,
): Objection | null =>
  (answer || mustCall) && !quirks.has('no answer form') && (!isNamed || NAMED.test(message))
    ? { quirk: 'no answer form', scope: 'call' }
    : null
