/** Holds back streamed text that may be a tool call, until its message says what it was: nobody should see the markup. */
import { answerStart, isQuoted, withoutChannels } from './inline-tool-calls.ts'
import { hasMark } from './call-dialects.ts'
import type { AgentEvent, Emit, RunMessage } from './types.ts'

type TextKind = 'token' | 'reasoning'
type Stream = Before & { messageId: string; sent: string; tail: string; isCall: boolean }

/** As many characters as a line may be indented. */
const NEAR_CHARS = 20

/** `names` of the available tools. `flush` shows what is held when no message will come. */
export const holdMarkup = (
  emit: Emit,
  names: readonly string[],
): { emit: Emit; flush: () => void } => {
  const streams: Record<TextKind, Stream | null> = { token: null, reasoning: null }

  /** Moves text from what is held to what was sent, and returns it. */
  const release = (stream: Stream, chars: number): string => {
    const text = stream.tail.slice(0, chars)
    stream.tail = stream.tail.slice(chars)
    stream.sent += text
    stream.near = (stream.near + text).slice(-NEAR_CHARS)
    stream.isBlank &&= text.trim() === ''
    return text
  }

  const show = (type: TextKind, { messageId }: Stream, text: string): void => {
    if (text !== '') emit({ type, messageId, text })
  }

  const push = (type: TextKind, messageId: string, text: string): void => {
    const stream =
      streams[type]?.messageId === messageId
        ? streams[type]
        : { messageId, sent: '', tail: '', isCall: false, isBlank: true, near: '' }
    streams[type] = stream
    stream.tail += text
    let free = ''
    const answerAt = type === 'token' && stream.isBlank ? answerStart(stream.tail) : 0
    if (answerAt === null) return
    stream.tail = stream.tail.slice(answerAt)
    while (!stream.isCall && stream.tail !== '') {
      free += release(stream, mayBegin(stream.tail, stream))
      const verdict = stream.tail === '' ? 'maybe' : beginsCall(stream.tail, stream, names)
      if (verdict === 'maybe') break
      stream.isCall = verdict === 'yes' && !isQuoted(stream.sent + stream.tail, stream.sent.length)
      // Not a call: one character further, another may begin.
      if (!stream.isCall) free += release(stream, 1)
    }
    show(type, stream, free)
  }

  const finish = (type: TextKind, messageId: string, final: string): void => {
    const stream = streams[type]
    if (stream?.messageId !== messageId) return
    if (final.startsWith(stream.sent) && stream.tail.startsWith(final.slice(stream.sent.length)))
      show(type, stream, release(stream, final.length - stream.sent.length))
    streams[type] = null
  }

  const finishMessage = ({ id, content, reasoning = '' }: RunMessage): void => {
    finish('reasoning', id, reasoning)
    finish('token', id, typeof content === 'string' ? content : '')
  }

  return {
    emit(event: AgentEvent) {
      const isOwn = !('owner' in event) || event.owner === undefined
      if ((event.type === 'token' || event.type === 'reasoning') && isOwn) {
        push(event.type, event.messageId, event.text)
        return
      }
      if (event.type === 'retry' && isOwn) streams.token = streams.reasoning = null
      if (event.type === 'message') finishMessage(event.message)
      emit(event)
    },
    flush() {
      for (const type of ['reasoning', 'token'] as const) {
        const stream = streams[type]
        const rest = stream ? release(stream, stream.tail.length) : ''
        const isThought = answerStart(rest) === null
        const { text, reasoning } = isThought
          ? withoutChannels({ text: rest, reasoning: '' })
          : { text: rest, reasoning: '' }
        if (stream) show('reasoning', stream, reasoning)
        if (stream) show(type, stream, text)
        streams[type] = null
      }
    },
  }
}

/** How the marks begin, as far as it is always the same. */
const OPENINGS = [
  '<tool_call',
  '<tools>',
  '<tool>',
  '<tool_code>',
  '<function',
  '<start_function_call>',
  '<FUNCTION_CALL>',
  '<TOOLCALL>',
  '<invoke',
  '<minimax:',
  '<deepseek:',
  '<|',
  '<｜',
  '[TOOL_',
]
/** Words, which are marks only where a line begins. */
const LINE_OPENINGS = [
  'commentary to=',
  'analysis to=',
  'to=functions.',
  'assistantcommentary to=',
  'assistantanalysis to=',
]
/** A mark that is longer is none. */
const MAX_MARK_CHARS = 120
const MAX_OBJECT_MARK_CHARS = 24
const OBJECT_ALONE = /^\s*\[?\s*\{\s*"(?:name|type|function|tool_name|id)"/
const LIST_ALONE = /^\s*\[[A-Za-z_]\w*\(/

/** What stands before a text: nothing but white space so far, and the last characters. */
type Before = { isBlank: boolean; near: string }

/** The first character of a mark, or what stands before a word where a line begins. */
const FIRST = /[<[]|\n[ \t]*(?=[act])/
const INDENT = /^[ \t]*(?=[act])/
const LINE_START = /\n[ \t]*$/

/** Where a call may begin in a text that is still being written; its length when nowhere. */
const mayBegin = (text: string, { isBlank, near }: Before): number => {
  if (isBlank && /^\s*[[{]/.test(text)) return 0
  const indent = isBlank || LINE_START.test(near) ? INDENT.exec(text) : null
  if (indent) return indent[0].length
  const match = FIRST.exec(text)
  if (!match) return text.length
  return match[0].startsWith('\n') ? match.index + match[0].length : match.index
}

/** A tag with any namespace. */
const NAMESPACE = /^<(?:$|[a-z]+(?:$|:$|:[fit]))/

/** Whether a call begins with this text, as far as it was written. Without a mark, it has to name a tool. */
const beginsCall = (
  text: string,
  { isBlank: isStart }: Before,
  names: readonly string[],
): 'yes' | 'no' | 'maybe' => {
  if (hasMark(text)) return 'yes'
  const isMark =
    NAMESPACE.test(text) ||
    [...OPENINGS, ...LINE_OPENINGS].some(each => each.startsWith(text) || text.startsWith(each))
  if (isMark && text.length < MAX_MARK_CHARS) return 'maybe'
  if (!isStart || !/^\s*[[{]/.test(text)) return 'no'
  const mayBe = OBJECT_ALONE.test(text) || LIST_ALONE.test(text)
  if (mayBe && names.some(name => text.includes(name))) return 'yes'
  return text.length < (mayBe ? MAX_MARK_CHARS : MAX_OBJECT_MARK_CHARS) ? 'maybe' : 'no'
}
