/** The form of a skill: the text being written, saving it, and conflicts with the file on disk. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Skill } from '../../../lib/schema/skill.ts'
import { ApiError } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'

export type SkillDraft = {
  /** The name of the saved skill; empty for a new one. */
  of: string
  name: string
  category: string
  content: string
  version: string | null
}

/** What the server has now; null when the skill was deleted. */
export type DiskVersion = { content: string | null; version: string | null }

/** The name as the server stores it. */
const slugOf = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, '-')

/** The version on disk, from the body of a 409. */
export const diskVersionOf = ({ content, version }: ApiError['body']): DiskVersion => ({
  content: typeof content === 'string' ? content : null,
  version: typeof version === 'string' ? version : null,
})

const PLACEHOLDER = 'my-skill'

/** The text with the name in its front matter replaced, unless it was edited there. */
const withName = (content: string, from: string, to: string): string =>
  content.replace(
    new RegExp(`^name: ${slugOf(from) || PLACEHOLDER}$`, 'm'),
    `name: ${slugOf(to) || PLACEHOLDER}`,
  )

export type SkillDraftOptions = Pick<Shell, 'api' | 'toasts'> & {
  unsaved?: Set<string>
  open: ReadonlySignal<Skill | null>
  onSaved: () => Promise<void>
}

export class SkillForm {
  readonly #options: SkillDraftOptions
  readonly draft = signal<SkillDraft | null>(null)
  readonly busy = signal(false)
  readonly problem = signal('')
  readonly conflict = signal<DiskVersion | null>(null)

  constructor(options: SkillDraftOptions) {
    this.#options = options
  }

  readonly #discardDraft = (): void => {
    this.#setDraft(null)
    this.conflict.value = null
    this.problem.value = ''
  }

  readonly create = (): void => {
    const content = t('skills.template', { name: PLACEHOLDER })
    this.#setDraft({ of: '', name: '', category: '', content, version: null })
  }

  readonly edit = (): void => {
    const skill = this.#options.open.value
    if (!skill || skill.read_only) return
    const { name, category, content, version } = skill
    this.#setDraft({ of: name, name, category: category ?? '', content, version })
  }

  readonly change = (patch: Partial<SkillDraft>): void => {
    const now = this.draft.value
    if (!now) return
    const isRename = patch.name !== undefined && now.of === ''
    const content = isRename ? withName(now.content, now.name, patch.name ?? '') : now.content
    this.#setDraft({ ...now, content, ...patch })
  }

  /** Resolves to the name it is saved under, or null when the server rejects it. */
  readonly save = async ({ overwrite = false } = {}): Promise<string | null> => {
    const { api, toasts, onSaved } = this.#options
    const now = this.draft.value
    if (!now || this.busy.value) return null
    this.busy.value = true
    this.problem.value = ''
    const { of, content, category } = now
    const version = overwrite ? (this.conflict.value?.version ?? null) : now.version
    try {
      const saved = await api('POST /api/skills/save', {
        name: of || now.name,
        content,
        // null removes the category; a missing one keeps it.
        category: category.trim() || null,
        ...(of === '' ? { create: true } : {}),
        ...(version === null ? {} : { expected_version: version }),
      })
      this.#discardDraft()
      toasts.show(t('skills.saved', { name: of || saved.name }))
      await onSaved()
      return saved.name
    } catch (error) {
      if (error instanceof ApiError && error.status === 409 && of !== '')
        this.conflict.value = diskVersionOf(error.body)
      else this.problem.value = error instanceof Error ? error.message : String(error)
      return null
    } finally {
      this.busy.value = false
    }
  }

  /** Replaces the draft with the version on disk. */
  readonly discardMine = (): void => {
    const theirs = this.conflict.value
    const now = this.draft.value
    if (now && theirs?.content !== null && theirs) {
      this.#setDraft({ ...now, content: theirs.content, version: theirs.version })
    }
    this.conflict.value = null
  }

  readonly cancel = this.#discardDraft

  #setDraft(next: SkillDraft | null): void {
    const { unsaved } = this.#options
    this.draft.value = next
    if (next) unsaved?.add('skill')
    else unsaved?.delete('skill')
  }
}
