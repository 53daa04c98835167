/** Pure reducer of one chat: its stored session and the events that followed. */
import type { Coded } from '../../../lib/base/sentences.ts'
import { addWriting } from '../../../lib/base/live-writing.ts'
import type { Frame, TurnEvent } from '../../../lib/schema/event.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Queued } from '../../../lib/schema/queue.ts'
import type { LiveTurn, Session } from '../../../lib/schema/session.ts'
import type { SummaryRef } from '../../../lib/schema/summary.ts'
import type { TurnUsage, Usage } from '../../../lib/schema/usage.ts'
import { withSubagentEvent, withoutSubagents } from './subagents.ts'

export type ChatError = { type: string; message: string; hint?: string | undefined }
/** `after`: the message that was the last one when it arrived. */
export type Notice = NoticeText & { id: string; after: string | undefined }
/** Outcome of a tool call, for turns that ran while this page was open; a reloaded session has only the result message. */
export type ToolOutcome = { duration: number | null; isError: boolean }
export type AsideEvent = Extract<Frame, { type: 'aside' }>['data']

export type TranscriptState = {
  sessionId: string
  messages: Message[]
  /** Number of earlier messages that are not loaded. */
  before: number
  live: LiveTurn | null
  questions: Question[]
  /** Queued messages. */
  queued: Queued[]
  /** The latest side question with its answer so far. */
  aside: AsideEvent | null
  /** Summaries the model reads instead of earlier messages. */
  summaries: SummaryRef[]
  error: ChatError | null
  usage: Usage | null
  /** Usage of the turns of `messages`, in order. */
  turnUsage: readonly TurnUsage[]
  title: string
  notices: Notice[]
  finished: Readonly<Record<string, ToolOutcome>>
  /** Sequence number of the last event applied. */
  lastSeq: number
}

/** Characters kept of the output of one running call. */
const OUTPUT_TAIL_CHARS = 16_000

export const emptyTranscript = (sessionId: string): TranscriptState => ({
  sessionId,
  messages: [],
  before: 0,
  live: null,
  questions: [],
  queued: [],
  aside: null,
  summaries: [],
  error: null,
  usage: null,
  turnUsage: [],
  title: '',
  notices: [],
  finished: {},
  lastSeq: 0,
})

export const transcriptFromSession = (session: Session): TranscriptState => ({
  ...emptyTranscript(session.session_id),
  messages: session.messages,
  before: session._messages_offset,
  live: session.live,
  questions: session.questions,
  queued: session.queued,
  summaries: session.summaries,
  usage: session.live?.usage ?? session.last_usage,
  turnUsage: session.turn_usage ?? [],
  title: session.title,
  lastSeq: Number(session.cursor.slice(session.cursor.lastIndexOf('-') + 1)) || 0,
})

/** Prepends a page of older messages. */
export const withEarlier = (
  chat: TranscriptState,
  { messages, before, turnUsage }: Pick<TranscriptState, 'messages' | 'before' | 'turnUsage'>,
): TranscriptState => {
  const ids = new Set(chat.messages.map(message => message.id))
  const fresh = messages.filter(message => !ids.has(message.id))
  return {
    ...chat,
    before,
    messages: [...fresh, ...chat.messages],
    turnUsage: [...turnUsage, ...chat.turnUsage],
  }
}

export const questionId = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

/** Applies one event; events already applied are ignored. `now` in seconds, by the server's clock. */
export const reduceFrame = (chat: TranscriptState, frame: Frame, now: number): TranscriptState => {
  if (frame.n <= chat.lastSeq) return chat
  if (frame.source !== `session:${chat.sessionId}`) return chat
  const seen = { ...chat, lastSeq: frame.n }
  const live = chat.live
  if (frame.type === 'queue') return { ...seen, queued: frame.data.queued }
  if (frame.type === 'aside') {
    const { stream_id, text = '', answer } = frame.data
    const before = chat.aside?.stream_id === stream_id ? (chat.aside.text ?? '') : ''
    return { ...seen, aside: { ...frame.data, text: answer ?? before + text } }
  }
  // The end of an earlier turn: another one has started since.
  if (frame.type === 'stream_end' && live && frame.stream && frame.stream !== live.stream_id) {
    return seen
  }
  // The session was read during the turn and contains its log up to `pos`.
  if (live && frame.pos !== undefined && frame.stream === live.stream_id) {
    if (frame.pos <= live.pos) return seen
    seen.live = { ...live, pos: frame.pos }
  }
  return isTurnEvent(frame) ? apply(seen, frame, now) : seen
}

