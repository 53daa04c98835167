/**
 * Calls of tools that are not described to the model (`Tool.deferred`): it finds them with `tool_search` and calls them through
 * `call_tool`, whose schema never changes. Inside, a call has the real tool's name and arguments and is marked with `via`;
 * only the provider sees `call_tool`, always in the same bytes.
 */
import { isObject } from '../base/json.ts'
import type { ToolCall } from '../schema/message.ts'
import { repairName } from './normalize-calls.ts'
import { parseArguments, type RawCall } from './tool-calls.ts'
import type { WireMessage } from './types.ts'

export const TOOL_SEARCH = 'tool_search'
export const CALL_TOOL = 'call_tool'

/** The tool that is meant: its name, or without the prefix `mcp_<server>_` when only one tool matches. */
const findName = (text: string, names: readonly string[]): string | undefined => {
  const name = repairName(text.trim(), names)
  if (names.includes(name)) return name
  const matching = names.filter(each => each.endsWith(`_${text}`))
  return matching.length === 1 ? matching[0] : undefined
}

/** Some models write the arguments beside the name instead of into an object, or as text. */
const innerArguments = (args: Record<string, unknown>): Record<string, unknown> | null => {
  const { name: _, arguments: inner, ...beside } = args
  if (isObject(inner)) return inner
  if (typeof inner === 'string' && inner.trim() !== '') return parseArguments(inner)
  return beside
}

/** A call through `call_tool` as a call of that tool. Anything else, and a call that cannot be understood, is unchanged. */
export const unwrapCall = (call: RawCall, names: readonly string[]): RawCall => {
  if (repairName(call.name.trim(), [CALL_TOOL]) !== CALL_TOOL) return call
  const args = parseArguments(call.arguments)
  if (!args || typeof args.name !== 'string') return call
  const name = findName(
    args.name,
    names.filter(each => each !== CALL_TOOL),
  )
  const inner = innerArguments(args)
  if (name === undefined || inner === null) return call
  return { ...call, name, arguments: JSON.stringify(inner), via: CALL_TOOL }
}

const wrapCall = ({ via, ...call }: ToolCall): ToolCall => {
  if (via === undefined) return call
  const { name, arguments: text } = call.function
  const wrapped = JSON.stringify({ name, arguments: parseArguments(text) ?? {} })
  return { ...call, function: { name: CALL_TOOL, arguments: wrapped } }
}

/** The messages as the model wrote and reads them: marked calls, and their results, are those of `call_tool`. */
export const wrapCalls = <T extends WireMessage>(messages: readonly T[]): T[] => {
  const wrapped = new Set<string>()
  return messages.map(message => {
    const { tool_calls: calls, tool_call_id: id } = message
    if (message.role === 'tool')
      return id !== undefined && wrapped.has(id) && message.name !== undefined
        ? { ...message, name: CALL_TOOL }
        : message
    for (const call of calls ?? []) {
      if (call.via === undefined) wrapped.delete(call.id)
      else wrapped.add(call.id)
    }
    return calls?.some(({ via }) => via !== undefined)
      ? { ...message, tool_calls: calls.map(wrapCall) }
      : message
  })
}
