/**
 * Messages that were written and may not have arrived: stored in this browser before they are sent, under the id that the
 * server stores them with, and kept until it has answered. A message whose reply was lost is sent again and stored once.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Clock } from '../../../lib/base/clock.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { ApiError, type ApiCall, isTemporary, isUnreachable, SEND_MS } from '../../api.ts'
import type { JsonStorage } from '../../platform.ts'

/** Where a new session is created. */
export type NewChatPlace = { profile: string; project: string }

/** Choices for a session that does not exist yet. `place`: of a message that was taken back; absent: that of the page. */
export type Choice = { model: string; workspace: string; personality: string; place?: NewChatPlace }
export const noChoice: Choice = { model: '', workspace: '', personality: '' }

/** A message as it is stored. */
export type Outgoing = {
  /** The client's id of the message. */
  id: string
  /** Null until the session was created. */
  session_id: string | null
  /** The client's id of the chat: messages with the same one belong to the same new session. */
  chat: string
  choice: Choice
  place?: NewChatPlace
  text: string
  files: readonly string[]
  /** The stored draft that it was, of another device or from before a reload. */
  draft?: string
  /** Id of the message of the person that this one replaces, with everything that followed it. */
  replace?: string
  /** It was written while a turn ran, and is sent after that. */
  behind?: true
  /** Milliseconds since 1970, later than that of the message before. */
  at: number
  /** Its request got no reply: any page of the person sends it, in order. */
  waiting?: true
  /** Why the server rejected it when it was sent later: it waits for the person, and so do the messages behind it. */
  error?: string
}

/**
 * `sending`: by this page; `elsewhere`: by another one; `accepted`: the server has it, and its event has not arrived yet;
 * `waiting`: for the connection, or, with an error, for the person.
 */
export type OutgoingState = 'sending' | 'elsewhere' | 'accepted' | 'waiting'
export type Listed = Outgoing & {
  state: OutgoingState
  /** Why it is sent later, if not because of the connection. */
  reason?: string
}

export type NewMessage = Omit<Outgoing, 'id' | 'at' | 'place' | 'waiting' | 'error'> & {
  id?: string
}

export type OutboxOptions = {
  api: ApiCall
  /** Of this person, shared by the pages of this browser. */
  storage: JsonStorage
  clock: Clock
  newId: () => string
  place: () => NewChatPlace
  /** Runs the work of one name one at a time in all pages of this browser. */
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>
  /** A session was created for the messages of a new chat. */
  onCreated: (chat: string, session: SessionRow) => void
  /** The events of this session arrive here. */
  isFollowed: (sessionId: string) => boolean
  /** Before a message is sent: a session of the command line is imported. */
  beforeSend: (sessionId: string) => Promise<void>
}

/** `queued`: also what another page has sent. */
export type Receipt = 'started' | 'queued' | 'waiting'

/** Of the keys of the stored messages. */
const PREFIX = 'out:'

/** What a session is created for. */
type Creation = Pick<Outgoing, 'id' | 'chat' | 'choice' | 'place'>

const isWaiting = ({ state }: Listed): boolean => state === 'waiting'

/** Above the composer: what waits, and what is on its way to the queue. Other messages that are being sent are in the transcript. */
export const isListed = ({ state, behind }: Listed): boolean =>
  state === 'waiting' || (behind === true && state === 'sending')

/** What messages of one chat have in common, before and after its session exists. */
const isOfChat = (message: Outgoing, chat: string, sessionId: string | null): boolean =>
  message.chat === chat || (sessionId !== null && message.session_id === sessionId)

/** Not because of the message: the same one may be accepted later. */
const isForLater = (error: unknown): boolean =>
  isTemporary(error) ||
  (error instanceof ApiError &&
    ['queue_full', 'other_account', 'sign_in_required'].includes(error.code ?? ''))

const isBusy = (error: unknown): boolean =>
  error instanceof ApiError && /^session_(busy|compacting)$/.test(error.code ?? '')

const lineOf = (message: Outgoing): string => message.session_id ?? message.chat

