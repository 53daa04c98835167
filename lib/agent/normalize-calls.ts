/** Normalizes tool calls of a model: repairs names and ids. */
import type { ToolCall } from '../schema/message.ts'
import { simplified } from './argument-names.ts'
import { parseArguments, type RawCall } from './tool-calls.ts'

/** Maps a misspelled name to a known tool: other case, other separators, a prefix such as `functions.`. */
export const repairName = (name: string, names: readonly string[]): string => {
  if (names.includes(name)) return name
  // `functions.echo:0` of Kimi, `echo<|channel|>commentary` of gpt-oss.
  const bare = name.replace(/<\|.*$/s, '').replace(/:\d+$/, '')
  const plain = simplified(bare.replace(/^.*[.:/]/, ''))
  return names.find(candidate => simplified(candidate) === plain) ?? name
}

/** `sources`: indexes of the call in the response, several when the server repeated it. */
export type NormalizedCall = { call: ToolCall; sources: number[] }

/**
 * Repairs names, makes ids unique in the conversation (small servers restart at `call_0` in every response), and drops a
 * call that came twice under one id. Two equal calls are two: the model may want to do the same twice. Adds the ids to `usedIds`.
 */
export const normalizeCalls = (
  raw: readonly RawCall[],
  toolNames: readonly string[],
  usedIds: Set<string>,
  messageId: string,
): NormalizedCall[] => {
  const seen = new Map<string, NormalizedCall>()
  for (const [at, { id, name, arguments: text, via }] of raw.entries()) {
    const tool = repairName(name.trim(), toolNames)
    const json = text.trim() === '' ? '{}' : text
    // Repeated by the server, perhaps with other spaces.
    const args = JSON.stringify(parseArguments(json) ?? json)
    const same = id === '' ? `${at}` : `${id}\n${tool}\n${args}`
    const first = seen.get(same)
    if (first) {
      first.sources.push(at)
      continue
    }
    const unique = id !== '' && !usedIds.has(id) ? id : `call_${messageId}_${seen.size + 1}`
    usedIds.add(unique)
    const call: ToolCall = {
      id: unique,
      type: 'function',
      function: { name: tool, arguments: json },
      ...(via !== undefined && { via }),
    }
    seen.set(same, { call, sources: [at] })
  }
  return [...seen.values()]
}
