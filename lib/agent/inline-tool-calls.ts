/** Extracts reasoning and tool calls that some servers leave in the response text. */
import { type RawCall, parseArguments } from './tool-calls.ts'
import type { Reply } from './complete.ts'

/** Some chat templates open the reasoning themselves, so only `</think>` appears: on its own line or at the start. */
const STRAY_END = /^(?:([\s\S]*?)\n)?<\/think>(?:[ \t]*(?:\n|$)|(?<=^<\/think>))/

const CALLS = /(?:^|\n)<tool_call>\s*(\{[\s\S]*?\})\s*(?:<\/tool_call>|$)/g

/** Only at the start: a tag elsewhere is content, for example in a response about tags. */
const extractReasoning = (reply: Reply): Reply => {
  const found = STRAY_END.exec(reply.text)
  const reasoning = found?.[1] ?? ''
  if (!found || /<think|```/.test(reasoning)) return reply
  return {
    ...reply,
    text: reply.text.slice(found[0].length).trimStart(),
    reasoning: `${reply.reasoning}${reasoning}`,
  }
}

const toCall = (json: string): RawCall | null => {
  const { name, arguments: args } = parseArguments(json) ?? {}
  if (typeof name !== 'string') return null
  return { id: '', name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) }
}

/** Only calls of available tools at the end of the text; examples inside a text are content. */
const extractCalls = (reply: Reply, known: readonly string[]): Reply => {
  if (reply.calls.length > 0 || !reply.text.includes('<tool_call>')) return reply
  const found = [...reply.text.matchAll(CALLS)]
  const calls = found.map(([, json = '']) => toCall(json))
  const areKnownTools = calls.every(
    (call): call is RawCall => call !== null && known.includes(call.name),
  )
  const rest = reply.text.slice(found[0]?.index ?? 0).replace(CALLS, '')
  if (!areKnownTools || found.length === 0 || rest.trim() !== '') return reply
  return { ...reply, text: reply.text.slice(0, found[0]?.index).trimEnd(), calls }
}

export const parseInlineMarkup = (reply: Reply, known: readonly string[]): Reply =>
  extractCalls(extractReasoning(reply), known)