const sentence = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Sends the messages of all chats, those of one chat in the order in which they were written. */
export class Outbox {
  /** A message waits for the connection; set by what sends it again. */
  onWaiting: () => void = () => {}
  readonly list: ReadonlySignal<readonly Listed[]>
  readonly #list = signal<readonly Listed[]>([])
  readonly #options: OutboxOptions
  /** The last delivery of each chat in this page: on a slow connection a later message could overtake an earlier one. */
  readonly #lines = new Map<string, Promise<unknown>>()
  /** Sessions being created, by chat. */
  readonly #creating = new Map<string, Promise<string>>()
  readonly #reasons = new Map<string, string>()
  /** Messages of other pages whose end this one waits for. */
  readonly #awaited = new Set<string>()
  /** Number of messages accepted so far; a snapshot that is requested later contains them. */
  #accepted = 0
  readonly #acceptedAs = new Map<string, number>()

  constructor(options: OutboxOptions) {
    this.#options = options
    this.list = this.#list
    this.reload()
  }

  /** Those of a chat, in order. */
  of(chat: string, sessionId: string | null): readonly Listed[] {
    return this.#list.value.filter(each => isOfChat(each, chat, sessionId))
  }

  /** Reads the store again, after another page has changed it. */
  reload(): void {
    const messages = this.#readAll()
    const ids = new Set(messages.map(({ id }) => id))
    const own = this.#list
      .peek()
      .filter(({ state, id }) => state === 'accepted' || (state === 'sending' && !ids.has(id)))
    const rows = messages.map((each): Listed => {
      const before = this.#list.peek().find(({ id }) => id === each.id)
      const reason = this.#reasons.get(each.id)
      const state = each.waiting ? 'waiting' : before?.state === 'sending' ? 'sending' : 'elsewhere'
      return { ...each, state, ...(reason !== undefined && { reason }) }
    })
    this.#list.value = [...own.filter(({ id }) => !ids.has(id)), ...rows].sort(
      (a, b) => a.at - b.at,
    )
  }

  /**
   * Stores a message and sends it. Resolves when the server has it, or when it waits for the connection; rejects with the
   * server's refusal, after which the caller has the text and nothing is stored.
   */
  async send(message: NewMessage): Promise<Receipt> {
    const { clock, newId, place } = this.#options
    const at = Math.max(clock.now(), (this.#list.peek().at(-1)?.at ?? 0) + 1)
    const entry: Outgoing = {
      ...message,
      id: message.id ?? newId(),
      at,
      ...(!message.session_id && { place: message.choice.place ?? place() }),
    }
    let release = (): void => undefined
    const done = new Promise<void>(resolve => {
      release = resolve
    })
    // Requested before other pages can see the message. Without the lock it may be sent twice, with the same id.
    void this.#options.exclusively(entry.id, () => done).catch(() => undefined)
    this.#put(entry, 'sending')
    try {
      return await this.#inLine(entry, () => this.#sendFirst(entry.id))
    } finally {
      release()
    }
  }

  /** The first time, in the page that it was written in. */
  async #sendFirst(id: string): Promise<Receipt> {
    const entry = this.#find(id)
    // Its event arrived while it was behind another one.
    if (!entry) return 'queued'
    // Behind those that wait, so that they arrive in order.
    const isBehind = this.of(entry.chat, entry.session_id).some(
      other => other.at < entry.at && other.state !== 'accepted' && other.id !== id,
    )
    if (isBehind && this.#wait(entry)) return 'waiting'
    try {
      return await this.#deliver(entry)
    } catch (error) {
      const now = this.#find(id)
      if (!now) return 'queued'
      if (isUnreachable(error) && this.#wait(now)) return 'waiting'
      this.#drop(id)
      throw error
    }
  }

  /** Where nothing can be stored, it is false: the text goes back to where it was written. */
  #wait(entry: Listed): boolean {
    const { state: _, reason: __, ...message } = entry
    this.#put({ ...message, waiting: true }, 'waiting')
    if (this.#inStore(entry.id)) {
      this.onWaiting()
      return true
    }
    this.#put(message, 'sending')
    return false
  }

  isCreating = (chat: string): boolean => this.#creating.has(chat)

  /** Creates the session of a new chat, once for all that is written there. */
  sessionOf(chat: string, choice: Choice): Promise<string> {
    return this.#sessionFor({ id: this.#options.newId(), chat, choice })
  }

  /** As its first message wants it, whatever is written or chosen later. */
  #sessionFor(creation: Creation): Promise<string> {
    const { chat } = creation
    const running = this.#creating.get(chat)
    if (running) return running
    const first = this.#readAll().find(each => each.chat === chat && !each.session_id) ?? creation
    const created = this.#create(first).finally(() => this.#creating.delete(chat))
    this.#creating.set(chat, created)
    return created
  }

  async #create({ id: first, chat, choice, place }: Creation): Promise<string> {
    const { api, onCreated } = this.#options
    const { profile, project } = place ?? choice.place ?? this.#options.place()
    const { model, workspace, personality } = choice
    const input = {
      ...(model ? { model } : {}),
      ...(workspace ? { workspace } : {}),
      ...(profile ? { profile } : {}),
    }
    // With a key, so that a page that repeats it for this message gets the same session. Not for the chat: in another page it
    // may be that of a later message, and a key is of one input.
    const limit = { signal: AbortSignal.timeout(SEND_MS), key: `new-${first}` }
    const { session } = await api('POST /api/session/new', input, limit)
    const id = session.session_id
    let row: SessionRow = session
    // A chat started while the list shows one project belongs to that project.
    if (project)
      row = (await api('POST /api/session/move', { session_id: id, project_id: project })).session
    if (personality) {
      await api('POST /api/personality/set', { session_id: id, name: personality })
      row = { ...row, personality }
    }
    for (const each of this.#readAll())
      if (each.chat === chat && !each.session_id) this.#store({ ...each, session_id: id })
    this.#list.value = this.#list
      .peek()
      .map(each => (each.chat === chat ? { ...each, session_id: id } : each))
    const line = this.#lines.get(chat)
    if (line) this.#lines.set(id, line)
    onCreated(chat, row)
    return id
  }

  async #deliver(entry: Outgoing): Promise<Receipt> {
    const { api, beforeSend } = this.#options
    const { id, text, files, replace, draft } = entry
    const session_id = entry.session_id ?? (await this.#sessionFor(entry))
    // The message that is replaced has another id once the session is imported: the server does it.
    if (!replace) await beforeSend(session_id)
    const message = {
      ...{ session_id, message: text, client_message_id: id },
      ...(files.length > 0 && { attachments: [...files] }),
      ...(draft && { draft }),
    }
    // On a connection that has stalled, the message is kept and sent again.
    const limit = () => ({ signal: AbortSignal.timeout(SEND_MS) })
    const queue = async (): Promise<Receipt> => {
      await api('POST /api/queue/add', message, { ...limit(), key: `queue-${id}` })
      this.#drop(id)
      return 'queued'
    }
    if (entry.behind) return queue()
    try {
      const input = { ...message, ...(replace && { replace }) }
      await api('POST /api/chat/start', input, { ...limit(), key: id })
      this.#accept(id)
      return 'started'
    } catch (error) {
      // Another page or device started a turn first: the server sends it afterwards.
      if (replace || !isBusy(error)) throw error
      return queue()
    }
  }

  #accept(id: string): void {
    this.#options.storage.remove(PREFIX + id)
    const message = this.#find(id)
    // Its event may have been faster than the reply.
    if (!message) return
    // What is fetched when its chat is opened contains it.
    if (!this.#options.isFollowed(message.session_id ?? '')) {
      this.#drop(id)
      return
    }
    this.#accepted += 1
    this.#acceptedAs.set(id, this.#accepted)
    this.#list.value = this.#list
      .peek()
      .map(each => (each.id === id ? { ...each, state: 'accepted' } : each))
  }

  /** The server's events or a snapshot contain these messages. True when one of them was listed here. */
  confirm(ids: readonly string[]): boolean {
    const own = this.#list.peek().filter(({ id }) => ids.includes(id))
    for (const { id } of own) this.#drop(id)
    return own.length > 0
  }

  /** For `settle`: before a snapshot of a session is requested. */
  mark = (): number => this.#accepted

  /** A snapshot that was requested at this mark has arrived: what had been accepted before is in it, or was removed since. */
  settle(sessionId: string, mark: number): void {
    for (const { id, session_id, state } of this.#list.peek())
      if (
        session_id === sessionId &&
        state === 'accepted' &&
        (this.#acceptedAs.get(id) ?? 0) <= mark
      )
        this.#drop(id)
  }

  /** False when it has just been sent: then there is nothing to remove. */
  async remove(id: string): Promise<boolean> {
    const message = await this.#options.exclusively(id, async () => {
      const record = this.#inStore(id)
      if (record) this.#drop(id)
      this.reload()
      return record
    })
    // They may have been held by this one only.
    if (message && this.of(message.chat, message.session_id).some(isWaiting)) this.onWaiting()
    return message !== undefined
  }

  /** Sends a message that was rejected once more. */
  async retry(id: string): Promise<void> {
    await this.#options.exclusively(id, async () => {
      const record = this.#inStore(id)
      if (!record) return
      const { error: _, ...message } = record
      this.#put(message, 'waiting')
    })
    await this.flush()
  }

  /** Takes over the messages of pages that were closed while sending; waits for those of pages that are open. */
  async takeOver(): Promise<void> {
    this.reload()
    const others = this.#list
      .peek()
      .filter(({ id, state }) => state === 'elsewhere' && !this.#awaited.has(id))
    await Promise.all(others.map(({ id }) => this.#takeOver(id)))
  }

  async #takeOver(id: string): Promise<void> {
    this.#awaited.add(id)
    try {
      // The page that sends it has the lock until it is done or closed.
      await this.#options.exclusively(id, async () => {
        const message = this.#inStore(id)
        if (message && !message.waiting) this.#put({ ...message, waiting: true }, 'waiting')
        if (message) this.onWaiting()
      })
    } finally {
      this.#awaited.delete(id)
    }
  }

  /** Sends what waits, in order. False when something has to be sent later. */
  async flush(): Promise<boolean> {
    this.reload()
    if (!this.#list.peek().some(isWaiting)) return true
    return this.#options.exclusively('', () => this.#sendAll())
  }

  async #sendAll(): Promise<boolean> {
    // A message that cannot be sent holds back those behind it in the same chat, so that they stay in order.
    const blocked = new Set<string>()
    let isAll = true
    while (true) {
      this.reload()
      const next = this.#list
        .peek()
        .find(each => isWaiting(each) && !blocked.has(each.chat) && !blocked.has(lineOf(each)))
      if (!next) return isAll
      const isBehind = this.of(next.chat, next.session_id).some(
        ({ at, state }) => at < next.at && (state === 'sending' || state === 'elsewhere'),
      )
      if (isBehind || next.error) {
        blocked.add(next.chat).add(lineOf(next))
        isAll &&= !isBehind
        continue
      }
      try {
        await this.#sendWaiting(next.id)
      } catch (error) {
        if (isUnreachable(error)) return false
        const now = this.#inStore(next.id)
        // Its event has arrived, or the person has signed out.
        if (!now) continue
        // Its session may have been created before the error.
        blocked.add(next.chat).add(lineOf(now))
        if (isForLater(error)) {
          isAll = false
          this.#reasons.set(next.id, sentence(error))
        } else this.#put({ ...now, error: sentence(error) }, 'waiting')
        this.reload()
      }
    }
  }

  /** Unless it has been removed, here or in another page. */
  #sendWaiting(id: string): Promise<void> {
    return this.#options.exclusively(id, async () => {
      const entry = this.#inStore(id)
      if (!entry) return
      await this.#inLine(entry, async () => {
        const now = this.#inStore(id)
        if (now) await this.#deliver(now)
      })
    })
  }

  /** Removes all messages of this person, who signs out. */
  clear(): void {
    for (const { id } of [...this.#list.peek(), ...this.#readAll()]) this.#drop(id)
  }

  #inLine<T>(message: Outgoing, work: () => Promise<T>): Promise<T> {
    const line = lineOf(message)
    const next = (this.#lines.get(line) ?? Promise.resolve()).then(work, work)
    this.#lines.set(line, next)
    return next
  }

  #find(id: string): Listed | undefined {
    return this.#list.peek().find(each => each.id === id)
  }

  #inStore(id: string): Outgoing | undefined {
    return this.#options.storage.read<Outgoing | null>(PREFIX + id, null) ?? undefined
  }

  #readAll(): Outgoing[] {
    const { storage } = this.#options
    return (
      storage
        .keys()
        .filter(key => key.startsWith(PREFIX))
        // Another page may have removed it just now.
        .flatMap(key => storage.read<Outgoing | null>(key, null) ?? [])
        .sort((a, b) => a.at - b.at)
    )
  }

  #store(message: Outgoing): void {
    this.#options.storage.write(PREFIX + message.id, message)
  }

  #put(message: Outgoing, state: OutgoingState): void {
    this.#store(message)
    const others = this.#list.peek().filter(({ id }) => id !== message.id)
    this.#list.value = [...others, { ...message, state }].sort((a, b) => a.at - b.at)
  }

  #drop(id: string): void {
    this.#options.storage.remove(PREFIX + id)
    this.#acceptedAs.delete(id)
    this.#reasons.delete(id)
    if (this.#find(id)) this.#list.value = this.#list.peek().filter(each => each.id !== id)
  }
}
