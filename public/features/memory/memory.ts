/** The agent's notes, their drafts, and conflicts with the files on disk. */
import { signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import type { Loading } from '../skills/skills.ts'

export const NOTES = ['memory', 'user', 'soul'] as const
export type NoteName = (typeof NOTES)[number]
export type Note = { text: string; version: string; limit: number; path: string }
export type NoteDraft = { text: string; version: string; busy: boolean; problem: string }
export type NoteConflict = { text: string; version: string }

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
  readonly #shell: Pick<Shell, 'api' | 'toasts'> & { unsaved?: Set<string> }
  readonly notes = signal<Readonly<Record<NoteName, Note>> | null>(null)
  readonly state = signal<Loading>('loading')
  readonly drafts = signal<Readonly<Partial<Record<NoteName, NoteDraft>>>>({})
  readonly conflicts = signal<Readonly<Partial<Record<NoteName, NoteConflict>>>>({})

  constructor(shell: Pick<Shell, 'api' | 'toasts'> & { unsaved?: Set<string> }) {
    this.#shell = shell
  }

  readonly #discardDraft = (name: NoteName): void => {
    this.#setDraft(name, null)
    this.#setConflict(name, null)
  }

  async load(): Promise<void> {
    const { api, toasts } = this.#shell
    try {
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
      this.state.value = 'ready'
    } catch (error) {
      if (!this.notes.value) this.state.value = 'failed'
      toasts.showError(error)
    }
  }

  edit(name: NoteName): void {
    const note = this.notes.value?.[name]
    if (note)
      this.#setDraft(name, { text: note.text, version: note.version, busy: false, problem: '' })
  }

  change(name: NoteName, text: string): void {
    const draft = this.drafts.value[name]
    if (draft) this.#setDraft(name, { ...draft, text })
  }

  readonly cancel = this.#discardDraft

  async save(name: NoteName, { overwrite = false } = {}): Promise<boolean> {
    const { api, toasts } = this.#shell
    const draft = this.drafts.value[name]
    if (!draft || draft.busy) return false
    this.#setDraft(name, { ...draft, busy: true, problem: '' })
    const version = (overwrite && this.conflicts.value[name]?.version) || draft.version
    try {
      await api('POST /api/memory/write', {
        section: name,
        content: draft.text,
        expected_version: version,
      })
      this.#discardDraft(name)
      toasts.show(t('memory.saved', { name: t(`memory.${name}`) }))
      await this.load()
      return true
    } catch (error) {
      const { content, version: at } = error instanceof ApiError ? error.body : {}
      if (typeof content === 'string' && typeof at === 'string')
        this.#setConflict(name, { text: content, version: at })
      const problem = error instanceof Error ? error.message : String(error)
      this.#setDraft(name, {
        ...draft,
        busy: false,
        problem: typeof at === 'string' ? '' : problem,
      })
      return false
    }
  }

  discardMine(name: NoteName): void {
    const theirs = this.conflicts.value[name]
    if (theirs) this.#setDraft(name, { ...theirs, busy: false, problem: '' })
    this.#setConflict(name, null)
  }

  #setDraft(name: NoteName, draft: NoteDraft | null): void {
    const { unsaved } = this.#shell
    const { [name]: _, ...others } = this.drafts.value
    this.drafts.value = draft ? { ...others, [name]: draft } : others
    if (draft) unsaved?.add(`note-${name}`)
    else unsaved?.delete(`note-${name}`)
  }

  #setConflict(name: NoteName, conflict: NoteConflict | null): void {
    const { [name]: _, ...others } = this.conflicts.value
    this.conflicts.value = conflict ? { ...others, [name]: conflict } : others
  }
}

export const memoryOf = lazyState(
  app =>
    new MemoryState({
      api: app.shell.api,
      toasts: app.shell.toasts,
      unsaved: app.shell.layout.unsaved,
    }),
)
