/** Long texts of the composer: pasted ones become attachments, or are offered as one. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { MAX_DRAFT_CHARS } from '../../../lib/base/draft-limit.ts'
import type { Composer } from './composer.ts'

/** Longer pasted text is offered as an attachment. */
const OFFERED_CHARS = 4_000
/** Longer pasted text is attached at once: a browser lays out a field as a whole with each key. */
export const ATTACHED_CHARS = 20_000

export const toPastedFile = (text: string): File =>
  new File([text], 'pasted-text.txt', { type: 'text/plain' })
/** Longer text is not put into the field: a browser takes more than a tenth of a second for each key in it. */
const MAX_FIELD_CHARS = 200_000

/** Lengths in UTF-16 code units. */
export type LongText =
  /** A pasted text that is part of the message. */
  | { kind: 'pasted'; chars: number }
  /** It became an attachment, and may be put into the message instead. */
  | { kind: 'attached'; chars: number; canInsert: boolean }
  /** The message is too long for a draft on the server. */
  | { kind: 'long'; chars: number }

/** What became an attachment, and the message before and after that. */
type Attached = { id: number; text: string; before: string; after: string }

export type LongTextOptions = {
  composer: Composer
  /** Attaches a file; returns its number. */
  add: (file: File) => number
  /** Whether it is among the attachments of the message, and not failed. */
  isAttached: (id: number) => boolean
  remove: (id: number) => void
}

export class LongTexts {
  readonly #options: LongTextOptions
  readonly #pasted = signal<string | null>(null)
  readonly #attached = signal<Attached | null>(null)
  readonly longText: ReadonlySignal<LongText | null>

  constructor(options: LongTextOptions) {
    const { composer } = options
    this.#options = options
    this.longText = computed(() => {
      const last = this.#current()
      if (last) {
        const chars = last.text.length
        return { kind: 'attached', chars, canInsert: chars <= MAX_FIELD_CHARS }
      }
      const { value: text } = composer.text
      if (text.length > MAX_DRAFT_CHARS) return { kind: 'long', chars: text.length }
      const part = this.#pasted.value
      if (part === null || !text.includes(part)) return null
      return { kind: 'pasted', chars: part.length }
    })
  }

  /** For pasted and dropped text. True if it was attached, so that it must not enter the field. */
  readonly onPaste = (raw: string): boolean => {
    const text = raw.includes('\r') ? raw.replace(/\r\n?/g, '\n') : raw
    if (text.length > ATTACHED_CHARS) {
      this.#attach(text, this.#options.composer.text.value)
      return true
    }
    this.#attached.value = null
    this.#pasted.value = text.length > OFFERED_CHARS ? text : null
    return false
  }

  /** Moves the pasted text, or all of a message that is too long, into an attachment. */
  readonly attachText = (): void => {
    const { value: text } = this.#options.composer.text
    if (text.length > MAX_DRAFT_CHARS) this.#attach(text, '')
    else if (this.#pasted.value !== null)
      this.#attach(
        this.#pasted.value,
        text.replace(this.#pasted.value, () => ''),
      )
  }

  /** Removes the attachment; `insert` puts its text into the field. */
  readonly insertText = (insert: (text: string) => void): void => {
    const last = this.#current()
    if (!last) return
    this.#attached.value = null
    this.#options.remove(last.id)
    insert(last.text)
    this.#pasted.value = last.text
  }

  /** Takes back the last attachment if nothing was typed since; false otherwise. */
  readonly undoAttach = (): boolean => {
    const { composer, remove } = this.#options
    const last = this.#current()
    if (!last || composer.text.value !== last.after) return false
    this.#attached.value = null
    remove(last.id)
    if (last.before !== last.after) composer.edit(last.before)
    return true
  }

  readonly dismissText = (): void => {
    this.#pasted.value = null
    this.#attached.value = null
  }

  #current(): Attached | null {
    const last = this.#attached.value
    return last && this.#options.isAttached(last.id) ? last : null
  }

  #attach(text: string, after: string): void {
    const { composer, add } = this.#options
    const before = composer.text.value
    this.#pasted.value = null
    if (after !== before) composer.edit(after)
    const id = add(toPastedFile(text))
    this.#attached.value = { id, text, before, after }
  }
}
