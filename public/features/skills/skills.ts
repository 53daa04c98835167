/** The profile's skills: the list, the open skill with its files, and the form. */
import { computed, signal } from '@preact/signals'
import type { Skill, SkillCategory, SkillRow } from '../../../lib/schema/skill.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { createSkillFile } from './open-skill-file.ts'
import { createSkillDraft } from './skill-draft.ts'

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

export const createSkills = ({ api, toasts, onChanged, unsaved }: SkillsOptions) => {
  const rows = signal<readonly SkillRow[]>([])
  const categories = signal<readonly SkillCategory[]>([])
  const state = signal<Loading>('loading')
  const query = signal('')
  const open = signal<Skill | null>(null)
  const opening = signal<Loading>('ready')
  const file = createSkillFile({ api, toasts, unsaved }, open)

  const load = async (): Promise<void> => {
    try {
      const reply = await api('GET /api/skills', { all: '1' })
      rows.value = reply.skills
      categories.value = reply.categories
      state.value = 'ready'
    } catch (error) {
      if (rows.value.length === 0) state.value = 'failed'
      toasts.showError(error)
    }
  }

  const read = async (name: string | null): Promise<void> => {
    if (name !== open.value?.name) {
      file.close()
      open.value = null
    }
    if (name === null) return
    opening.value = 'loading'
    try {
      const found = await api('GET /api/skills/content', { name })
      if ('success' in found) open.value = found
      opening.value = 'ready'
    } catch {
      // Deleted or unreachable; the view shows which name is missing.
      opening.value = 'failed'
    }
  }

  const changed = async (): Promise<void> => {
    onChanged?.()
    await load()
  }

  const form = createSkillDraft({ api, toasts, unsaved, open, onSaved: changed })

  return {
    ...form,
    rows,
    categories,
    state,
    query,
    open,
    opening,
    file,
    groups: computed(() => groupSkills(rows.value, categories.value, query.value)),
    load,
    read,
    async toggle(name: string, enabled: boolean): Promise<void> {
      const set = (on: boolean) => {
        rows.value = rows.value.map(row => (row.name === name ? { ...row, enabled: on } : row))
        if (open.value?.name === name) open.value = { ...open.value, enabled: on }
      }
      set(enabled)
      try {
        await api('POST /api/skills/toggle', { name, enabled })
        onChanged?.()
      } catch (error) {
        set(!enabled)
        toasts.showError(error)
      }
    },
    async remove(name: string): Promise<void> {
      await api('POST /api/skills/delete', { name })
      open.value = null
      toasts.show(t('skills.deleted', { name }))
      await changed()
    },
  }
}

export type SkillsState = ReturnType<typeof createSkills>

export const skillsOf = lazyState(app =>
  createSkills({
    api: app.shell.api,
    toasts: app.shell.toasts,
    onChanged: () => void app.composer.skillCommands.load(),
    unsaved: app.shell.layout.unsaved,
  }),
)
