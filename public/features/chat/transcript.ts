/** The messages of a chat: loaded from its end, updated by events while a pane shows it, followed by what is being sent. */
import { toSeconds } from '../../../lib/base/clock.ts'
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { ApiError, isTemporary } from '../../api.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { Queued } from '../../../lib/schema/queue.ts'
import type { Session, SessionRow } from '../../../lib/schema/session.ts'
import type { SnapshotRequest, EventCursors } from '../../stream/event-cursors.ts'
import type { Source } from '../../stream/stream.ts'
import {
  type TranscriptState,
  transcriptFromSession,
  emptyTranscript,
  reduceFrame,
} from './chat-reducer.ts'
import type { Platform } from '../../platform.ts'
import { createEditing, type Editing } from './editing.ts'
import { createChatMessages, type View, whole } from './chat-messages.ts'
import type { Listed, Outbox } from './outbox.ts'
import { PAGE_SIZE } from './page-size.ts'
import { createReadSession } from './read-session.ts'
import type { Toasts } from '../shell/toast.ts'
import { createTryAgain } from '../../parts/try-again.ts'

export type ChatState = 'none' | 'loading' | 'ready' | 'missing' | 'failed'
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

/** The client's id of a message, which the server stores with it. */
const clientId = ({ client_message_id: id }: Pick<Queued, 'client_message_id'>): string[] =>
  id === undefined ? [] : [id]

const toMessage = ({ id, text, files, at }: Listed): Message => ({
  id: `sent-${id}`,
  role: 'user',
  content: text,
  timestamp: Math.floor(toSeconds(at)),
  ...(files.length > 0 ? { attachments: [...files] } : {}),
})

/** What is being sent is shown behind the stored messages; an edited one in its place, once the server has it. */
const withSent = (chat: TranscriptState, sent: readonly Listed[]): TranscriptState => {
  const shown = sent.filter(({ replace, state }) => !replace || state === 'accepted')
  if (shown.length === 0) return chat
  const at = chat.messages.findIndex(({ id }) => shown.some(({ replace }) => replace === id))
  const stored = at < 0 ? chat.messages : chat.messages.slice(0, at)
  return { ...chat, messages: [...stored, ...shown.map(toMessage)], error: null }
}

export type TranscriptOptions = {
  platform: Pick<Platform, 'api' | 'nextFrame' | 'clock' | 'serverClock'>
  cursors: EventCursors
  toasts: Toasts
  /** Empty until the session was created. */
  sessionId: Signal<string>
  /** The client's id of the chat. */
  key: string
  outbox: Outbox
  rowOf: (id: string) => SessionRow | undefined
  /** The set of subscribed sessions has changed. */
  onSubscriptionsChange: () => void
  /** The session was fetched. */
  onSession: (session: Session) => void
  /** The session no longer exists. */
  onMissing: (id: string) => void
  onTurnEnd: (ended: TurnEnd) => void
  /** The message that was being edited is not shown any more. */
  onEditedGone: (editing: Editing) => void
}