const TURN_FRAME_TYPES = [
  'turn_started',
  'token',
  'reasoning',
  'retry',
  'message',
  'tool',
  'tool_output',
  'tool_writing',
  'subagent',
  'tool_complete',
  'approval',
  'clarify',
  'answered',
  'usage',
  'warning',
  'compressing',
  'compressed',
  'done',
  'apperror',
  'cancel',
  'title_status',
  'title',
  'stream_end',
] as const satisfies readonly TurnEvent['type'][]
const SERVICE_FRAME_TYPES = [
  'row',
  'gone',
  'asked',
  'settled',
  'queue',
  'aside',
  'notice',
  'gateway',
  'reset',
] as const satisfies readonly Frame['type'][]

const ALL_TYPES = [...TURN_FRAME_TYPES, ...SERVICE_FRAME_TYPES] as const
/** What the stream of the page listens to. Compiles only while it has every type. */
export const FRAME_TYPES: readonly (typeof ALL_TYPES)[number][] =
  ALL_TYPES satisfies Frame['type'] extends (typeof ALL_TYPES)[number] ? unknown : never

const isTurnEvent = (frame: Frame): frame is Frame & TurnEvent =>
  TURN_FRAME_TYPES.some(type => type === frame.type)

const apply = (chat: TranscriptState, event: TurnEvent, now: number): TranscriptState => {
  switch (event.type) {
    case 'turn_started': {
      const { session_id: _, ...turn } = event.data
      const live = { ...turn, pos: 1, message_id: null, text: '', reasoning: '', tools: [] }
      return { ...chat, live, error: null, notices: [] }
    }
    case 'token':
      return withDelta(chat, event.data.message_id, event.data.text, '', now)
    case 'reasoning':
      return withDelta(chat, event.data.message_id, '', event.data.text, now)
    case 'retry':
      return withRetrying(chat, event.data, now)
    case 'message':
      return withMessage(withoutReplaced(chat, event.data), event.data.message)
    case 'subagent':
      return withSubagents(chat, event, now)
    case 'tool':
      if (event.data.parent_tid) return withSubagents(chat, event, now)
      return withTool(chat, event.data, now)
    case 'tool_output':
      if (event.data.parent_tid) return withSubagents(chat, event, now)
      return withOutput(chat, event.data.tid, event.data.text)
    case 'tool_writing': {
      const live = chat.live ?? blankTurn(now)
      const writing = addWriting(live.writing, event.data)
      return { ...chat, live: { ...live, retry: undefined, writing } }
    }
    case 'tool_complete': {
      if (event.data.parent_tid) return withSubagents(chat, event, now)
      const { tid, duration, is_error: isError } = event.data
      return { ...chat, finished: { ...chat.finished, [tid]: { duration, isError } } }
    }
    case 'approval':
    case 'clarify': {
      const id = questionId(event.data)
      if (chat.questions.some(question => questionId(question) === id)) return chat
      return { ...chat, questions: [...chat.questions, event.data] }
    }
    case 'answered':
      return answered(chat, event.data)
    case 'usage': {
      const { usage } = event.data
      return { ...chat, usage, live: chat.live && { ...chat.live, usage } }
    }
    case 'warning':
      return withWarning(chat, event.data)
    case 'compressing':
      return { ...chat, notices: withNotice(chat, 'compressed', event.data) }
    case 'compressed':
      return compressed(chat, event.data)
    case 'done':
      return { ...withTurnUsage(withTurnEnded(chat), event.data.usage), error: null }
    case 'apperror':
      return { ...withTurnEnded(withUsageSoFar(chat)), error: event.data }
    case 'cancel':
      return withTurnEnded(withUsageSoFar(keepPartial(chat)))
    case 'title':
      return { ...chat, title: event.data.title }
    case 'title_status':
      return chat
    case 'stream_end':
      return chat.live ? withTurnEnded(chat) : chat
    default:
      return unknown(event, chat)
  }
}

