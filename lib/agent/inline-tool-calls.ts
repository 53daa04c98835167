/** Extracts reasoning and tool calls that some servers leave in the response text. */
import { asArray, asObject, isObject } from '../base/json.ts'
import {
  behindCalls,
  findMarks,
  readCalls,
  readCallsAt,
  type WrittenCall,
} from './call-dialects.ts'
import type { Reply } from './complete.ts'
import { readJson } from './lenient-json.ts'
import { repairName } from './normalize-calls.ts'
import type { RawCall } from './tool-calls.ts'
import { describeTool } from './tool-schema.ts'
import type { Tool } from './types.ts'

/** Some chat templates open the reasoning themselves, so only `</think>` appears: on its own line or at the start. */
const STRAY_END = /^(?:([\s\S]*?)\n)?<\/think>(?:[ \t]*(?:\n|$)|(?<=^<\/think>))/

const STRAY_TAG = /<\/think>|<\|[^|\s]+\|>/g

/** The channels of gpt-oss, where the server does not read them. */
const IN_CHANNELS = /^\s*(?:<\|start\|>assistant)?<\|channel\|>/
const HARMONY =
  /(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)<\|message\|>([\s\S]*?)(?:<\|end\|>|$)/g
const HARMONY_ANSWER = /^\s*(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>/
const ANSWER = '<|channel|>final<|message|>'
const HARMONY_END = /<\|(?:return|end)\|>\s*$/

/** Only at the start: a tag elsewhere is content, for example in a response about tags. */
const extractReasoning = (reply: Reply): Reply => {
  if (IN_CHANNELS.test(reply.text)) return withoutChannels(reply)
  const match = STRAY_END.exec(reply.text)
  const reasoning = match?.[1] ?? ''
  if (!match || /<think|```/.test(reasoning)) return reply
  return {
    ...reply,
    text: reply.text.slice(match[0].length).trimStart(),
    reasoning: `${reply.reasoning}${reasoning}`,
  }
}

/** Where the answer begins in a text that is still being written: null while it has channels and none is the answer's. */
export const answerStart = (text: string): number | null => {
  if (!IN_CHANNELS.test(text)) return 0
  const at = text.indexOf(ANSWER)
  return at < 0 ? null : at + ANSWER.length
}

export const withoutChannels = <T extends { text: string; reasoning: string }>(reply: T): T => {
  let { reasoning } = reply
  const text = reply.text.replace(HARMONY, (_, thought: string) => {
    reasoning += thought
    return ''
  })
  return { ...reply, reasoning, text: text.replace(HARMONY_ANSWER, '').replace(HARMONY_END, '') }
}

/**
 * `isUnreadable`: the text ends with what begins like a call of an available tool and cannot be read, so the model has
 * to be told.
 */
type Parsed = { reply: Reply; isUnreadable: boolean }

export const parseInlineMarkup = (received: Reply, tools: readonly Tool[]): Parsed => {
  // Before the reasoning: the channel of a call looks like one of reasoning.
  const inText = cutCalls(received, received.text, tools)
  const reply = extractReasoning(inText ? { ...received, text: inText.text } : received)
  // A call that was made as it should be is sometimes repeated in the text.
  if (received.calls.length > 0) return { reply, isUnreadable: false }
  if (inText) return { reply: { ...reply, calls: inText.calls }, isUnreadable: false }
  const inReasoning = reply.text.trim() === '' ? cutCalls(received, reply.reasoning, tools) : null
  if (!inReasoning) {
    // Never an empty answer: what looks like reasoning is all that was written.
    const text = reply.text === '' ? received.text.replace(STRAY_TAG, '').trim() : reply.text
    const reasoning = reply.text === '' ? received.reasoning : reply.reasoning
    return {
      reply: { ...reply, text, reasoning },
      isUnreadable: hasUnreadableCall(reply, tools),
    }
  }
  const { text: reasoning, calls } = inReasoning
  return { reply: { ...reply, text: '', reasoning, calls }, isUnreadable: false }
}

/** The answer, or the reasoning where there is none, is a call. */
export const isInlineCall = (text: string, tools: readonly { name: string }[]): boolean =>
  findCalls(
    text,
    tools.map(({ name }) => name),
  ) !== null

const cutCalls = (
  { isUnmarked }: Reply,
  text: string,
  tools: readonly Tool[],
): { text: string; calls: RawCall[] } | null => {
  const names = tools.map(({ name }) => name)
  const result = findCalls(text, names)
  if (!result || (isUnmarked && result.calls.some(({ isOpen }) => isOpen))) return null
  return {
    text: text.slice(0, result.at).trimEnd(),
    calls: result.calls.map(call => toRawCall(call, tools)),
  }
}

/**
 * Calls of available tools up to the end of the text. Anything else is content: an example, an explanation, code. Where
 * words follow one call and then comes another, nobody knows which of them are meant.
 */
const findCalls = (
  text: string,
  names: readonly string[],
): { at: number; calls: WrittenCall[] } | null => {
  const isNamed = ({ name }: WrittenCall) => names.includes(repairName(name, names))
  for (const at of startsIn(text)) {
    const calls = readCalls(text, at)
    if (!calls && readCallsAt(text, at)?.calls.some(isNamed)) return null
    if (!calls) continue
    const candidates = calls.map(call => ({ ...call, name: repairName(call.name, names) }))
    // One that does not exist beside others gets an error.
    return candidates.some(({ name }) => names.includes(name)) ? { at, calls: candidates } : null
  }
  return null
}

/** Places where calls may begin: the text itself, and marks that are not quoted. */
const startsIn = (text: string): number[] => {
  const start = text.length - text.trimStart().length
  const marks = findMarks(text).filter(at => !isQuoted(text, at))
  return marks.includes(start) ? marks : [start, ...marks]
}

/** "You would write: <tool_call>…" is about a call; in the languages of the page. */
const EXAMPLE =
  /\b(?:for (?:example|instance)|e\.g\.|an example(?: of [^.\n]{0,60})?|zum beispiel|par exemple|por ejemplo|per esempio|por exemplo|(?:you|one|they|it|this|that|models?|(?:a|the) (?:model|call)) (?:would|could|can|should|might) [^.\n]{0,40}|(?<=(?:^|[.!?\n])\s*(?:the |its )?)(?:syntax|format|markup) (?:is|would be)|(?:syntax|format|markup|call) looks like(?: this)?)\s*[:,]?\s*$|(?:例如|比如|例えば|たとえば|예를 들어|например)\s*[:：,，、]?\s*$/i

/** In a code block, in inline code, in a quotation, in a table, or called an example by the words before it. */
export const isQuoted = (text: string, at: number): boolean => {
  const before = text.slice(0, at)
  if ((before.match(/^[ \t]*(?:```|~~~)/gm)?.length ?? 0) % 2 === 1) return true
  const line = before.slice(before.lastIndexOf('\n') + 1)
  // A quotation, or a row of a table.
  if (/^\s*[>|]/.test(line)) return true
  if ((line.match(/`/g)?.length ?? 0) % 2 === 1) return true
  return EXAMPLE.test(before.slice(-200))
}

/** The end of a call in a form that no dialect has. */
const UNKNOWN_END = /<\/((?:[a-z]+:)?(?:tool_call|function_call|tool_use|invoke))>$/

/** Where such a call begins; a list, as that of the marks. */
const unknownForms = (text: string): number[] => {
  const tag = UNKNOWN_END.exec(text.trimEnd().slice(-60))?.[1]
  const at = tag === undefined ? -1 : text.lastIndexOf(`<${tag}`)
  return at < 0 ? [] : [at]
}

const hasUnreadableCall = ({ text, isUnmarked }: Reply, tools: readonly Tool[]): boolean => {
  if (isUnmarked && isInlineCall(text, tools)) return true
  const at = [...unknownForms(text), ...findMarks(text)].findLast(mark => !isQuoted(text, mark))
  if (at === undefined) return false
  const tail = text.slice(at)
  if (!tools.some(({ name }) => tail.includes(name))) return false
  // Behind its end, an example goes on in words.
  return behindCalls(tail).trim() === ''
}

const toRawCall = (call: WrittenCall, tools: readonly Tool[]): RawCall => {
  if ('json' in call) return { id: '', name: call.name, arguments: call.json }
  const tool = tools.find(({ name }) => name === call.name)
  const { properties } = asObject(tool && describeTool(tool).parameters)
  const args = call.fields.map(({ key, text, isText }) => [
    key,
    isText || !Object.hasOwn(asObject(properties), key)
      ? text
      : toTyped(text, asObject(properties)[key]),
  ])
  return { id: '', name: call.name, arguments: JSON.stringify(Object.fromEntries(args)) }
}

const typesOf = (schema: unknown): string[] => {
  const { type, anyOf, oneOf } = asObject(schema)
  return [
    ...(typeof type === 'string' ? [type] : asArray(type).map(String)),
    ...[...asArray(anyOf), ...asArray(oneOf)].flatMap(typesOf),
  ]
}

/** A value that was written as text, in the type of the schema; strings stay as they were written. */
const toTyped = (text: string, schema: unknown): unknown => {
  const types = typesOf(schema)
  if (types.includes('string')) return text
  const trimmed = text.trim()
  if (types.length === 0 && !/^[[{]/.test(trimmed)) return text
  if (types.includes('boolean') && /^(?:true|false)$/i.test(trimmed)) return /^t/i.test(trimmed)
  const result = readJson(trimmed)
  if (!result.ok || result.end < trimmed.length) return text
  const { value } = result
  const isWanted =
    types.length === 0 ||
    value === null ||
    (typeof value === 'number' && types.some(type => type === 'number' || type === 'integer')) ||
    (Array.isArray(value) && types.includes('array')) ||
    (isObject(value) && types.includes('object'))
  return isWanted ? value : text
}