export const createTranscript = (options: TranscriptOptions) => {
  const { platform, cursors, toasts, sessionId, key, outbox } = options
  const { rowOf, onSession, onMissing, onTurnEnd, onSubscriptionsChange, onEditedGone } = options
  const { api, clock, nextFrame, serverClock } = platform
  const stored = signal<TranscriptState>(emptyTranscript(sessionId.peek()))
  const state = signal<ChatState>(sessionId.peek() ? 'loading' : 'none')
  const read = createReadSession(rowOf)
  /** The message of a turn was stored, and the event of its start has not arrived yet. */
  const starting = signal(false)
  let frames: Frame[] = []
  let opening: Promise<void> | null = null
  let isShown = false
  /** The messages that are shown are those of the server, and events follow. */
  let isCurrent = false
  const again = createTryAgain(clock)

  /** Messages of the transcript that are being sent. */
  const sent = computed(() =>
    outbox
      .of(key, sessionId.value || null)
      .filter(({ state, behind }) => !behind && (state === 'sending' || state === 'accepted')),
  )
  /** What is shown of it. */
  const view = signal<View>(whole)
  const chat = computed(() => withSent(view.value(stored.value), sent.value))
  const { editing, checkEditing } = createEditing({ chat, state, onEditedGone })

  const messages = createChatMessages({ api, chat: stored, view })

  const flush = (): void => {
    const batch = frames
    frames = []
    let value = stored.value
    const ended: TurnEnd[] = []
    const arrived: string[] = []
    for (const frame of batch) {
      if (frame.source !== sourceOf(value.sessionId)) continue
      if (frame.type === 'message') {
        const ids = clientId(frame.data.message)
        arrived.push(...ids)
        // Its turn starts with the next event.
        if (sent.value.some(({ id }) => ids.includes(id))) starting.value = true
      }
      if (frame.type === 'queue') arrived.push(...frame.data.queued.flatMap(clientId))
      value = reduceFrame(value, frame, toSeconds(serverClock.now()))
      if (frame.type === 'turn_started') starting.value = false
      if (frame.type === 'done' || frame.type === 'apperror' || frame.type === 'cancel') {
        starting.value = false
        ended.push({ sessionId: value.sessionId, how: frame.type })
      }
    }
    stored.value = value
    outbox.confirm(arrived)
    checkEditing()
    for (const end of ended) onTurnEnd(end)
  }

  const receive = (frame: Frame): void => {
    frames.push(frame)
    if (frames.length === 1) nextFrame(flush)
  }

  /** Fetches a snapshot; a later request for the same source supersedes it. */
  const fetchInto = async (id: string, hold: SnapshotRequest, limit: number): Promise<void> => {
    const mark = outbox.mark()
    again.stop()
    try {
      const { session } = await api('GET /api/session', { session_id: id, limit })
      if (!cursors.isCurrent(hold)) return
      frames = []
      onSession(session)
      read.put(session)
      starting.value = false
      stored.value = transcriptFromSession(session)
      outbox.confirm([...session.messages, ...session.queued].flatMap(clientId))
      outbox.settle(id, mark)
      state.value = 'ready'
      isCurrent = true
      checkEditing()
      again.end()
      cursors.completeSnapshot(hold, session.cursor)
      onSubscriptionsChange()
    } catch (error) {
      if (!cursors.isCurrent(hold)) return
      const missing = error instanceof ApiError && error.status === 404
      if (missing) onMissing(id)
      if (!isCurrent || missing) state.value = missing ? 'missing' : 'failed'
      else if (again.isFirst()) toasts.showError(error)
      // Its events are held back until it succeeds.
      if (isTemporary(error)) again.later(() => void fetchInto(id, hold, limit))
      else again.end()
    }
  }

  const fetch = (limit: number, hold?: SnapshotRequest): Promise<void> => {
    const id = sessionId.peek()
    // Opening it fetches it anyway.
    return id && isShown
      ? fetchInto(id, hold ?? cursors.beginSnapshot(sourceOf(id)), limit)
      : Promise.resolve()
  }

  /** Fetches again as much as is loaded: after a reset, a truncation, a stop. */
  const reload = (hold?: SnapshotRequest): Promise<void> =>
    fetch(Math.min(MAX_LIMIT, Math.max(PAGE_SIZE, stored.value.messages.length + 10)), hold)

  return {
    chat,
    sessionId: sessionId as ReadonlySignal<string>,
    state: computed(() =>
      state.value === 'none' && sent.value.length > 0 ? 'ready' : state.value,
    ),
    details: read.details,
    /** Kept while another chat is shown. */
    editing,
    checkEditing,
    busy: computed(() => chat.value.live !== null || starting.value || sent.value.length > 0),
    /** A pane shows it: fetches it and follows its events. Concurrent calls share one request. */
    open(): Promise<void> {
      isShown = true
      if (!sessionId.peek() || state.peek() === 'ready') return Promise.resolve()
      if (!opening) {
        state.value = 'loading'
        opening = fetch(PAGE_SIZE).finally(() => {
          opening = null
        })
      }
      return opening
    },
    /** No pane shows it any more. */
    close(): void {
      isShown = false
      isCurrent = false
      const id = sessionId.peek()
      if (!id) return
      cursors.unsubscribe(sourceOf(id))
      onSubscriptionsChange()
      again.end()
      // Their events are not awaited any more.
      outbox.settle(id, outbox.mark())
      frames = []
      opening = null
      starting.value = false
      stored.value = emptyTranscript(id)
      view.value = whole
      state.value = 'loading'
      read.put(null)
    },
    /** The session of a new chat was created. Unless that was done here, something may be in it. */
    begin(id: string, isOurs: boolean): void {
      sessionId.value = id
      stored.value = emptyTranscript(id)
      state.value = isShown && isOurs ? 'ready' : 'loading'
      if (isOurs) void fetch(PAGE_SIZE)
    },
    /** The session was deleted. */
    end(): void {
      state.value = 'missing'
    },
    reload,
    view,
    receive,
    /** For the Retry button of a chat that failed to load. */
    retryLoad: () => reload(),
    /** The connection is back: a request that failed is not waited for. */
    catchUp: () => again.now(),
    ...messages,
  }
}

export type Transcript = ReturnType<typeof createTranscript>
