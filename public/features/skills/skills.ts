/** The profile's skills: the list, the open skill with its files, and the form. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Skill, SkillCategory, SkillRow } from '../../../lib/schema/skill.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'
import { SkillFile, SkillForm } from './skill-draft.ts'

export type SkillGroup = { category: string | null; description: string; skills: SkillRow[] }

const matches = (row: SkillRow, query: string): boolean =>
  query
    .toLowerCase()
    .split(/\s+/)
    .every(word =>
      `${row.name} ${row.category ?? ''} ${row.description}`.toLowerCase().includes(word),
    )

/** Keeps the order of the list, which the server sorts by category. */
export const groupSkills = (
  rows: readonly SkillRow[],
  categories: readonly SkillCategory[],
  query: string,
): SkillGroup[] => {
  const groups = new Map<string | null, SkillGroup>()
  for (const row of rows.filter(each => matches(each, query.trim()))) {
    const { category } = row
    const description = categories.find(({ name }) => name === category)?.description ?? ''
    const group = groups.get(category) ?? { category, description, skills: [] }
    group.skills.push(row)
    groups.set(category, group)
  }
  return [...groups.values()]
}

/** The text without its front matter, which the page shows as fields. */
export const bodyOf = (content: string): string =>
  content.replace(/^\uFEFF?---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/, '').trim()

export class SkillsState {
  readonly #shell: Shell
  readonly #onChanged: () => void
  readonly rows: Signal<readonly SkillRow[]> = signal([])
  readonly categories: Signal<readonly SkillCategory[]> = signal([])
  readonly state: Signal<LoadState> = signal('loading')
  readonly query: Signal<string> = signal('')
  readonly open: Signal<Skill | null> = signal(null)
  readonly opening: Signal<LoadState> = signal('ready')
  readonly file: SkillFile
  readonly form: SkillForm
  readonly groups: ReadonlySignal<SkillGroup[]> = computed(() =>
    groupSkills(this.rows.value, this.categories.value, this.query.value),
  )

  /** `onChanged`: the list of skills, or whether one is enabled. */
  constructor(shell: Shell, onChanged: () => void) {
    this.#shell = shell
    this.#onChanged = onChanged
    this.file = new SkillFile(shell, this.open)
    this.form = new SkillForm(shell, () => this.#changed())
  }

  load(): Promise<void> {
    const { api, toasts } = this.#shell
    return runLoad(this.state, toasts, async () => {
      const reply = await api('GET /api/skills', { all: '1' })
      this.rows.value = reply.skills
      this.categories.value = reply.categories
    })
  }

  async read(name: string | null): Promise<void> {
    if (name !== this.open.value?.name) {
      this.file.close()
      this.open.value = null
    }
    if (name === null) return
    this.opening.value = 'loading'
    try {
      const reply = await this.#shell.api('GET /api/skills/content', { name })
      if ('success' in reply) this.open.value = reply
      this.opening.value = 'ready'
    } catch {
      // Deleted or unreachable; the view shows which name is missing.
      this.opening.value = 'failed'
    }
  }

  async toggle(name: string, enabled: boolean): Promise<void> {
    const { api, toasts } = this.#shell
    const set = (on: boolean) => {
      this.rows.value = this.rows.value.map(row =>
        row.name === name ? { ...row, enabled: on } : row,
      )
      if (this.open.value?.name === name) this.open.value = { ...this.open.value, enabled: on }
    }
    set(enabled)
    try {
      await api('POST /api/skills/toggle', { name, enabled })
      this.#onChanged()
    } catch (error) {
      set(!enabled)
      toasts.showError(error)
    }
  }

  async remove(name: string): Promise<void> {
    const { api, toasts } = this.#shell
    await api('POST /api/skills/delete', { name })
    this.open.value = null
    toasts.show(t('skills.deleted', { name }))
    await this.#changed()
  }

  async #changed(): Promise<void> {
    this.#onChanged()
    await this.load()
  }
}

export const skillsOf = lazyState(
  app => new SkillsState(app.shell, () => void app.composer.skillCommands.load()),
)
