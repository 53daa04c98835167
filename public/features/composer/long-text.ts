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

export type LongTexts = {
  longText: ReadonlySignal<LongText | null>
  /** For pasted and dropped text. True if it was attached, so that it must not enter the field. */
  onPaste: (text: string) => boolean
  /** Moves the pasted text, or all of a message that is too long, into an attachment. */
  attachText: () => void
  /** Removes the attachment; `insert` puts its text into the field. */
  insertText: (insert: (text: string) => void) => void
  /** Takes back the last attachment if nothing was typed since; false otherwise. */
  undoAttach: () => boolean
  dismissText: () => void
}

/** What became an attachment, and the message before and after that. */
type Attached = { id: number; text: string; before: string; after: string }

export type LongTextOptions = {
  composer: Pick<Composer, 'text' | 'edit'>
  /** Attaches a file; returns its number. */
  add: (file: File) => number
  /** Whether it is among the attachments of the message, and not failed. */
  isAttached: (id: number) => boolean
  remove: (id: number) => void
}

export const createLongTexts = (options: LongTextOptions): LongTexts => {
  const { composer, add, isAttached, remove } = options
  const pasted = signal<string | null>(null)
  const attached = signal<Attached | null>(null)

  const current = (): Attached | null => {
    const last = attached.value
    return last && isAttached(last.id) ? last : null
  }

  const attach = (text: string, after: string): void => {
    const before = composer.text.value
    pasted.value = null
    if (after !== before) composer.edit(after)
    const id = add(toPastedFile(text))
    attached.value = { id, text, before, after }
  }

  return {
    longText: computed(() => {
      const last = current()
      if (last) {
        const chars = last.text.length
        return { kind: 'attached', chars, canInsert: chars <= MAX_FIELD_CHARS }
      }
      const { value: text } = composer.text
      if (text.length > MAX_DRAFT_CHARS) return { kind: 'long', chars: text.length }
      const part = pasted.value
      if (part === null || !text.includes(part)) return null
      return { kind: 'pasted', chars: part.length }
    }),
    onPaste(given) {
      const text = given.includes('\r') ? given.replace(/\r\n?/g, '\n') : given
      if (text.length > ATTACHED_CHARS) {
        attach(text, composer.text.value)
        return true
      }
      attached.value = null
      pasted.value = text.length > OFFERED_CHARS ? text : null
      return false
    },
    attachText() {
      const { value: text } = composer.text
      if (text.length > MAX_DRAFT_CHARS) attach(text, '')
      else if (pasted.value !== null)
        attach(
          pasted.value,
          text.replace(pasted.value, () => ''),
        )
    },
    insertText(insert) {
      const last = current()
      if (!last) return
      attached.value = null
      remove(last.id)
      insert(last.text)
      pasted.value = last.text
    },
    undoAttach() {
      const last = current()
      if (!last || composer.text.value !== last.after) return false
      attached.value = null
      remove(last.id)
      if (last.before !== last.after) composer.edit(last.before)
      return true
    },
    dismissText() {
      pasted.value = null
      attached.value = null
    },
  }
}
