/** Parses what the three request formats share. Errors name the parameter, as the original APIs do. */
import { z } from 'zod'
import type { Tool } from '../agent/types.ts'
import { type Effort, EFFORTS } from '../base/efforts.ts'
import { CALL_TOOL, TOOL_SEARCH } from '../agent/deferred-calls.ts'
import { asObject, asString, type JsonObject, isObject, isObjectOrArray } from '../base/json.ts'
import { type UserError, invalid } from '../errors.ts'
import type { ApiPart } from './api-request.ts'
import type { OfferedTools } from './tool-choice.ts'

/** A 400 about one parameter. */
export const badParameter = (param: string, message: string, apiCode?: string): UserError =>
  invalid(message, { param, ...(apiCode !== undefined && { api_code: apiCode }) })

/** Schemas and arguments, where null is a value. */
const VERBATIM = new Set(['parameters', 'input_schema', 'input', 'schema'])

/** Null means the same as leaving a field out in all three APIs. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObjectOrArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      inner === null ? [] : [[key, isVerbatim(key, inner) ? inner : withoutNulls(inner)]],
    ),
  )
}

const isVerbatim = (key: string, value: unknown): boolean => VERBATIM.has(key) && isObject(value)

/** `within`: the path of this part of the body. */
export const parseBody = <S extends z.ZodType>(
  schema: S,
  body: unknown,
  within: readonly string[] = [],
): z.output<S> => {
  const result = schema.safeParse(withoutNulls(body))
  if (result.success) return result.data
  const [issue] = result.error.issues
  const param = [...within, ...(issue?.path ?? [])].map(String).join('.').slice(0, 200)
  throw badParameter(param, `${param || 'The request'}: ${issue?.message ?? 'invalid'}`)
}

/** Rejects parameters whose effect this server cannot provide. Those that change nothing that matters are not listed anywhere. */
export const rejectUnsupported = (
  body: JsonObject,
  unsupported: Readonly<Record<string, (value: unknown) => boolean>>,
): void => {
  for (const [param, isHarmless] of Object.entries(unsupported)) {
    const value = body[param]
    if (value === undefined || value === null || isHarmless(value)) continue
    throw badParameter(
      param,
      `"${param}" with this value is not supported: an agent answers here, not a single model call.`,
      'unsupported_parameter',
    )
  }
}

export const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0
export const isFalse = (value: unknown): boolean => value === false

export const EffortName = z
  .enum([...EFFORTS, 'max'])
  .transform((name): Effort => (name === 'max' ? 'xhigh' : name))

/** Claude Code offers those of all its MCP servers. A provider that accepts fewer gets fewer. */
const MAX_FUNCTIONS = 512

export const FunctionName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'letters, digits, _ and -, at most 64 characters')

export type FunctionDefinition = {
  name: string
  description?: string | undefined
  parameters?: JsonObject | undefined
  strict?: boolean | undefined
}

/** With `strict`, arguments are checked against the schema. A schema that cannot be checked is only shown to the model. */
const inputOf = ({ parameters, strict }: FunctionDefinition): z.ZodType => {
  if (!strict || !parameters) return z.looseObject({})
  try {
    return z.fromJSONSchema(parameters as Parameters<typeof z.fromJSONSchema>[0])
  } catch {
    // A keyword that zod does not know.
    return z.looseObject({})
  }
}

/** Of any type; each kind of function is parsed by its API. */
export const AnyTool = z.looseObject({ type: z.string().optional() })

/** Of a tool or a choice of one, in any of the APIs; of a tool of the provider without a name, its type. */
export const toolName = (tool: Readonly<Record<string, unknown>>): string =>
  asString(tool.name) || asString(asObject(tool[asString(tool.type)]).name) || asString(tool.type)

/** The functions among the tools. Tools that the provider runs, and other kinds, are left out and named. */
export const readTools = (
  tools: readonly z.output<typeof AnyTool>[],
  functionType: string,
  read: (tool: unknown, within: readonly string[]) => FunctionDefinition,
): OfferedTools => {
  const isFunction = ({ type = functionType }: { type?: string | undefined }) =>
    type === functionType
  const others = tools.flatMap((tool, at) => (isFunction(tool) ? [] : [{ tool, at }]))
  return {
    functions: toTools(
      tools.flatMap((tool, at) =>
        isFunction(tool) ? [{ at, ...read(tool, ['tools', String(at)]) }] : [],
      ),
    ),
    ignored: others.map(
      ({ tool: { type }, at }) => `tools.${at} (${type?.replace(/[^\w.-]/g, '?').slice(0, 60)})`,
    ),
    ignoredNames: new Set(others.flatMap(({ tool }) => [String(tool.type), toolName(tool)])),
  }
}

/** Functions of the client as tools of the engine, which never runs them. */
const toTools = (functions: readonly (FunctionDefinition & { at: number })[]): Tool[] => {
  if (functions.length > MAX_FUNCTIONS)
    throw badParameter('tools', `At most ${MAX_FUNCTIONS} tools are possible.`)
  const seen = new Set<string>([TOOL_SEARCH, CALL_TOOL])
  return functions.map((definition): Tool => {
    const { at, name, description = '', parameters } = definition
    if (seen.has(name))
      throw badParameter(`tools.${at}`, `The tool name "${name}" is reserved or used twice.`)
    seen.add(name)
    return {
      name,
      summary: description,
      input: inputOf(definition),
      parameters: parameters ?? { type: 'object', properties: {} },
      kind: 'write',
      isClient: true,
      preview: () => '',
      run() {
        throw new Error(
          `"${name}" runs in the program that the user talks through. Call it yourself, once for each message, not from a script.`,
        )
      },
    }
  })
}

export const textOfParts = (parts: readonly ApiPart[]): string =>
  parts.map(part => (part.type === 'text' ? part.text : '[image]')).join('\n')

/** The text of content that must not contain anything else. */
export const plainText = (content: unknown, param: string): string => {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw badParameter(param, `${param} must be text or a list of parts`)
  return content
    .map((part, at) => {
      if (isObject(part) && typeof part.text === 'string') return part.text
      if (isObject(part) && typeof part.refusal === 'string') return part.refusal
      throw badParameter(`${param}.${at}`, 'Only text is possible here.')
    })
    .join('\n')
}
