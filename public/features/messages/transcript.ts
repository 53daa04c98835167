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
import { EditingState, type Editing } from './editing.ts'
import { ChatMessages, type View, whole } from './chat-messages.ts'
import type { Listed, Outbox } from './outbox.ts'
import { PAGE_SIZE } from './page-size.ts'
import type { Toasts } from '../shell/toast.ts'
import { TryAgain } from '../../parts/try-again.ts'

/** Fields of the session besides its messages. */
type Details = Pick<
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

/** Of these, the row has the newest: other devices change them, and what is refused is taken back there. */
const ROW_FIELDS = ['workspace', 'model', 'personality', 'profile'] as const
type RowFields = Pick<SessionRow, (typeof ROW_FIELDS)[number]>

class ReadSession {
  readonly #rowOf: (id: string) => SessionRow | undefined
  readonly #read = signal<{ session: Session; row: RowFields } | null>(null)
  readonly details: ReadonlySignal<Details | null>

  constructor(rowOf: (id: string) => SessionRow | undefined) {
    this.#rowOf = rowOf
    this.details = computed<Details | null>(() => {
      if (!this.#read.value) return null
      const { session, row } = this.#read.value
      const now = rowOf(session.session_id) ?? row
      const changed = ROW_FIELDS.filter(name => now[name] !== row[name])
      if (changed.length === 0) return session
      return { ...session, ...Object.fromEntries(changed.map(name => [name, now[name]])) }
    })
  }

  put(session: Session | null): void {
    const row = session && this.#rowOf(session.session_id)
    // A reply that is older than the row changes nothing about it.
    const isNewer = row && (row.seq ?? 0) <= (session.seq ?? 0)
    this.#read.value = session && { session, row: isNewer ? row : session }
  }
}

export type ChatState = 'none' | 'loading' | 'ready' | 'missing' | 'failed'
export type TurnEnd = { sessionId: string; how: 'done' | 'apperror' | 'cancel' }

/** The server's maximum page size. */
const MAX_LIMIT = 500
const sourceOf = (id: string): Source => `session:${id}`

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
const withSent = (chat: TranscriptState, outgoing: readonly Listed[]): TranscriptState => {
  const visible = outgoing.filter(({ replace, state }) => !replace || state === 'accepted')
  if (visible.length === 0) return chat
  const at = chat.messages.findIndex(({ id }) => visible.some(({ replace }) => replace === id))
  const earlier = at < 0 ? chat.messages : chat.messages.slice(0, at)
  return { ...chat, messages: [...earlier, ...visible.map(toMessage)], error: null }
}

export type TranscriptOptions = {
  platform: Platform
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
  onTurnEnd: (end: TurnEnd) => void
  /** The message that was being edited is not shown any more. */
  onEditedGone: (editing: Editing) => void
}

export class Transcript {
  readonly #options: TranscriptOptions
  readonly #history: Signal<TranscriptState>
  readonly #state: Signal<ChatState>
  readonly #read
  /** The message of a turn was stored, and the event of its start has not arrived yet. */
  readonly #starting = signal(false)
  #frames: Frame[] = []
  #opening: Promise<void> | null = null
  #isShown = false
  /** The messages that are shown are those of the server, and events follow. */
  #isCurrent = false
  readonly #again
  /** Messages of the transcript that are being sent. */
  readonly #outgoing: ReadonlySignal<Listed[]>
  /** What is shown of it. */
  readonly view = signal<View>(whole)
  readonly chat = computed(() =>
    withSent(this.view.value(this.#history.value), this.#outgoing.value),
  )
  readonly editing: Signal<readonly Editing[]>
  readonly checkEditing
  readonly messages
  readonly sessionId: ReadonlySignal<string>
  readonly state = computed(() =>
    this.#state.value === 'none' && this.#outgoing.value.length > 0 ? 'ready' : this.#state.value,
  )
  readonly details
  readonly busy = computed(
    () => this.chat.value.live !== null || this.#starting.value || this.#outgoing.value.length > 0,
  )

  constructor(options: TranscriptOptions) {
    const { sessionId, outbox, key } = options
    const { rowOf, onEditedGone } = options
    const { clock, api } = options.platform
    this.#options = options
    this.#history = signal<TranscriptState>(emptyTranscript(sessionId.peek()))
    this.#state = signal<ChatState>(sessionId.peek() ? 'loading' : 'none')
    this.#read = new ReadSession(rowOf)
    this.#again = new TryAgain(clock)
    this.#outgoing = computed(() =>
      outbox
        .of(key, sessionId.value || null)
        .filter(({ state, behind }) => !behind && (state === 'sending' || state === 'accepted')),
    )
    const { editing, checkEditing } = new EditingState({
      chat: this.chat,
      state: this.#state,
      onEditedGone,
    })
    this.editing = editing
    this.checkEditing = checkEditing
    this.messages = new ChatMessages({ api, chat: this.#history, view: this.view })
    this.sessionId = sessionId
    this.details = this.#read.details
  }

  readonly #flush = (): void => {
    const { serverClock } = this.#options.platform
    const { outbox, onTurnEnd } = this.#options
    const batch = this.#frames
    this.#frames = []
    let value = this.#history.value
    const ends: TurnEnd[] = []
    const arrived: string[] = []
    for (const frame of batch) {
      if (frame.source !== sourceOf(value.sessionId)) continue
      if (frame.type === 'message') {
        const ids = clientId(frame.data.message)
        arrived.push(...ids)
        // Its turn starts with the next event.
        if (this.#outgoing.value.some(({ id }) => ids.includes(id))) this.#starting.value = true
      }
      if (frame.type === 'queue') arrived.push(...frame.data.queued.flatMap(clientId))
      value = reduceFrame(value, frame, toSeconds(serverClock.now()))
      if (frame.type === 'turn_started') this.#starting.value = false
      if (frame.type === 'done' || frame.type === 'apperror' || frame.type === 'cancel') {
        this.#starting.value = false
        ends.push({ sessionId: value.sessionId, how: frame.type })
      }
    }
    this.#history.value = value
    outbox.confirm(arrived)
    this.checkEditing()
    for (const end of ends) onTurnEnd(end)
  }

  receive(frame: Frame): void {
    this.#frames.push(frame)
    if (this.#frames.length === 1) this.#options.platform.nextFrame(this.#flush)
  }

  /** Fetches again as much as is loaded: after a reset, a truncation, a stop. */
  reload(hold?: SnapshotRequest): Promise<void> {
    return this.#fetch(
      Math.min(MAX_LIMIT, Math.max(PAGE_SIZE, this.#history.value.messages.length + 10)),
      hold,
    )
  }

  /** A pane shows it: fetches it and follows its events. Concurrent calls share one request. */
  open(): Promise<void> {
    this.#isShown = true
    if (!this.#options.sessionId.peek() || this.#state.peek() === 'ready') return Promise.resolve()
    if (!this.#opening) {
      this.#state.value = 'loading'
      this.#opening = this.#fetch(PAGE_SIZE).finally(() => {
        this.#opening = null
      })
    }
    return this.#opening
  }

  /** No pane shows it any more. */
  close(): void {
    const { sessionId, cursors, onSubscriptionsChange, outbox } = this.#options
    this.#isShown = false
    this.#isCurrent = false
    const id = sessionId.peek()
    if (!id) return
    cursors.unsubscribe(sourceOf(id))
    onSubscriptionsChange()
    this.#again.end()
    // Their events are not awaited any more.
    outbox.settle(id, outbox.mark())
    this.#frames = []
    this.#opening = null
    this.#starting.value = false
    this.#history.value = emptyTranscript(id)
    this.view.value = whole
    this.#state.value = 'loading'
    this.#read.put(null)
  }

  /** The session of a new chat was created. Unless that was done here, something may be in it. */
  begin(id: string, isOurs: boolean): void {
    this.#options.sessionId.value = id
    this.#history.value = emptyTranscript(id)
    this.#state.value = this.#isShown && isOurs ? 'ready' : 'loading'
    if (isOurs) void this.#fetch(PAGE_SIZE)
  }

  /** The session was deleted. */
  end(): void {
    this.#state.value = 'missing'
  }

  /** For the Retry button of a chat that failed to load. */
  retryLoad(): Promise<void> {
    return this.reload()
  }

  /** The connection is back: a request that failed is not waited for. */
  catchUp(): void {
    this.#again.now()
  }

  /** Fetches a snapshot; a later request for the same source supersedes it. */
  async #fetchInto(id: string, hold: SnapshotRequest, limit: number): Promise<void> {
    const { outbox, cursors, onSession, onSubscriptionsChange, onMissing, toasts } = this.#options
    const { api } = this.#options.platform
    const mark = outbox.mark()
    this.#again.stop()
    try {
      const { session } = await api('GET /api/session', { session_id: id, limit })
      if (!cursors.isCurrent(hold)) return
      this.#frames = []
      onSession(session)
      this.#read.put(session)
      this.#starting.value = false
      this.#history.value = transcriptFromSession(session)
      outbox.confirm([...session.messages, ...session.queued].flatMap(clientId))
      outbox.settle(id, mark)
      this.#state.value = 'ready'
      this.#isCurrent = true
      this.checkEditing()
      this.#again.end()
      cursors.completeSnapshot(hold, session.cursor)
      onSubscriptionsChange()
    } catch (error) {
      if (!cursors.isCurrent(hold)) return
      const missing = error instanceof ApiError && error.status === 404
      if (missing) onMissing(id)
      if (!this.#isCurrent || missing) this.#state.value = missing ? 'missing' : 'failed'
      else if (this.#again.isFirst()) toasts.showError(error)
      // Its events are held back until it succeeds.
      if (isTemporary(error)) this.#again.later(() => void this.#fetchInto(id, hold, limit))
      else this.#again.end()
    }
  }

  #fetch(limit: number, hold?: SnapshotRequest): Promise<void> {
    const { sessionId, cursors } = this.#options
    const id = sessionId.peek()
    // Opening it fetches it anyway.
    return id && this.#isShown
      ? this.#fetchInto(id, hold ?? cursors.beginSnapshot(sourceOf(id)), limit)
      : Promise.resolve()
  }
}
