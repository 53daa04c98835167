/** The profile's skills: the list, the open skill with its files, and the form. */
import { computed, signal } from '@preact/signals'
import type { Skill, SkillCategory, SkillRow } from '../../../lib/schema/skill.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { SkillFile } from './open-skill-file.ts'
import { SkillForm } from './skill-draft.ts'

export type Loading = 'loading' | 'ready' | 'failed'
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

type SkillsOptions = Pick<Shell, 'api' | 'toasts'> & {
  onChanged?: () => void
  unsaved?: Set<string>
}

export class SkillsState {
  readonly #options: SkillsOptions
  readonly rows = signal<readonly SkillRow[]>([])
  readonly categories = signal<readonly SkillCategory[]>([])
  readonly state = signal<Loading>('loading')
  readonly query = signal('')
  readonly open = signal<Skill | null>(null)
  readonly opening = signal<Loading>('ready')
  readonly file
  readonly form
  readonly groups = computed(() =>
    groupSkills(this.rows.value, this.categories.value, this.query.value),
  )

  constructor(options: SkillsOptions) {
    const { api, toasts, unsaved } = options
    this.#options = options
    this.file = new SkillFile({ api, toasts, unsaved }, this.open)
    this.form = new SkillForm({ api, toasts, unsaved, open: this.open, onSaved: this.#changed })
  }

  readonly #changed = async (): Promise<void> => {
    this.#options.onChanged?.()
    await this.load()
  }

  async load(): Promise<void> {
    const { api, toasts } = this.#options
    try {
      const reply = await api('GET /api/skills', { all: '1' })
      this.rows.value = reply.skills
      this.categories.value = reply.categories
      this.state.value = 'ready'
    } catch (error) {
      if (this.rows.value.length === 0) this.state.value = 'failed'
      toasts.showError(error)
    }
  }

  async read(name: string | null): Promise<void> {
    if (name !== this.open.value?.name) {
      this.file.close()
      this.open.value = null
    }
    if (name === null) return
    this.opening.value = 'loading'
    try {
      const found = await this.#options.api('GET /api/skills/content', { name })
      if ('success' in found) this.open.value = found
      this.opening.value = 'ready'
    } catch {
      // Deleted or unreachable; the view shows which name is missing.
      this.opening.value = 'failed'
    }
  }

  async toggle(name: string, enabled: boolean): Promise<void> {
    const { api, onChanged, toasts } = this.#options
    const set = (on: boolean) => {
      this.rows.value = this.rows.value.map(row =>
        row.name === name ? { ...row, enabled: on } : row,
      )
      if (this.open.value?.name === name) this.open.value = { ...this.open.value, enabled: on }
    }
    set(enabled)
    try {
      await api('POST /api/skills/toggle', { name, enabled })
      onChanged?.()
    } catch (error) {
      set(!enabled)
      toasts.showError(error)
    }
  }

  async remove(name: string): Promise<void> {
    const { api, toasts } = this.#options
    await api('POST /api/skills/delete', { name })
    this.open.value = null
    toasts.show(t('skills.deleted', { name }))
    await this.#changed()
  }
}

export const skillsOf = lazyState(
  app =>
    new SkillsState({
      api: app.shell.api,
      toasts: app.shell.toasts,
      onChanged: () => void app.composer.skillCommands.load(),
      unsaved: app.shell.layout.unsaved,
    }),
)
