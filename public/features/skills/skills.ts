/** The skills of the profile: the list, the one that is read, the file of it that is open, and the text being written. */
import { computed, signal } from '@preact/signals'
import type { Skill, SkillCategory, SkillRow } from '../../../lib/schema/skill.ts'
import { ApiError } from '../../api.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { createSkillFile } from './open-skill-file.ts'

export type Loading = 'loading' | 'ready' | 'failed'
export type SkillDraft = {
  /** Empty: a new one. */
  of: string
  name: string
  category: string
  content: string
  version: string | null
}
export type SkillGroup = { category: string | null; description: string; skills: SkillRow[] }

const matches = (row: SkillRow, query: string): boolean =>
  query
    .toLowerCase()
    .split(/\s+/)
    .every(word =>
      `${row.name} ${row.category ?? ''} ${row.description}`.toLowerCase().includes(word),
    )

/** In the order of the list, which is by category. */
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

/** The text without its front matter, which the page shows in its own way. */
export const bodyOf = (content: string): string =>
  content.replace(/^\uFEFF?---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/, '').trim()

type SkillsOptions = Pick<App, 'api' | 'toasts'> & { onChanged?: () => void; unsaved?: Set<string> }

export const createSkills = ({ api, toasts, onChanged, unsaved }: SkillsOptions) => {
  const rows = signal<readonly SkillRow[]>([])
  const categories = signal<readonly SkillCategory[]>([])
  const state = signal<Loading>('loading')
  const query = signal('')
  const open = signal<Skill | null>(null)
  const opening = signal<Loading>('ready')
  const file = createSkillFile({ api, toasts, unsaved }, open)
  const draft = signal<SkillDraft | null>(null)
  const busy = signal(false)
  const problem = signal('')
  const conflict = signal<{ content: string | null; version: string | null } | null>(null)

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
      // Gone, or the service is: the view says that it is not here, the list tells the rest.
      opening.value = 'failed'
    }
  }

  const changed = async (): Promise<void> => {
    onChanged?.()
    await load()
  }

  return {
    rows,
    categories,
    state,
    query,
    open,
    opening,
    file,
    draft,
    busy,
    problem,
    conflict,
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
    create(): void {
      const content = t('skills.template', { name: 'my-skill' })
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
      // The name in the head follows, until somebody writes it there by hand.
      const follows = patch.name !== undefined && now.of === ''
      const head = (name: string) => new RegExp(`^name: ${name || 'my-skill'}$`, 'm')
      const content = follows
        ? now.content.replace(
            head(slugOf(now.name)),
            `name: ${slugOf(patch.name ?? '') || 'my-skill'}`,
          )
        : now.content
      setDraft({ ...now, content, ...patch })
    },
    cancel: discardDraft,
    /** Answers the name it is kept under; null when it was refused. */
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
          // Emptied on purpose: left out it would stay as it was.
          category: category.trim() || null,
          ...(of === '' ? { create: true } : {}),
          ...(version === null ? {} : { expected_version: version }),
        })
        discardDraft()
        toasts.show(t('skills.saved', { name: of || saved.name }))
        await changed()
        return saved.name
      } catch (error) {
        if (error instanceof ApiError && error.status === 409 && of !== '') {
          const { content: theirs, version: at } = error.body
          conflict.value = {
            content: typeof theirs === 'string' ? theirs : null,
            version: typeof at === 'string' ? at : null,
          }
        } else problem.value = error instanceof Error ? error.message : String(error)
        return null
      } finally {
        busy.value = false
      }
    },
    /** Takes what stands on the disk now in place of what was written here. */
    discardMine(): void {
      const theirs = conflict.value
      const now = draft.value
      if (now && theirs?.content !== null && theirs) {
        setDraft({ ...now, content: theirs.content, version: theirs.version })
      }
      conflict.value = null
    },
    async remove(name: string): Promise<void> {
      await api('POST /api/skills/delete', { name })
      open.value = null
      toasts.show(t('skills.deleted', { name }))
      await changed()
    },
  }
}

/** As the service will store it. */
export const slugOf = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, '-')

export type SkillsState = ReturnType<typeof createSkills>

export const skillsOf = lazyState(app =>
  createSkills({
    api: app.api,
    toasts: app.toasts,
    onChanged: () => void app.skillCommands.load(),
    unsaved: app.layout.unsaved,
  }),
)