type Retry = Extract<TurnEvent, { type: 'retry' }>['data']

/** Discards the streamed text: the message is sent again from its beginning. */
const withRetrying = (
  chat: TranscriptState,
  { message_id: _, attempts = 0, until, ...retry }: Retry,
  now: number,
): TranscriptState => ({
  ...chat,
  live: {
    ...(chat.live ?? blankTurn(now)),
    text: '',
    reasoning: '',
    message_id: null,
    writing: undefined,
    // An event that arrives late has the time of its retry; older servers send the delay only.
    retry: { ...retry, attempts, until: until ?? now + retry.delay_ms / 1_000 },
  },
})

/** Shows a warning; a failed compaction also ends its progress notice. */
const withWarning = (
  chat: TranscriptState,
  warning: Extract<TurnEvent, { type: 'warning' }>['data'],
) => {
  const { type } = warning
  // The message itself says so, also after a reload.
  if (type === 'content_filter') return chat
  const notices = type === 'compression' ? without(chat.notices, 'compressed') : chat.notices
  const next = { ...chat, notices }
  // Another key or model is called instead of waiting.
  const isElsewhere = type === 'rotated' || type === 'fallback'
  const live = isElsewhere && chat.live ? { ...chat.live, retry: undefined } : chat.live
  return { ...chat, live, notices: withNotice(next, warning.message, warning) }
}

type Compressed = Extract<TurnEvent, { type: 'compressed' }>['data']

/** Replaces earlier summaries and updates the context usage. */
const compressed = (
  chat: TranscriptState,
  { summary, last_prompt_tokens: tokens, ...notice }: Compressed,
) => ({
  ...chat,
  // The line of the summary says it, in its place.
  notices: summary ? without(chat.notices, 'compressed') : withNotice(chat, 'compressed', notice),
  summaries: summary ? [summary] : chat.summaries,
  usage:
    chat.usage && tokens !== undefined ? { ...chat.usage, last_prompt_tokens: tokens } : chat.usage,
})

/** Compiles only while every event type has a case; events of a newer server are ignored. */
const unknown = (_: never, chat: TranscriptState): TranscriptState => chat

const blankTurn = (now: number): LiveTurn => ({
  stream_id: '',
  pos: 0,
  started_at: now,
  model: '',
  provider: '',
  message_id: null,
  text: '',
  reasoning: '',
  tools: [],
})

/** Appends a delta to the streamed message; a delta of another message replaces it. */
const withDelta = (
  chat: TranscriptState,
  id: string,
  text: string,
  reasoning: string,
  now: number,
): TranscriptState => {
  if (chat.messages.at(-1)?.id === id) return chat
  const live = chat.live ?? blankTurn(now)
  const same = live.message_id === id
  return {
    ...chat,
    live: {
      ...live,
      retry: undefined,
      message_id: id,
      text: same ? live.text + text : text,
      reasoning: same ? live.reasoning + reasoning : reasoning,
    },
  }
}

/** The place of a message in the journal of its session. */
export const lineOf = (id: string): number => Number(id.slice(1)) || 0

/** Another version of a message hides that message and all after it, of which only the last may be loaded. */
const withoutReplaced = (
  chat: TranscriptState,
  { message, replaces }: Extract<TurnEvent, { type: 'message' }>['data'],
): TranscriptState => {
  if (replaces === undefined || chat.messages.some(({ id }) => id === message.id)) return chat
  const first = chat.messages[0]
  const isEarlier = first !== undefined && lineOf(replaces) < lineOf(first.id)
  const at = isEarlier ? 0 : chat.messages.findIndex(({ id }) => id === replaces)
  if (at < 0) return chat
  const hidden = new Set(chat.messages.slice(at).map(({ id }) => id))
  return {
    ...chat,
    messages: chat.messages.slice(0, at),
    summaries: chat.summaries.filter(({ last }) => !hidden.has(last)),
    turnUsage: chat.turnUsage.filter(({ n }) => n < lineOf(replaces)),
  }
}

