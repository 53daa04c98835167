/** The open file of a skill, its draft, and conflicts with the file on disk. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { LinkedFile, Skill } from '../../../lib/schema/skill.ts'
import { ApiError } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import { type DiskVersion, diskVersionOf } from './skill-draft.ts'
import { t } from './strings.ts'

export type FileDraft = { skill: string; path: string; content: string; version: string }
type SkillFileOptions = Pick<Shell, 'api' | 'toasts'> & { unsaved?: Set<string> | undefined }

export class SkillFile {
  readonly #options: SkillFileOptions
  readonly #skill: ReadonlySignal<Skill | null>
  readonly open = signal<LinkedFile | null>(null)
  /** Kept while another skill is open. */
  readonly draft = signal<FileDraft | null>(null)
  readonly busy = signal(false)
  readonly problem = signal('')
  readonly conflict = signal<DiskVersion | null>(null)

  constructor(options: SkillFileOptions, skill: ReadonlySignal<Skill | null>) {
    this.#options = options
    this.#skill = skill
  }

  readonly close = (): void => {
    this.open.value = null
  }

  readonly edit = (): void => {
    const { toasts } = this.#options
    const file = this.open.value
    const of = this.#skill.value
    if (!file || !of || of.read_only || file.is_binary) return
    if (this.draft.value) {
      toasts.show(t('skills.file.other', { name: this.draft.value.path }), { kind: 'error' })
      return
    }
    const { path, content, version } = file
    this.#setDraft({ skill: of.name, path, content, version })
  }

  readonly cancel = (): void => this.#setDraft(null)

  /** Replaces the draft with the version on disk. */
  readonly discardMine = (): void => {
    const { content, version } = this.conflict.value ?? {}
    const now = this.draft.value
    if (now && typeof content === 'string' && typeof version === 'string')
      this.#setDraft({ ...now, content, version })
  }

  async read(path: string): Promise<void> {
    const { api, toasts } = this.#options
    const of = this.#skill.value
    if (!of) return
    try {
      const found = await api('GET /api/skills/content', { name: of.name, file: path })
      if (this.#skill.value === of && 'is_binary' in found) this.open.value = found
    } catch (error) {
      toasts.showError(error)
    }
  }

  change(content: string): void {
    if (this.draft.value) this.draft.value = { ...this.draft.value, content }
  }

  async save({ overwrite = false } = {}): Promise<boolean> {
    const { api, toasts } = this.#options
    const now = this.draft.value
    if (!now || this.busy.value) return false
    this.busy.value = true
    this.problem.value = ''
    // Without a version on disk the file was deleted: nothing to compare with.
    const version = overwrite ? (this.conflict.value?.version ?? null) : now.version
    try {
      await api('POST /api/skills/save', {
        name: now.skill,
        file: now.path,
        content: now.content,
        ...(version === null ? {} : { expected_version: version }),
      })
      this.#setDraft(null)
      toasts.show(t('skills.saved', { name: now.path }))
      if (this.#skill.value?.name === now.skill) await this.read(now.path)
      return true
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) {
        this.conflict.value = diskVersionOf(error.body)
      } else this.problem.value = error instanceof Error ? error.message : String(error)
      return false
    } finally {
      this.busy.value = false
    }
  }

  #setDraft(next: FileDraft | null): void {
    const { unsaved } = this.#options
    this.draft.value = next
    this.conflict.value = null
    this.problem.value = ''
    if (next) unsaved?.add('skill-file')
    else unsaved?.delete('skill-file')
  }
}
