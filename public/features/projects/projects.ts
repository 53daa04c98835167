/** Projects and tags, and the filter that is set by them. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Project } from '../../../lib/schema/project.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

/** `edit` without a project creates one; `sessionId` is then moved into it. */
export type ProjectDialog =
  | { what: 'move'; sessionId: string }
  | { what: 'edit'; project: Project | null; sessionId?: string }

export type ProjectInput = { name: string; color: string | null }

const MAX_TAGS = 8

/** A `#word` of a title, without its `#`, in lower case. */
export const tagsOf = (title: string): string[] => [
  ...new Set(
    [...title.matchAll(/(?<=^|\s)#([\p{L}\p{N}][\p{L}\p{N}_-]*)/gu)].map(match =>
      match[1]!.toLowerCase(),
    ),
  ),
]

const countBy = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

export const createProjects = (
  { api, device }: Pick<Platform, 'api' | 'device'>,
  /** Sessions of this profile. */
  rows: ReadonlySignal<readonly SessionRow[]>,
) => {
  const list = signal<readonly Project[]>([])
  const open = signal(device.read('projects-open', true))
  const wanted = signal(device.read('project', ''))
  const wantedTag = signal('')

  const byId = computed(() => new Map(list.value.map(project => [project.project_id, project])))
  /** Undefined for a deleted project. */
  const find = (id: string | null | undefined) => (id ? byId.value.get(id) : undefined)
  const shown = computed(() => rows.value.filter(row => !row.archived))
  const tagCounts = computed(() => countBy(shown.value.flatMap(row => tagsOf(row.title))))
  const tags = computed(() =>
    [...tagCounts.value]
      .toSorted(([a, many], [b, few]) => few - many || (a < b ? -1 : 1))
      .slice(0, MAX_TAGS)
      .map(([tag]) => tag),
  )
  const chosen = computed(() => (byId.value.has(wanted.value) ? wanted.value : ''))
  const chosenTag = computed(() => (tagCounts.value.has(wantedTag.value) ? wantedTag.value : ''))

  const choose = (id: string): void => {
    wanted.value = id
    device.write('project', id)
  }

  return {
    list,
    find,
    open,
    tags,
    chosen,
    chosenTag,
    filtering: computed(() => chosen.value !== '' || chosenTag.value !== ''),
    counts: computed(() => countBy(shown.value.flatMap(row => row.project_id ?? []))),
    dialog: signal<ProjectDialog | null>(null),

    matches: (row: SessionRow): boolean =>
      (chosen.value === '' || row.project_id === chosen.value) &&
      (chosenTag.value === '' || tagsOf(row.title).includes(chosenTag.value)),
    /** Selecting the active project again clears the filter. */
    toggle: (id: string): void => choose(chosen.value === id ? '' : id),
    toggleTag(tag: string): void {
      wantedTag.value = chosenTag.value === tag ? '' : tag
    },
    showAll(): void {
      choose('')
      wantedTag.value = ''
    },
    toggleOpen(): void {
      open.value = !open.value
      device.write('projects-open', open.value)
    },

    async load(): Promise<void> {
      list.value = (await api('GET /api/projects')).projects
    },
    async create(input: ProjectInput): Promise<Project> {
      const { project } = await api('POST /api/projects/create', input)
      list.value = [...list.value, project]
      return project
    },
    async save(id: string, input: ProjectInput): Promise<void> {
      const { project } = await api('POST /api/projects/rename', { project_id: id, ...input })
      list.value = list.value.map(other => (other.project_id === id ? project : other))
    },
    async remove(id: string): Promise<void> {
      await api('POST /api/projects/delete', { project_id: id })
      list.value = list.value.filter(project => project.project_id !== id)
    },
  }
}

export type Projects = ReturnType<typeof createProjects>
