/** Splits a request into the history and what is new: results of the program's functions, and a user message. */
import type { NewMessage } from '../schema/message.ts'
import type { ApiCall, ApiMessage } from './api-request.ts'
import { badParameter, textOfParts } from './parse.ts'

export type SplitMessages = {
  /** Up to the last answer. */
  history: ApiMessage[]
  results: Extract<ApiMessage, { role: 'result' }>[]
  /** Null without a user message. */
  text: string | null
  /** Addresses of the images in the user message. */
  images: string[]
}

/** Throws a 400 for a request without anything new. `param` names the field of the messages. */
export const splitMessages = (messages: readonly ApiMessage[], param: string): SplitMessages => {
  const at = messages.findLastIndex(({ role }) => role === 'assistant') + 1
  const fresh = messages.slice(at)
  const parts = fresh.flatMap(message => (message.role === 'user' ? message.parts : []))
  const text = parts
    .flatMap(part => (part.type === 'text' ? [part.text] : []))
    .join('\n\n')
    .trim()
  const images = parts.flatMap(part => (part.type === 'image' ? [part.url] : []))
  const results = fresh.filter(message => message.role === 'result')
  if (text === '' && images.length === 0 && results.length === 0)
    throw badParameter(param, 'The last message must be a message of the user or a tool result.')
  return {
    history: messages.slice(0, at),
    results,
    text: text === '' && images.length === 0 ? null : text,
    images,
  }
}

/** Throws a 400 unless there is exactly one result for each call. */
export const checkResults = (
  results: SplitMessages['results'],
  calls: readonly { id: string }[],
  param: string,
): void => {
  const open = new Set(calls.map(({ id }) => id))
  for (const { callId } of results)
    if (!open.delete(callId))
      throw badParameter(
        param,
        `There is no open tool call with the id "${callId.slice(0, 100)}", or it has two results.`,
      )
  if (open.size > 0)
    throw badParameter(param, `Results are missing for these tool calls: ${[...open].join(', ')}`)
}

export const callsOf = (history: readonly ApiMessage[]): ApiCall[] => {
  const last = history.at(-1)
  return last?.role === 'assistant' ? last.calls : []
}

/** A history as messages of a session. Images of earlier messages become a note. */
export const toTranscript = (history: readonly ApiMessage[]): NewMessage[] => {
  const names = new Map<string, string>()
  return history.map((message): NewMessage => {
    if (message.role === 'user') return { role: 'user', content: textOfParts(message.parts) }
    if (message.role === 'result') return toResult(message, names.get(message.callId))
    for (const { id, name } of message.calls) names.set(id, name)
    return {
      role: 'assistant',
      content: message.text,
      ...(message.calls.length > 0 && {
        tool_calls: message.calls.map(({ id, name, arguments: text }) => ({
          id,
          type: 'function' as const,
          function: { name, arguments: text },
        })),
      }),
    }
  })
}

/** The result of a call as a message of the session. */
export const toResult = (
  { callId, parts }: SplitMessages['results'][number],
  name: string | undefined,
): NewMessage => ({
  role: 'tool',
  tool_call_id: callId,
  ...(name !== undefined && { name }),
  content: textOfParts(parts),
})
