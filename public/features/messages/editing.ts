/** The messages of the person that are being edited, each with a text of its own, which is kept while another chat is shown. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { lineOf, type TranscriptState } from './chat-reducer.ts'
import type { ChatState } from './transcript.ts'

/** A long pasted text that became a file. `chars`: absent after it waited to be sent. */
export type PastedFile = { name: string; chars?: number }

export type Editing = {
  id: string
  text: string
  files: readonly PastedFile[]
  /** Number of files that are being uploaded. */
  uploads: number
  isSending?: boolean
}

export const editOf = (edits: readonly Editing[], id: string): Editing | undefined =>
  edits.find(edit => edit.id === id)

export const withEdit = (edits: readonly Editing[], edit: Editing): readonly Editing[] =>
  editOf(edits, edit.id) ? edits.map(each => (each.id === edit.id ? edit : each)) : [...edits, edit]

export const withoutEdit = (edits: readonly Editing[], id: string): readonly Editing[] =>
  edits.filter(edit => edit.id !== id)

export type EditingOptions = {
  chat: ReadonlySignal<TranscriptState>
  state: ReadonlySignal<ChatState>
  /** The message is not shown any more. */
  onEditedGone: (editing: Editing) => void
}

/** The message is shown, or will be when it is loaded. */
const isThere = ({ messages, before }: TranscriptState, id: string): boolean =>
  messages.some(message => message.id === id) ||
  (before > 0 && messages[0] !== undefined && lineOf(id) < lineOf(messages[0].id))

export class EditingState {
  readonly #options: EditingOptions
  readonly editing: Signal<readonly Editing[]> = signal([])

  constructor(options: EditingOptions) {
    this.#options = options
  }

  /** After what may have removed the message: another device, or a command. */
  readonly checkEditing = (): void => {
    const { state, chat, onEditedGone } = this.#options
    if (state.value !== 'ready') return
    for (const edit of this.editing.value) {
      if (edit.isSending || isThere(chat.value, edit.id)) continue
      this.editing.value = withoutEdit(this.editing.value, edit.id)
      onEditedGone(edit)
    }
  }
}