/** Replaces the streamed text of a finished message; a tool result ends its call. */
const withMessage = (chat: TranscriptState, message: Message): TranscriptState => {
  const at = chat.messages.findLastIndex(other => other.id === message.id)
  const messages = at < 0 ? [...chat.messages, message] : chat.messages.with(at, message)
  let { live } = chat
  if (live?.retry) live = { ...live, retry: undefined }
  if (live?.writing?.message_id === message.id) live = { ...live, writing: undefined }
  if (live && live.message_id === message.id) {
    live = { ...live, message_id: null, text: '', reasoning: '' }
  }
  if (live && message.role === 'tool') {
    const tid = message.tool_call_id
    live = {
      ...live,
      tools: live.tools.filter(tool => tool.tid !== tid),
      subagents: withoutSubagents(live.subagents, tid),
    }
  }
  return { ...chat, messages, live }
}

const withSubagents = (
  chat: TranscriptState,
  event: Parameters<typeof withSubagentEvent>[1],
  now: number,
): TranscriptState =>
  chat.live
    ? {
        ...chat,
        live: { ...chat.live, subagents: withSubagentEvent(chat.live.subagents, event, now) },
      }
    : chat

type ToolStart = Extract<TurnEvent, { type: 'tool' }>['data']

const withTool = (
  chat: TranscriptState,
  { tid, name, preview, args }: ToolStart,
  now: number,
): TranscriptState => {
  const live = chat.live ?? blankTurn(now)
  if (live.tools.some(tool => tool.tid === tid)) return chat
  const tool = { tid, name, preview, args, started_at: now, output: '' }
  return { ...chat, live: { ...live, tools: [...live.tools, tool] } }
}

const withOutput = (chat: TranscriptState, tid: string, text: string): TranscriptState => {
  if (!chat.live) return chat
  const tools = chat.live.tools.map(tool =>
    tool.tid === tid ? { ...tool, output: (tool.output + text).slice(-OUTPUT_TAIL_CHARS) } : tool,
  )
  return { ...chat, live: { ...chat.live, tools } }
}

type Answered = Extract<TurnEvent, { type: 'answered' }>['data']

/** The question becomes a decision of the message after which it was asked, as in a session that is read later. */
const answered = (
  chat: TranscriptState,
  { id, message_id, decisions }: Answered,
): TranscriptState => ({
  ...chat,
  questions: chat.questions.filter(open => questionId(open) !== id),
  messages: decisions
    ? chat.messages.map(message =>
        message.id === message_id ? { ...message, _decisions: decisions } : message,
      )
    : chat.messages,
})

const withTurnEnded = (chat: TranscriptState): TranscriptState => ({
  ...chat,
  live: null,
  questions: [],
})

/** The turn that ended is the last one; its journal number is above those of its messages. */
const withTurnUsage = (chat: TranscriptState, usage: Usage): TranscriptState => {
  const n = Math.max(0, ...chat.messages.map(({ id }) => lineOf(id))) + 0.5
  const { cache_read_tokens = 0, cache_write_tokens = 0 } = usage
  const turn = { ...usage, n, cache_read_tokens, cache_write_tokens }
  return { ...chat, usage, turnUsage: [...chat.turnUsage, turn] }
}

/** The events of turns that fail or are stopped contain no usage. */
const withUsageSoFar = (chat: TranscriptState): TranscriptState =>
  chat.live?.usage ? withTurnUsage(chat, chat.live.usage) : chat

/** Keeps the streamed text when a turn is stopped; the stored message has the same id and replaces it. */
const keepPartial = (chat: TranscriptState): TranscriptState => {
  const live = chat.live
  if (!live?.message_id || !live.text.trim()) return chat
  if (chat.messages.some(message => message.id === live.message_id)) return chat
  const partial: Message = {
    id: live.message_id,
    role: 'assistant',
    content: live.text,
    _partial: true,
  }
  return { ...chat, messages: [...chat.messages, partial] }
}

const without = (notices: Notice[], id: string): Notice[] =>
  notices.some(notice => notice.id === id) ? notices.filter(notice => notice.id !== id) : notices

/** What the server says below the transcript. */
type NoticeText = { message: string; sentences?: Readonly<Record<string, Coded>> | undefined }

const withNotice = (
  { notices, messages }: TranscriptState,
  id: string,
  notice: NoticeText,
): Notice[] => [...without(notices, id), { ...notice, id, after: messages.at(-1)?.id }]
