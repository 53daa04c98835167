/** Short forms of all tool calls of a session, for clients that show them as cards. */
import { isDeepStrictEqual } from 'node:util'
import { fieldsOf } from '../base/json.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { asText, readSummaries, type RecordedSummary } from '../schema/recorded-summary.ts'
import type { ToolSummary } from '../schema/session.ts'
import { contentText } from './entries.ts'
import { toMessages } from './import-messages.ts'

const MAX_ARGS = 6
const ARG_CHARS = 120
const SNIPPET_CHARS = 200

/** The first arguments as text, truncated. */
const toArgs = (json: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fieldsOf(json))
      .slice(0, MAX_ARGS)
      .map(([key, value]) => {
        const text = asText(value)
        return [key, text.length > ARG_CHARS ? `${text.slice(0, ARG_CHARS)}...` : text]
      }),
  )

/** Tool results are JSON by convention: its output or error, else the text as it is. */
const toSnippet = (content: string): string => {
  const { output, result, error } = fieldsOf(content)
  return asText(output ?? result ?? error ?? content).slice(0, SNIPPET_CHARS)
}

/** What the calls in the messages say by themselves. */
const derive = (messages: readonly Message[]): ToolSummary[] => {
  const results = new Map<string, Message[]>()
  for (const message of messages) {
    if (message.role !== 'tool' || message.tool_call_id === undefined) continue
    const same = results.get(message.tool_call_id)
    if (same) same.push(message)
    else results.set(message.tool_call_id, [message])
  }
  return messages.flatMap((message, index) =>
    (message.tool_calls ?? []).flatMap((call): ToolSummary[] => {
      const name = call.function?.name
      if (!name || name === 'tool') return []
      const result = results.get(call.id)?.shift()
      return [
        {
          name,
          snippet: result ? toSnippet(contentText(result.content)) : '',
          tid: call.id,
          assistant_msg_idx: index,
          args: toArgs(call.function.arguments ?? ''),
        },
      ]
    }),
  )
}

/** All summaries, in the order of their messages. A recorded one is shown as it was recorded. */
export const toolSummaries = (messages: readonly Message[]): ToolSummary[] => {
  const derived = derive(messages)
  if (!messages.some(message => message._tool_summaries)) return derived
  const byMessage = Map.groupBy(derived, summary => summary.assistant_msg_idx)
  return messages.flatMap((message, index) => {
    const recorded = [...(message._tool_summaries ?? [])]
    const own = (byMessage.get(index) ?? []).map(summary => {
      const at = recorded.findIndex(({ tid }) => tid === summary.tid)
      return at < 0 ? summary : { ...summary, ...recorded.splice(at, 1)[0] }
    })
    return [...own, ...recorded.map(summary => ({ assistant_msg_idx: index, ...summary }))]
  })
}

/** The recorded calls of a message that it has no call for. */
export const callsOnlyRecorded = ({
  tool_calls: calls = [],
  _tool_summaries: recorded = [],
}: Message): RecordedSummary[] => recorded.filter(({ tid }) => !calls.some(({ id }) => id === tid))

/** For a page, which makes a step of each: those of which it has no call, each with an id of its own. */
export const withShownSummaries = (message: Message): Message =>
  message._tool_summaries
    ? {
        ...message,
        _tool_summaries: callsOnlyRecorded(message).map((summary, at) => ({
          ...summary,
          tid: `${message.id}:s${at}`,
        })),
      }
    : message

/** Errors and marks are shown without steps. */
const isAnswer = (message: NewMessage | undefined): boolean =>
  message?.role === 'assistant' && !message._error

/**
 * Adds the summaries that a record of Hermes WebUI has beside its messages to the messages they are about, except those
 * that the messages give by themselves. `positions` has, for each message of the record, its index in `messages`.
 */
const withRecorded = (
  messages: readonly NewMessage[],
  recorded: unknown,
  positions: readonly number[],
): NewMessage[] => {
  const added = new Map<number, RecordedSummary[]>()
  const derived =
    Array.isArray(recorded) && recorded.length > 0 ? derive(messages as readonly Message[]) : []
  const lastAnswer = messages.findLastIndex(isAnswer)
  for (const { assistant_msg_idx: place, ...summary } of readSummaries(recorded)) {
    const index = typeof place === 'number' ? positions[place] : undefined
    const ownIndex = index !== undefined && isAnswer(messages[index]) ? index : undefined
    const same = derived.find(
      ({ tid, assistant_msg_idx: at }) =>
        tid === summary.tid && (ownIndex === undefined || at === ownIndex),
    )
    if (same && isDeepStrictEqual({ ...summary, assistant_msg_idx: same.assistant_msg_idx }, same))
      continue
    const at =
      same?.assistant_msg_idx ?? ownIndex ?? (lastAnswer < 0 ? messages.length - 1 : lastAnswer)
    // Without a place of its own it keeps the number that it had instead of one.
    const isPlaced = same !== undefined || ownIndex !== undefined || typeof place !== 'number'
    const entry = isPlaced ? summary : { ...summary, assistant_msg_idx: place }
    added.set(at, [...(added.get(at) ?? []), entry])
  }
  if (added.size === 0) return [...messages]
  return messages.map((message, index) => {
    const own = added.get(index)
    return own ? { ...message, _tool_summaries: own } : message
  })
}

/** The messages of a record, with what it says beside them of their tool calls. */
export const toTranscript = (values: readonly unknown[], recorded: unknown): NewMessage[] => {
  const positions: number[] = []
  const messages: NewMessage[] = []
  for (const value of values) {
    positions.push(messages.length)
    messages.push(...toMessages(value))
  }
  return withRecorded(messages, recorded, positions)
}
