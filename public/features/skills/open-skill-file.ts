/** The open file of a skill, its draft, and conflicts with the file on disk. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { LinkedFile, Skill } from '../../../lib/schema/skill.ts'
import { ApiError } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import { type DiskVersion, diskVersionOf } from './skill-draft.ts'
import { t } from './strings.ts'

export type FileDraft = { skill: string; path: string; content: string; version: string }
type SkillFileOptions = Pick<Shell, 'api' | 'toasts'> & { unsaved?: Set<string> | undefined }

export const createSkillFile = (
  { api, toasts, unsaved }: SkillFileOptions,
  skill: ReadonlySignal<Skill | null>,
) => {
  const open = signal<LinkedFile | null>(null)
  /** Kept while another skill is open. */
  const draft = signal<FileDraft | null>(null)
  const busy = signal(false)
  const problem = signal('')
  const conflict = signal<DiskVersion | null>(null)

  const setDraft = (next: FileDraft | null): void => {
    draft.value = next
    conflict.value = null
    problem.value = ''
    if (next) unsaved?.add('skill-file')
    else unsaved?.delete('skill-file')
  }
  const read = async (path: string): Promise<void> => {
    const of = skill.value
    if (!of) return
    try {
      const found = await api('GET /api/skills/content', { name: of.name, file: path })
      if (skill.value === of && 'is_binary' in found) open.value = found
    } catch (error) {
      toasts.showError(error)
    }
  }

  return {
    open,
    draft,
    busy,
    problem,
    conflict,
    read,
    close(): void {
      open.value = null
    },
    edit(): void {
      const file = open.value
      const of = skill.value
      if (!file || !of || of.read_only || file.is_binary) return
      if (draft.value) {
        toasts.show(t('skills.file.other', { name: draft.value.path }), { kind: 'error' })
        return
      }
      const { path, content, version } = file
      setDraft({ skill: of.name, path, content, version })
    },
    change(content: string): void {
      if (draft.value) draft.value = { ...draft.value, content }
    },
    cancel: (): void => setDraft(null),
    async save({ overwrite = false } = {}): Promise<boolean> {
      const now = draft.value
      if (!now || busy.value) return false
      busy.value = true
      problem.value = ''
      // Without a version on disk the file was deleted: nothing to compare with.
      const version = overwrite ? (conflict.value?.version ?? null) : now.version
      try {
        await api('POST /api/skills/save', {
          name: now.skill,
          file: now.path,
          content: now.content,
          ...(version === null ? {} : { expected_version: version }),
        })
        setDraft(null)
        toasts.show(t('skills.saved', { name: now.path }))
        if (skill.value?.name === now.skill) await read(now.path)
        return true
      } catch (error) {
        if (error instanceof ApiError && error.status === 409) {
          conflict.value = diskVersionOf(error.body)
        } else problem.value = error instanceof Error ? error.message : String(error)
        return false
      } finally {
        busy.value = false
      }
    },
    /** Replaces the draft with the version on disk. */
    discardMine(): void {
      const { content, version } = conflict.value ?? {}
      const now = draft.value
      if (now && typeof content === 'string' && typeof version === 'string')
        setDraft({ ...now, content, version })
    },
  }
}

export type SkillFile = ReturnType<typeof createSkillFile>
