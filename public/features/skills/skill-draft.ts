/** What is edited of skills: the text of one, and one file beside it. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { LinkedFile, Skill } from '../../../lib/schema/skill.ts'
import { EditedFile } from '../../parts/edited-file.ts'
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

/** The name as the server stores it. */
const slugOf = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, '-')

const PLACEHOLDER = 'my-skill'

/** The text with the name in its front matter replaced, unless it was edited there. */
const withName = (content: string, from: string, to: string): string =>
  content.replace(
    new RegExp(`^name: ${slugOf(from) || PLACEHOLDER}$`, 'm'),
    `name: ${slugOf(to) || PLACEHOLDER}`,
  )

/** Replaces the draft with what is on disk. */
const discardMine = <D extends { content: string; version: string | null }>(
  file: EditedFile<D>,
): void => {
  const { content, version } = file.conflict.value ?? {}
  const now = file.draft.value
  if (now && typeof content === 'string' && version) file.begin({ ...now, content, version })
}

const descriptionOf = (content: string): string =>
  /^description:(.*)$/m.exec(content)?.[1]?.trim() ?? ''

/** Every prompt has the description of each skill: that of the template says nothing. */
export const isDescribed = ({ content }: SkillDraft): boolean =>
  descriptionOf(content) !== descriptionOf(t('skills.template', { name: PLACEHOLDER }))

export class SkillForm extends EditedFile<SkillDraft> {
  readonly #shell: Shell
  readonly #onSaved: () => Promise<void>

  constructor(shell: Shell, onSaved: () => Promise<void>) {
    super('skill', shell.layout.unsaved)
    this.#shell = shell
    this.#onSaved = onSaved
  }

  create(name = '', content = t('skills.template', { name: PLACEHOLDER })): void {
    this.begin({ of: '', name, category: '', content, version: null })
  }

  edit(skill: Skill): void {
    const { name, category, content, version } = skill
    this.begin({ of: name, name, category: category ?? '', content, version })
  }

  rename(name: string): void {
    const now = this.draft.value
    if (now) this.change({ name, content: withName(now.content, now.name, name) })
  }

  /** Resolves to the name it is saved under, or null when the server rejects it. */
  async saveSkill(overwrite = false): Promise<string | null> {
    const { api, toasts } = this.#shell
    const result = await this.save(overwrite, async ({ of, name, content, category }, version) => {
      const reply = await api('POST /api/skills/save', {
        name: of || name,
        content,
        // null removes the category; a missing one keeps it.
        category: category.trim() || null,
        ...(of === '' ? { create: true } : {}),
        ...(version === null ? {} : { expected_version: version }),
      })
      toasts.show(t('skills.saved', { name: of || reply.name }))
      return reply.name
    })
    if (result !== null) await this.#onSaved()
    return result
  }

  discardMine(): void {
    discardMine(this)
  }
}

export type FileDraft = { skill: string; path: string; content: string; version: string | null }

/** The open file of a skill. Its draft is kept while another skill is open. */
export class SkillFile extends EditedFile<FileDraft> {
  readonly #shell: Shell
  readonly #skill: ReadonlySignal<Skill | null>
  readonly open: Signal<LinkedFile | null> = signal(null)

  constructor(shell: Shell, skill: ReadonlySignal<Skill | null>) {
    super('skill-file', shell.layout.unsaved)
    this.#shell = shell
    this.#skill = skill
  }

  close(): void {
    this.open.value = null
  }

  edit(): void {
    const { toasts } = this.#shell
    const file = this.open.value
    const of = this.#skill.value
    if (!file || !of || of.read_only || file.is_binary) return
    if (this.draft.value) {
      toasts.show(t('skills.file.other', { name: this.draft.value.path }), { kind: 'error' })
      return
    }
    const { path, content, version } = file
    this.begin({ skill: of.name, path, content, version })
  }

  async read(path: string): Promise<void> {
    const of = this.#skill.value
    if (!of) return
    await this.#shell.attempt(async () => {
      const reply = await this.#shell.api('GET /api/skills/content', { name: of.name, file: path })
      if (this.#skill.value === of && 'is_binary' in reply) this.open.value = reply
    })
  }

  async saveFile(overwrite = false): Promise<void> {
    const { api, toasts } = this.#shell
    const result = await this.save(overwrite, async (draft, version) => {
      await api('POST /api/skills/save', {
        name: draft.skill,
        file: draft.path,
        content: draft.content,
        ...(version === null ? {} : { expected_version: version }),
      })
      toasts.show(t('skills.saved', { name: draft.path }))
      return draft
    })
    if (result && this.#skill.value?.name === result.skill) await this.read(result.path)
  }

  discardMine(): void {
    discardMine(this)
  }
}
