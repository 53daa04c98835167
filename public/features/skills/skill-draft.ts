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

export const createSkillDraft = ({ api, toasts, unsaved, open, onSaved }: SkillDraftOptions) => {
  const draft = signal<SkillDraft | null>(null)
  const busy = signal(false)
  const problem = signal('')
  const conflict = signal<DiskVersion | null>(null)

  const setDraft = (next: SkillDraft | null): void => {
    draft.value = next
    if (next) unsaved?.add('skill')
    else unsaved?.delete('skill')
  }
  const discardDraft = (): void => {
    setDraft(null)
    conflict.value = null
    problem.value = ''
  }

  return {
    draft,
    busy,
    problem,
    conflict,
    create(): void {
      const content = t('skills.template', { name: PLACEHOLDER })
      setDraft({ of: '', name: '', category: '', content, version: null })
    },
    edit(): void {
      const skill = open.value
      if (!skill || skill.read_only) return
      const { name, category, content, version } = skill
      setDraft({ of: name, name, category: category ?? '', content, version })
    },
    change(patch: Partial<SkillDraft>): void {
      const now = draft.value
      if (!now) return
      const isRename = patch.name !== undefined && now.of === ''
      const content = isRename ? withName(now.content, now.name, patch.name ?? '') : now.content
      setDraft({ ...now, content, ...patch })
    },
    cancel: discardDraft,
    /** Resolves to the name it is saved under, or null when the server rejects it. */
    async save({ overwrite = false } = {}): Promise<string | null> {
      const now = draft.value
      if (!now || busy.value) return null
      busy.value = true
      problem.value = ''
      const { of, content, category } = now
      const version = overwrite ? (conflict.value?.version ?? null) : now.version
      try {
        const saved = await api('POST /api/skills/save', {
          name: of || now.name,
          content,
          // null removes the category; a missing one keeps it.
          category: category.trim() || null,
          ...(of === '' ? { create: true } : {}),
          ...(version === null ? {} : { expected_version: version }),
        })
        discardDraft()
        toasts.show(t('skills.saved', { name: of || saved.name }))
        await onSaved()
        return saved.name
      } catch (error) {
        if (error instanceof ApiError && error.status === 409 && of !== '')
          conflict.value = diskVersionOf(error.body)
        else problem.value = error instanceof Error ? error.message : String(error)
        return null
      } finally {
        busy.value = false
      }
    },
    /** Replaces the draft with the version on disk. */
    discardMine(): void {
      const theirs = conflict.value
      const now = draft.value
      if (now && theirs?.content !== null && theirs) {
        setDraft({ ...now, content: theirs.content, version: theirs.version })
      }
      conflict.value = null
    },
  }
}
