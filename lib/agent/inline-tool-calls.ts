/** An answer of a server that does not tell thoughts and calls from words: what stands in the text is taken out of it. */
import { type RawCall, parseArguments } from './tool-calls.ts'
import type { Reply } from './complete.ts'

/** The template of some models opens the thought itself, so that only its end is said, on a line or at the beginning. */
const STRAY_END = /^(?:([\s\S]*?)\n)?<\/think>(?:[ \t]*(?:\n|$)|(?<=^<\/think>))/

const CALLS = /(?:^|\n)<tool_call>\s*(\{[\s\S]*?\})\s*(?:<\/tool_call>|$)/g

/** Only in front: a tag anywhere else belongs to the answer, for example to one about tags. */
const withoutThought = (reply: Reply): Reply => {
  const found = STRAY_END.exec(reply.text)
  const thought = found?.[1] ?? ''
  if (!found || /<think|```/.test(thought)) return reply
  return {
    ...reply,
    text: reply.text.slice(found[0].length).trimStart(),
    reasoning: `${reply.reasoning}${thought}`,
  }
}

const toCall = (json: string): RawCall | null => {
  const { name, arguments: args } = parseArguments(json) ?? {}
  if (typeof name !== 'string') return null
  return { id: '', name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) }
}

/** Calls of tools on offer with which the answer ends; an example in the middle of a text stays one. */
const withCalls = (reply: Reply, known: readonly string[]): Reply => {
  if (reply.calls.length > 0 || !reply.text.includes('<tool_call>')) return reply
  const found = [...reply.text.matchAll(CALLS)]
  const calls = found.map(([, json = '']) => toCall(json))
  const isMeant = calls.every((call): call is RawCall => call !== null && known.includes(call.name))
  const rest = reply.text.slice(found[0]?.index ?? 0).replace(CALLS, '')
  if (!isMeant || found.length === 0 || rest.trim() !== '') return reply
  return { ...reply, text: reply.text.slice(0, found[0]?.index).trimEnd(), calls }
}

export const parseInlineMarkup = (reply: Reply, known: readonly string[]): Reply =>
  withCalls(withoutThought(reply), known)
