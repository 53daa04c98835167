/** The open chat: loaded from its end, updated by events. */
import { toSeconds } from '../../../lib/base/clock.ts'
import { computed, signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { Session } from '../../../lib/schema/session.ts'
import type { SnapshotRequest, EventCursors } from '../../stream/event-cursors.ts'
import type { Source } from '../../stream/stream.ts'
import { type Chat, chatFromSession, emptyChat, reduceFrame } from './chat-reducer.ts'
import type { Platform } from '../../platform.ts'
import { createChatMessages } from './chat-messages.ts'
import { PAGE_SIZE } from './page-size.ts'
import type { Toasts } from '../shell/toast.ts'

export type ChatState = 'none' | 'loading' | 'ready' | 'missing' | 'failed'
/** Fields of the session besides its messages. */
export type Details = Pick<
  Session,
  | 'session_id'
  | 'title'
  | 'workspace'
  | 'model'
  | 'personality'
  | 'composer_draft'
  | 'input_tokens'
  | 'output_tokens'
  | 'estimated_cost'
  | 'profile'
>
export type TurnEnd = { sessionId: string; how: 'done' | 'apperror' | 'cancel' }

/** The server's maximum page size. */
const MAX_LIMIT = 500
const sourceOf = (id: string): Source => `session:${id}`

export const textOf = (message: Message): string =>
  typeof message.content === 'string'
    ? message.content
    : message.content
        .map(part => (typeof part.text === 'string' ? part.text : ''))
        .filter(Boolean)
        .join('\n')

export type OpenChatOptions = {
  platform: Pick<Platform, 'api' | 'nextFrame' | 'clock' | 'serverClock'>
  cursors: EventCursors
  toasts: Toasts
  /** The set of subscribed sessions has changed. */
  onSubscriptionsChange: () => void
  /** The session was fetched. */
  onSession: (session: Session) => void
  /** The session no longer exists. */
  onMissing: (id: string) => void
  onTurnEnd: (ended: TurnEnd) => void
}

export const createOpenChat = (options: OpenChatOptions) => {
  const { platform, cursors, toasts, onSession, onMissing, onTurnEnd } = options
  const { onSubscriptionsChange } = options
  const { api, nextFrame, clock, serverClock } = platform
  const chat = signal<Chat>(emptyChat(''))
  const state = signal<ChatState>('none')
  const details = signal<Details | null>(null)
  /** A turn was started and its first event has not arrived yet. */
  const starting = signal(false)
  /** Sent messages that are not stored yet; shown at once, then replaced. */
  let sent: Message[] = []
  let frames: Frame[] = []
  let opening = Promise.resolve()

  const show = (value: Chat): void => {
    const stored = value.messages.filter(({ id }) => !id.startsWith('sent-'))
    chat.value = { ...value, messages: [...stored, ...sent] }
  }

  const flush = (): void => {
    const batch = frames
    frames = []
    let value = chat.value
    const ended: TurnEnd[] = []
    for (const frame of batch) {
      if (frame.source !== sourceOf(value.sessionId)) continue
      if (frame.type === 'message' && frame.data.message.role === 'user') {
        sent = sent.slice(1)
        const stored = value.messages.filter(({ id }) => !id.startsWith('sent-'))
        value = { ...value, messages: [...stored, ...sent] }
      }
      value = reduceFrame(value, frame, toSeconds(serverClock.now()))
      if (frame.type === 'turn_started') starting.value = false
      if (frame.type === 'done' || frame.type === 'apperror' || frame.type === 'cancel') {
        starting.value = false
        ended.push({ sessionId: value.sessionId, how: frame.type })
      }
    }
    chat.value = value
    for (const end of ended) onTurnEnd(end)
  }

  const receive = (frame: Frame): void => {
    frames.push(frame)
    if (frames.length === 1) nextFrame(flush)
  }

  /** Fetches a snapshot; a later request for the same source supersedes it. */
  const fetchInto = async (id: string, hold: SnapshotRequest, limit: number): Promise<void> => {
    try {
      const { session } = await api('GET /api/session', { session_id: id, limit })
      if (!cursors.isCurrent(hold)) return
      frames = []
      details.value = session
      onSession(session)
      // Sent messages are stored or rejected by now, except while a start is pending.
      if (!starting.value) sent = []
      else if (session.messages.some(({ role, timestamp }) => isOf(sent, role, timestamp)))
        sent = []
      show(chatFromSession(session))
      state.value = 'ready'
      cursors.completeSnapshot(hold, session.cursor)
      onSubscriptionsChange()
    } catch (error) {
      if (!cursors.isCurrent(hold)) return
      const missing = error instanceof ApiError && error.status === 404
      if (missing) onMissing(id)
      if (state.value !== 'ready' || missing) state.value = missing ? 'missing' : 'failed'
      else toasts.showError(error)
    }
  }

  const leave = (): void => {
    if (chat.value.sessionId) cursors.unsubscribe(sourceOf(chat.value.sessionId))
    frames = []
    details.value = null
  }

  const open = (id: string | null): Promise<void> => {
    const same = id === (chat.value.sessionId || null)
    if (same && state.value === 'ready') return Promise.resolve()
    if (!same || state.value !== 'loading') opening = begin(id)
    return opening
  }

  const begin = async (id: string | null): Promise<void> => {
    leave()
    if (!id) {
      sent = []
      starting.value = false
      chat.value = emptyChat('')
      state.value = 'none'
      onSubscriptionsChange()
      return
    }
    const carried = sent.length > 0
    if (!carried) starting.value = false
    state.value = carried ? 'ready' : 'loading'
    show(emptyChat(id))
    await fetchInto(id, cursors.beginSnapshot(sourceOf(id)), PAGE_SIZE)
  }

  /** Fetches again as much as is loaded: after a reset, a truncation, a stop. */
  const reload = async (hold?: SnapshotRequest): Promise<void> => {
    const id = chat.value.sessionId
    if (!id) return
    const limit = Math.min(MAX_LIMIT, Math.max(PAGE_SIZE, chat.value.messages.length + 10))
    await fetchInto(id, hold ?? cursors.beginSnapshot(sourceOf(id)), limit)
  }

  return {
    chat,
    /** Changes with the chat that is open, not with each token. */
    sessionId: computed(() => chat.value.sessionId),
    state,
    details,
    starting,
    busy: computed(() => chat.value.live !== null || starting.value),
    open,
    reload,
    receive,
    /** For the Retry button of a chat that failed to load. */
    retryLoad: () => reload(),
    /** Shows a message before the server has it; the returned function removes it again. */
    addPending(text: string, attachments: readonly string[]): () => void {
      const message: Message = {
        id: `sent-${clock.now()}-${sent.length}`,
        role: 'user',
        content: text,
        timestamp: Math.floor(toSeconds(clock.now())),
        ...(attachments.length > 0 ? { attachments: [...attachments] } : {}),
      }
      sent = [...sent, message]
      starting.value = true
      if (state.value === 'none') state.value = 'ready'
      show({ ...chat.value, error: null })
      return () => {
        sent = sent.filter(other => other !== message)
        starting.value = false
        if (!chat.value.sessionId && sent.length === 0) state.value = 'none'
        show(chat.value)
      }
    },
    /** Applies a change of personality, model or workspace made on this page. */
    patch(change: Partial<Details>): void {
      if (details.value) details.value = { ...details.value, ...change }
    },
    ...createChatMessages({ api, chat, reload: () => reload() }),
  }
}

/** Whether a stored message is one of the sent ones: a user message that is not older. */
const isOf = (sent: readonly Message[], role: string, timestamp: number | undefined): boolean =>
  role === 'user' && sent.some(message => (timestamp ?? 0) >= (message.timestamp ?? 0))

export type OpenChat = ReturnType<typeof createOpenChat>
