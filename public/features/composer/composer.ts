/** Draft of the composer: text, files, and comments on diffs, saved per session on the server. */
import type { DiffComment } from '../../../lib/base/comment-text.ts'
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Draft } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'
import { type Choice, noChoice } from '../messages/outbox.ts'
import { type DraftPlace, noDraft, StoredDraft, type DraftContent } from './stored-draft.ts'

/** Of two drafts, the second was begun after the first was taken. */
const joined = (first: DraftContent, second: DraftContent): DraftContent => {
  const comments = [...(first.comments ?? []), ...(second.comments ?? [])]
  return {
    ...second,
    ...first,
    text: [first.text, second.text].filter(Boolean).join('\n\n'),
    files: [...new Set([...first.files, ...second.files])],
    ...(comments.length > 0 && { comments }),
  }
}

export type ComposerOptions = DraftPlace & {
  /** Whether the message with this id is on its way: what it was written in is a draft no more. */
  isSending?: (id: string) => boolean
}

export class Composer {
  readonly #options: ComposerOptions
  readonly text = signal('')
  readonly files = signal<readonly string[]>([])
  readonly comments = signal<readonly DiffComment[]>([])
  readonly #choice = signal<Choice>(noChoice)
  /** Whether the text was edited since the chat was opened; a draft from the server must not overwrite it. */
  #touched = false
  #isLeft = false
  /** The beginning of the text that was put back. */
  #restored = ''
  #recallAt = -1
  /** On its way, and stored nowhere else: it comes back when the page is left before that is known. */
  readonly #inFlight = new Set<DraftContent>()
  readonly #storedDraft: StoredDraft
  readonly #draft: DraftContent
  readonly #isUnsaved: boolean
  /** For a session that does not exist yet. */
  readonly choice: ReadonlySignal<Choice> = this.#choice
  readonly empty = computed(
    () => !/\S/.test(this.text.value) && this.files.value.length + this.comments.value.length === 0,
  )

