/** A file of the profile that is being edited: its draft, saving it, and what another program has made of it meanwhile. */
import { type Signal, signal } from '@preact/signals'
import { ApiError } from '../api.ts'

/** What is on disk now; null when the file was deleted. */
export type DiskVersion = { content: string | null; version: string | null }

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const CONFLICTS = [
  'file_changed',
  'file_not_found',
  'note_changed',
  'skill_changed',
  'skill_deleted',
]

const conflictOf = (error: unknown): DiskVersion | null =>
  error instanceof ApiError && error.status === 409 && CONFLICTS.includes(String(error.body.code))
    ? { content: textOrNull(error.body.content), version: textOrNull(error.body.version) }
    : null

/** `version` of a draft: the one that it was made from; null for a new file. */
export class EditedFile<D extends { version: string | null }> {
  /** Kept while something else is shown. */
  readonly draft: Signal<D | null> = signal(null)
  readonly busy: Signal<boolean> = signal(false)
  readonly problem: Signal<string> = signal('')
  readonly conflict: Signal<DiskVersion | null> = signal(null)
  readonly #name: string
  readonly #unsaved: Set<string>

  /** `name`: in the set of what is not saved. */
  constructor(name: string, unsaved: Set<string>) {
    this.#name = name
    this.#unsaved = unsaved
  }

  begin(draft: D | null): void {
    this.draft.value = draft
    this.conflict.value = null
    this.problem.value = ''
    if (draft) this.#unsaved.add(this.#name)
    else this.#unsaved.delete(this.#name)
  }

  change(patch: Partial<D>): void {
    if (this.draft.value) this.draft.value = { ...this.draft.value, ...patch }
  }

  cancel(): void {
    this.begin(null)
  }

  /** Resolves to the reply of `send`, or null when the server rejects it. Its `version` is the one to be replaced; null: whatever is there. */
  async save<R>(
    overwrite: boolean,
    send: (draft: D, version: string | null) => Promise<R>,
  ): Promise<R | null> {
    const draft = this.draft.value
    if (!draft || this.busy.value) return null
    this.busy.value = true
    this.problem.value = ''
    try {
      // Without a version on disk the file was deleted: nothing to compare with.
      const version = overwrite ? (this.conflict.value?.version ?? null) : draft.version
      const reply = await send(draft, version)
      this.begin(null)
      return reply
    } catch (error) {
      const conflict = conflictOf(error)
      if (conflict) this.conflict.value = conflict
      else this.problem.value = error instanceof Error ? error.message : String(error)
      return null
    } finally {
      this.busy.value = false
    }
  }
}
