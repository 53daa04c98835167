/** Where the draft of one chat is stored: with the server, and in this browser until the server has it. */
import type { ReadonlySignal } from '@preact/signals'
import { MAX_DRAFT_CHARS } from '../../../lib/base/draft-limit.ts'
import type { Draft } from '../../../lib/schema/session.ts'
import type { Choice } from '../messages/outbox.ts'
import { isUnreachable } from '../../api.ts'
import { TryAgain } from '../../parts/try-again.ts'
import { randomId } from '../../parts/random-id.ts'
import type { JsonStorage, Platform } from '../../platform.ts'

const PAUSE_MS = 600
/** Of a draft that the server does not store: each write is of megabytes, and stops the page. */
const LONG_PAUSE_MS = 5_000
/** Browsers send at most 64 KiB of `keepalive` bodies at a time, and fail with more. */
const KEEPALIVE_BYTES = 30_000
/** Drafts by session that the server does not have yet. */
const UNSAVED = 'unsaved-drafts'
/** What is written, and in a new chat what was chosen for it. */
export type DraftContent = Draft & { choice?: Choice }
export const noDraft: DraftContent = { text: '', files: [] }
/** Of the draft of a new chat in this browser, followed by the client's id of the chat. */
const NEW = 'draft:'
/** Equals no draft. */
const UNKNOWN: DraftContent = { text: '\0', files: [], comments: [] }

const isSame = (a: Draft, b: Draft): boolean =>
  a.text === b.text &&
  a.files.join('\n') === b.files.join('\n') &&
  JSON.stringify(a.comments ?? []) === JSON.stringify(b.comments ?? [])

/** New chats whose drafts this browser has. */
export const chatsWithDraft = ({ keys }: JsonStorage): string[] =>
  keys().flatMap(key => (key.startsWith(NEW) ? [key.slice(NEW.length)] : []))

/** A draft that no page shows: the session of its new chat was created. The page that opens it first saves it there. */
export const moveDraft = (drafts: JsonStorage, chat: string, sessionId: string): void => {
  const draft = drafts.read<Draft | null>(NEW + chat, null)
  if (!draft) return
  drafts.write(UNSAVED, { [sessionId]: draft, ...drafts.read<object>(UNSAVED, {}) })
  drafts.remove(NEW + chat)
}

export type DraftPlace = {
  /** Of the chat; empty until it was created: its draft is then stored in this browser. */
  sessionId: ReadonlySignal<string>
  /** The client's id of the chat. */
  key: string
  /** Whether the server stores drafts of this session. */
  savesDraft?: (id: string) => boolean
}

export class StoredDraft {
  readonly #platform: Platform
  readonly #place: Required<DraftPlace>
  /** The draft as it is written now. */
  readonly #now: () => DraftContent
  #saved: DraftContent = noDraft
  /** The one that was saved last when the draft was taken. */
  #savedBefore: DraftContent | undefined
  /** What this browser has of it, unless another page that shows the chat has stored its own since. */
  #own: Draft | undefined
  /** What the draft will be sent as; see docs/decisions/0003. */
  #messageId = randomId()
  /** The same of the stored draft that was shown, of another device or from before a reload. */
  #shownId: string | undefined
  #request = Promise.resolve()
  readonly #again: TryAgain
  #cancel = () => {}

  constructor(
    platform: Platform,
    { sessionId, key, savesDraft = () => true }: DraftPlace,
    now: () => DraftContent,
  ) {
    this.#platform = platform
    this.#again = new TryAgain(platform.clock)
    this.#place = { sessionId, key: NEW + key, savesDraft }
    this.#now = now
  }

  /** What this browser has of it. A draft that the server does not have is saved again with the next `save`. */
  load(): { draft: DraftContent; isUnsaved: boolean } {
    const id = this.#place.sessionId.peek()
    const { drafts } = this.#platform
    const unsaved = id ? this.#unsaved()[id] : drafts.read(this.#place.key, noDraft)
    const draft = unsaved ?? noDraft
    this.#own = unsaved
    this.adopt(draft)
    const isUnsaved = id !== '' && unsaved !== undefined
    if (isUnsaved) this.#saved = UNKNOWN
    return { draft, isUnsaved }
  }

  /** A stored draft is shown. */
  adopt(draft: DraftContent): void {
    this.#saved = draft
    this.#shownId = draft.client_message_id
    this.#messageId = randomId()
  }