  constructor(platform: Platform, options: ComposerOptions) {
    this.#options = options
    this.#storedDraft = new StoredDraft(platform, options, this.#withInFlight)
    const { draft, isUnsaved } = this.#storedDraft.load()
    this.#draft = draft
    this.#isUnsaved = isUnsaved
    this.#put(this.#draft)
    this.#choice.value = this.#draft.choice ?? noChoice
    if (this.#isUnsaved) this.#changed()
  }

  readonly #withInFlight = (): DraftContent =>
    [...this.#inFlight].reduceRight((rest, draft) => joined(draft, rest), this.#now())

  choose(value: Choice): void {
    this.#choice.value = value
    this.#storedDraft.changed()
  }

  /** The session of a new chat was created. */
  begin(isOurs: boolean): void {
    // The other page has sent it, or saves it.
    if (!isOurs && !this.#touched) this.#put(noDraft)
    this.#storedDraft.begin()
    // The server has no draft yet, so the one that it sends must not overwrite this.
    if (!this.#storedDraft.isSaved()) this.#touched = true
  }

  /** Applies the server's draft unless the text has been edited since. */
  applyServerDraft(draft: Draft): void {
    const { isSending = () => false } = this.#options
    if (this.#touched) return
    const { client_message_id: id } = draft
    const visible = id !== undefined && isSending(id) ? noDraft : draft
    this.#put(visible)
    this.#storedDraft.adopt(visible)
  }

  /** A pane shows the chat. */
  enter(): void {
    this.#isLeft = false
  }

  /** No pane shows the chat: what another device writes meanwhile is shown when it is opened again. */
  async leave(): Promise<void> {
    this.#isLeft = true
    await this.#storedDraft.save()
    // One that was on its way.
    await this.#storedDraft.whenIdle()
    if (this.#isLeft && this.#inFlight.size === 0 && this.#storedDraft.isSaved())
      this.#touched = false
  }

  edit(value: string): void {
    this.text.value = value
    this.#recallAt = -1
    this.#changed()
  }

  addFile(path: string): void {
    if (!this.files.value.includes(path)) this.files.value = [...this.files.value, path]
    this.#changed()
  }

  removeFile(path: string): void {
    this.files.value = this.files.value.filter(file => file !== path)
    this.#changed()
  }

  addComment(comment: DiffComment): void {
    this.comments.value = [...this.comments.value, comment]
    this.#changed()
  }

  /** Replaces a comment by these; none: it is removed. */
  changeComment(comment: DiffComment, ...others: DiffComment[]): void {
    this.comments.value = this.comments.value.flatMap(each => (each === comment ? others : each))
    this.#changed()
  }

  /** Earlier prompts, newest last; `back` is +1 for older, −1 for newer. False when there is none. */
  recall(prompts: readonly string[], back: 1 | -1): boolean {
    const at = this.#recallAt + back
    if (at < -1 || at >= prompts.length) return false
    this.text.value = at === -1 ? '' : prompts[prompts.length - 1 - at]!
    this.#recallAt = at
    this.#changed()
    return true
  }

  isRecalling(): boolean {
    return this.#recallAt >= 0
  }

  /** Ids of the message that the draft becomes, and of the stored draft that it began as. */
  names() {
    return this.#storedDraft.names()
  }

  /** This is about to be put back: it is stored with the draft until then. */
  hold(draft: DraftContent): void {
    this.#inFlight.add(draft)
    void this.#storedDraft.save()
  }

  /** What was taken is stored elsewhere: as a message, which takes the place of its draft, or as what a command did. */
  forget(draft: DraftContent, isMessage: boolean): void {
    this.#inFlight.delete(draft)
    if (isMessage) this.#storedDraft.forget()
    else void this.#storedDraft.save()
  }

  /** Returns the draft and clears the composer, to send it. It stays stored until `forget`. */
  takeDraft(): DraftContent {
    const draft = this.#now()
    this.text.value = ''
    this.#restored = ''
    this.files.value = []
    this.comments.value = []
    this.#recallAt = -1
    this.#touched = true
    this.#storedDraft.take()
    this.#inFlight.add(draft)
    // What was typed just before is stored nowhere yet, and a command or guidance is no message.
    this.#storedDraft.changed()
    return draft
  }

  /** Puts an unsent draft back, before text written since. `original`: what was stored for it until now. */
  restoreDraft(draft: DraftContent, original = draft): void {
    this.#inFlight.delete(original)
    if (draft.choice && !this.#hasChoice()) this.#choice.value = draft.choice
    // Behind what was put back before: messages are refused in the order in which they were written.
    const before = this.text.value.startsWith(this.#restored) ? this.#restored : ''
    const rest = this.text.value.slice(before.length).replace(/^\n+/, '')
    this.#restored = [before, draft.text].filter(Boolean).join('\n\n')
    this.text.value = [this.#restored, rest].filter(Boolean).join('\n\n')
    const all = joined(draft, this.#now())
    this.files.value = all.files
    this.comments.value = all.comments ?? []
    this.#changed()
    // At once: nothing else has it any more.
    void this.#storedDraft.save()
  }

  save(): Promise<void> {
    return this.#storedDraft.save()
  }

  #hasChoice(): boolean {
    return Object.values(this.#choice.value).some(Boolean)
  }

  #now(): DraftContent {
    return {
      text: this.text.value,
      files: [...this.files.value],
      ...(this.comments.value.length > 0 && { comments: [...this.comments.value] }),
      ...(!this.#options.sessionId.peek() && this.#hasChoice() && { choice: this.#choice.value }),
    }
  }

  #changed(): void {
    this.#touched = true
    this.#storedDraft.changed()
  }

  #put(draft: DraftContent): void {
    this.text.value = draft.text
    this.files.value = draft.files
    this.comments.value = draft.comments ?? []
    this.#recallAt = -1
  }
}
