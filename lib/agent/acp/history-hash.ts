/** Hash chain over the user messages of a history, to detect which part of it an external agent has. */
import { sha256 } from '../../base/sha256.ts'
import type { LoopMessage } from '../types.ts'

const contentAsText = ({ content }: LoopMessage): string =>
  typeof content === 'string' ? content : JSON.stringify(content)

/** One hash per user message, over it and all user messages before it. */
const historyHashes = (history: readonly LoopMessage[]): string[] => {
  let last = ''
  return history
    .filter(message => message.role === 'user')
    .map(message => {
      last = sha256(`${last}\n${contentAsText(message)}`).slice(0, 24)
      return last
    })
}

/** The hash of a history up to its newest user message. */
export const historyHash = (history: readonly LoopMessage[]): string =>
  historyHashes(history).at(-1) ?? ''

/**
 * The messages after `mark`, without the newest user message: empty if the agent is up to date, null if the hash isn't
 * part of this history.
 */
export const messagesSince = (
  history: readonly LoopMessage[],
  mark: string,
): LoopMessage[] | null => {
  const marks = historyHashes(history)
  const at = mark === '' ? -1 : marks.indexOf(mark)
  // The newest message was already answered, and that answer was removed from the history.
  if (at === marks.length - 1 || (at < 0 && mark !== '')) return null
  const userIndexes = history.flatMap((message, place) => (message.role === 'user' ? [place] : []))
  return history.slice(userIndexes[at + 1] ?? 0, userIndexes.at(-1) ?? 0)
}

/** The text of the user message with this hash; null if there is none. */
export const messageTextAt = (history: readonly LoopMessage[], mark: string): string | null => {
  const at = mark === '' ? -1 : historyHashes(history).indexOf(mark)
  const message = at < 0 ? undefined : history.filter(({ role }) => role === 'user')[at]
  return message ? contentAsText(message) : null
}

const MAX_CHARS = 60_000
const MAX_TEXT_CHARS = 20_000
const MAX_RESULT_CHARS = 2_000

/** The history as plain text for an agent that lacks it; the oldest part is omitted if it is too long. */
export const formatHistory = (messages: readonly LoopMessage[]): string => {
  const lines = messages.flatMap(message => {
    const text = contentAsText(message).trim().slice(0, MAX_TEXT_CHARS)
    if (message.role === 'user') return [`User: ${text}`]
    if (message.role === 'tool')
      return [`Result of ${message.name ?? 'a tool'}: ${text.slice(0, MAX_RESULT_CHARS)}`]
    if (message.role === 'system') return [`Note: ${text}`]
    const calls = (message.tool_calls ?? []).map(
      call => `Assistant called ${call.function.name}: ${call.function.arguments.slice(0, 500)}`,
    )
    return [...(text === '' ? [] : [`Assistant: ${text}`]), ...calls]
  })
  let size = 0
  const included = lines.toReversed().filter(line => {
    size += line.length
    return size <= MAX_CHARS
  })
  const omitted = lines.length - included.length
  const note = omitted > 0 ? [`[${omitted} earlier entries are left out.]`] : []
  return [
    'This conversation went on without you. What was said, for your information; answer only what follows it:',
    ...note,
    ...included.toReversed(),
  ].join('\n\n')
}