  /** Ids of the message that the draft becomes, and of the stored draft that it began as. */
  names(): { id: string; draft?: string } {
    return { id: this.#messageId, ...(this.#shownId !== undefined && { draft: this.#shownId }) }
  }

  /** It was changed, and is saved after a pause. */
  changed(): void {
    this.#stop()
    const ms = this.#now().text.length > MAX_DRAFT_CHARS ? LONG_PAUSE_MS : PAUSE_MS
    this.#cancel = this.#platform.clock.timer(ms, () => void this.save())
  }

  isSaved = (): boolean =>
    isSame(this.#now(), this.#saved) &&
    JSON.stringify(this.#now().choice) === JSON.stringify(this.#saved.choice)

  async save(): Promise<void> {
    this.#stop()
    const id = this.#place.sessionId.peek()
    const draft = this.#now()
    if (this.isSaved() || !this.#place.savesDraft(id)) return
    // Absent comments stay as they are on the server, so removed ones are named.
    const comments = draft.comments ?? (this.#saved.comments && [])
    this.#saved = draft
    if (!id) return this.#storeNew(draft)
    // In this browser until the server has it: the chat or the tab may be left before that.
    this.#keep(id, draft)
    if (draft.text.length > MAX_DRAFT_CHARS) return
    this.#request = this.#send({ session_id: id, ...draft, ...(comments && { comments }) })
    try {
      await this.#request
      // A newer one of the session is kept.
      if (this.#own === draft) this.#forget(id)
      this.#again.end()
    } catch (error) {
      // It was sent, or changed and saved again.
      if (this.#saved !== draft) return
      this.#saved = UNKNOWN
      // A refusal would be repeated; the next change may end it.
      // The server may be back before this is known to have failed, so its return alone would save nothing.
      if (isUnreachable(error)) this.#again.later(() => void this.save())
    }
  }

  /** Resolves when the request that is under way has ended. */
  whenIdle = (): Promise<void> => this.#request.catch(() => undefined)

  /** It was taken to be sent: what is written from now on is another draft. The stored one stays until `forget`. */
  take(): void {
    this.#messageId = randomId()
    this.#shownId = undefined
    this.#savedBefore = this.#saved
  }

  /** The message is stored elsewhere: the server clears its draft with it, and leaves that of another device. */
  forget(): void {
    // It was saved under another name while it was on its way.
    if (this.#saved !== this.#savedBefore) return void this.save()
    this.#saved = noDraft
    const id = this.#place.sessionId.peek()
    if (id) this.#forget(id)
    else this.#storeNew(noDraft)
  }

  /** The session of a new chat was created: the server stores the draft from now on. */
  begin(): void {
    this.#storeNew(noDraft)
    this.#saved = noDraft
    if (this.isSaved()) return
    // At once: the page may be closed before it is saved.
    const id = this.#place.sessionId.peek()
    this.#keep(id, this.#now())
    this.changed()
  }

  async #send(input: { session_id: string } & Draft): Promise<void> {
    const body = { ...input, client_message_id: this.#messageId }
    // `keepalive` sends the draft even while the tab closes; a longer one is in the browser if that is too soon.
    const keepalive = new Blob([JSON.stringify(body)]).size <= KEEPALIVE_BYTES
    await this.#platform.api('POST /api/session/draft', body, { keepalive })
  }

  /** What was only chosen is not worth keeping. */
  #storeNew(draft: DraftContent): void {
    const { drafts } = this.#platform
    if (!isSame(draft, noDraft)) drafts.write(this.#place.key, draft)
    else if (this.#isOwn(drafts.read<Draft | undefined>(this.#place.key, undefined)))
      drafts.remove(this.#place.key)
    this.#own = draft
  }

  #stop(): void {
    this.#cancel()
    this.#again.stop()
  }

  #unsaved(): Record<string, Draft> {
    return this.#platform.drafts.read<Record<string, Draft>>(UNSAVED, {})
  }

  #isOwn(draft: Draft | undefined): boolean {
    return draft !== undefined && this.#own !== undefined && isSame(draft, this.#own)
  }

  #keep(id: string, draft: DraftContent): void {
    this.#own = draft
    // With the name that the server may have it under: its reply may never be seen.
    const record = { ...draft, client_message_id: this.#messageId }
    this.#platform.drafts.write(UNSAVED, { ...this.#unsaved(), [id]: record })
  }

  #forget(id: string): void {
    const { [id]: draft, ...others } = this.#unsaved()
    if (this.#isOwn(draft)) this.#platform.drafts.write(UNSAVED, others)
  }
}
