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

export const createMemory = ({
  api,
  toasts,
  unsaved,
}: Pick<Shell, 'api' | 'toasts'> & { unsaved?: Set<string> }) => {
  const notes = signal<Readonly<Record<NoteName, Note>> | null>(null)
  const state = signal<Loading>('loading')
  const drafts = signal<Readonly<Partial<Record<NoteName, NoteDraft>>>>({})
  const conflicts = signal<Readonly<Partial<Record<NoteName, NoteConflict>>>>({})

  const load = async (): Promise<void> => {
    try {
      const reply = await api('GET /api/memory')
      notes.value = Object.fromEntries(
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
      state.value = 'ready'
    } catch (error) {
      if (!notes.value) state.value = 'failed'
      toasts.showError(error)
    }
  }

  const setDraft = (name: NoteName, draft: NoteDraft | null): void => {
    const { [name]: _, ...others } = drafts.value
    drafts.value = draft ? { ...others, [name]: draft } : others
    if (draft) unsaved?.add(`note-${name}`)
    else unsaved?.delete(`note-${name}`)
  }
  const setConflict = (name: NoteName, conflict: NoteConflict | null): void => {
    const { [name]: _, ...others } = conflicts.value
    conflicts.value = conflict ? { ...others, [name]: conflict } : others
  }
  const discardDraft = (name: NoteName): void => {
    setDraft(name, null)
    setConflict(name, null)
  }

  return {
    notes,
    state,
    drafts,
    conflicts,
    load,
    edit(name: NoteName): void {
      const note = notes.value?.[name]
      if (note) setDraft(name, { text: note.text, version: note.version, busy: false, problem: '' })
    },
    change(name: NoteName, text: string): void {
      const draft = drafts.value[name]
      if (draft) setDraft(name, { ...draft, text })
    },
    cancel: discardDraft,
    async save(name: NoteName, { overwrite = false } = {}): Promise<boolean> {
      const draft = drafts.value[name]
      if (!draft || draft.busy) return false
      setDraft(name, { ...draft, busy: true, problem: '' })
      const version = (overwrite && conflicts.value[name]?.version) || draft.version
      try {
        await api('POST /api/memory/write', {
          section: name,
          content: draft.text,
          expected_version: version,
        })
        discardDraft(name)
        toasts.show(t('memory.saved', { name: t(`memory.${name}`) }))
        await load()
        return true
      } catch (error) {
        const { content, version: at } = error instanceof ApiError ? error.body : {}
        if (typeof content === 'string' && typeof at === 'string')
          setConflict(name, { text: content, version: at })
        const problem = error instanceof Error ? error.message : String(error)
        setDraft(name, { ...draft, busy: false, problem: typeof at === 'string' ? '' : problem })
        return false
      }
    },
    discardMine(name: NoteName): void {
      const theirs = conflicts.value[name]
      if (theirs) setDraft(name, { ...theirs, busy: false, problem: '' })
      setConflict(name, null)
    },
  }
}

export type MemoryState = ReturnType<typeof createMemory>

export const memoryOf = lazyState(app =>
  createMemory({ api: app.shell.api, toasts: app.shell.toasts, unsaved: app.shell.layout.unsaved }),
)
