/** How far an agent has followed a conversation: a chain over what the person said, so that an edit, a cut or a detour shows. */
import { createHash } from 'node:crypto'
import type { LoopMessage } from '../types.ts'

const textOf = ({ content }: LoopMessage): string =>
  typeof content === 'string' ? content : JSON.stringify(content)

/** One mark for each of the person's messages, made of it and all before it. */
const historyHashes = (history: readonly LoopMessage[]): string[] => {
  let last = ''
  return history
    .filter(message => message.role === 'user')
    .map(message => {
      last = createHash('sha256')
        .update(`${last}\n${textOf(message)}`)
        .digest('hex')
        .slice(0, 24)
      return last
    })
}

/** The mark of a conversation up to its newest message of the person's. */
export const historyHash = (history: readonly LoopMessage[]): string =>
  historyHashes(history).at(-1) ?? ''

/** The mark before the newest one: what an agent knows that has not taken that message in. */
export const historyHashBefore = (history: readonly LoopMessage[]): string =>
  historyHashes(history).at(-2) ?? ''

/**
 * What was said since the agent stopped following, without the newest message: empty when it is up to date, null when
 * what it remembers is not what this conversation begins with.
 */
export const messagesSince = (
  history: readonly LoopMessage[],
  mark: string,
): LoopMessage[] | null => {
  const marks = historyHashes(history)
  const at = mark === '' ? -1 : marks.indexOf(mark)
  // The same message once more: it was answered, and that answer was taken back.
  if (at === marks.length - 1 || (at < 0 && mark !== '')) return null
  const userIndexes = history.flatMap((message, place) => (message.role === 'user' ? [place] : []))
  return history.slice(userIndexes[at + 1] ?? 0, userIndexes.at(-1) ?? 0)
}

/** The words of the message that a mark is of; null when it is none of this conversation. */
export const messageTextAt = (history: readonly LoopMessage[], mark: string): string | null => {
  const at = mark === '' ? -1 : historyHashes(history).indexOf(mark)
  const message = at < 0 ? undefined : history.filter(({ role }) => role === 'user')[at]
  return message ? textOf(message) : null
}

const MAX_CHARS = 60_000
const MAX_TEXT_CHARS = 20_000
const MAX_RESULT_CHARS = 2_000

/** A conversation in plain words for an agent that was not there; the oldest part is left out where it is too long. */
export const formatHistory = (messages: readonly LoopMessage[]): string => {
  const lines = messages.flatMap(message => {
    const text = textOf(message).trim().slice(0, MAX_TEXT_CHARS)
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
