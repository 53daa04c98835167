/** The agent's notes, their drafts, and conflicts with the files on disk. */
import { signal } from '@preact/signals'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import { EditedFile } from '../../parts/edited-file.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'

export const NOTES = ['memory', 'user', 'soul'] as const
export type NoteName = (typeof NOTES)[number]
export type Note = { text: string; version: string; limit: number; path: string }
type NoteDraft = { text: string; version: string | null }

/** Entries are separated by a line that contains only §. */
export const entriesOf = (text: string): string[] =>
  text
    .split(/\r?\n[ \t]*§[ \t]*\r?\n/)
    .map(entry => entry.trim())
    .filter(Boolean)

export const countOf = (text: string): number => [...text.trim()].length

export const levelOf = (count: number, limit: number): 'low' | 'middle' | 'high' =>
  count > limit ? 'high' : count > limit * 0.8 ? 'middle' : 'low'

export class MemoryState {
  readonly #shell: Shell
  readonly notes = signal<Readonly<Record<NoteName, Note>> | null>(null)
  readonly state = signal<LoadState>('loading')
  readonly edited: Readonly<Record<NoteName, EditedFile<NoteDraft>>>

  constructor(shell: Shell) {
    const edited = (name: NoteName) =>
      new EditedFile<NoteDraft>(`note-${name}`, shell.layout.unsaved)
    this.#shell = shell
    this.edited = { memory: edited('memory'), user: edited('user'), soul: edited('soul') }
  }

  load(): Promise<void> {
    const { api, toasts } = this.#shell
    return runLoad(this.state, toasts, async () => {
      const reply = await api('GET /api/memory')
      this.notes.value = Object.fromEntries(
        NOTES.map(name => [
          name,
          {
            text: reply[name],
            version: reply[`${name}_version`],
            limit: reply[`${name}_char_limit`],
            path: reply[`${name}_path`],
          },
        ]),
      ) as Record<NoteName, Note>
    })
  }

  edit(name: NoteName): void {
    const note = this.notes.value?.[name]
    if (note) this.edited[name].begin({ text: note.text, version: note.version })
  }

  async save(name: NoteName, overwrite = false): Promise<void> {
    const { api, toasts } = this.#shell
    const isSaved = await this.edited[name].save(overwrite, ({ text, version }, theirs) =>
      api('POST /api/memory/write', {
        section: name,
        content: text,
        expected_version: theirs ?? version ?? undefined,
      }),
    )
    if (!isSaved) return
    toasts.show(t('memory.saved', { name: t(`memory.${name}`) }))
    await this.load()
  }

  /** Replaces the draft with what is on disk. */
  discardMine(name: NoteName): void {
    const { content, version } = this.edited[name].conflict.value ?? {}
    if (typeof content === 'string' && version) this.edited[name].begin({ text: content, version })
  }
}

export const memoryOf = lazyState(app => new MemoryState(app.shell))
