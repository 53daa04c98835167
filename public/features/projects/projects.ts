/** Projects and tags, and the filter that is set by them. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Project } from '../../../lib/schema/project.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { tagsOf } from '../sessions/tags.ts'
import type { Shell } from '../shell/shell-state.ts'

/** `edit` without a project creates one; `sessionId` is then moved into it. */
export type ProjectDialog =
  | { what: 'move'; sessionId: string }
  | { what: 'edit'; project: Project | null; sessionId?: string }

export type ProjectInput = { name: string; color: string | null }

const MAX_TAGS = 8

const countBy = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

export class Projects {
  readonly list = signal<readonly Project[]>([])
  readonly open: Signal<boolean>
  /** How many there were the last time: their place is kept until they have arrived. */
  readonly expected: Signal<number>
  readonly tags: ReadonlySignal<readonly string[]>
  /** Empty for none. */
  readonly projectId: ReadonlySignal<string>
  readonly chosenTag: ReadonlySignal<string>
  readonly filtering: ReadonlySignal<boolean>
  /** Sessions of each project. */
  readonly counts: ReadonlySignal<ReadonlyMap<string, number>>
  readonly dialog = signal<ProjectDialog | null>(null)
  readonly #shell: Shell
  readonly #sessions: Sessions
  readonly #byId = computed(
    () => new Map(this.list.value.map(project => [project.project_id, project])),
  )
  readonly #choice: Signal<string>
  readonly #choiceTag = signal('')

  constructor(shell: Shell, sessions: Sessions) {
    const { device } = shell.platform
    this.#shell = shell
    this.#sessions = sessions
    this.expected = signal(device.read('projects-known', 0))
    this.open = signal(device.read('projects-open', false))
    this.#choice = signal(device.read('project', ''))
    const rows = computed(() => sessions.profileRows.value.filter(row => !row.archived))
    const tagCounts = computed(() => countBy(rows.value.flatMap(row => tagsOf(row.title))))
    this.tags = computed(() =>
      [...tagCounts.value]
        .toSorted(([a, many], [b, few]) => few - many || (a < b ? -1 : 1))
        .slice(0, MAX_TAGS)
        .map(([tag]) => tag),
    )
    const ifKnown = (id: string, ids: ReadonlyMap<string, unknown>): string =>
      ids.has(id) ? id : ''
    this.projectId = computed(() => ifKnown(this.#choice.value, this.#byId.value))
    this.chosenTag = computed(() => ifKnown(this.#choiceTag.value, tagCounts.value))
    this.filtering = computed(() => this.projectId.value !== '' || this.chosenTag.value !== '')
    this.counts = computed(() => countBy(rows.value.flatMap(row => row.project_id ?? [])))
  }

  /** Undefined for a deleted project. */
  find(id: string | null | undefined): Project | undefined {
    return id ? this.#byId.value.get(id) : undefined
  }

  matches(row: SessionRow): boolean {
    return (
      (this.projectId.value === '' || row.project_id === this.projectId.value) &&
      (this.chosenTag.value === '' || tagsOf(row.title).includes(this.chosenTag.value))
    )
  }

  /** Selecting the active project again clears the filter. */
  toggle(id: string): void {
    this.#choose(this.projectId.value === id ? '' : id)
  }

  toggleTag(tag: string): void {
    this.#choiceTag.value = this.chosenTag.value === tag ? '' : tag
  }

  showAll(): void {
    this.#choose('')
    this.#choiceTag.value = ''
  }

  toggleOpen(): void {
    this.open.value = !this.open.value
    this.#shell.platform.device.write('projects-open', this.open.value)
  }

  openMove(sessionId: string): void {
    this.dialog.value = { what: 'move', sessionId }
  }

  /** Null creates a project, which gets the session. */
  openEdit(project: Project | null, sessionId?: string): void {
    this.dialog.value = { what: 'edit', project, ...(sessionId ? { sessionId } : {}) }
  }

  /** Moves a session into a project, or out of its own, and offers to undo that. Shows its error. */
  moveTo(id: string, project: string | null): Promise<void> {
    return this.#shell.attempt(async () => {
      const { moveSession } = await import('./actions.ts')
      await moveSession(this.#options, id, project)
    })
  }

  confirmDelete(project: Project): Promise<void> {
    return this.#shell.attempt(async () => {
      const { confirmDelete } = await import('./actions.ts')
      confirmDelete(this.#options, project)
    })
  }

  async load(): Promise<void> {
    this.list.value = (await this.#api('GET /api/projects')).projects
    this.expected.value = 0
    this.#shell.platform.device.write('projects-known', this.list.value.length)
  }

  async create(input: ProjectInput): Promise<Project> {
    const { project } = await this.#api('POST /api/projects/create', input)
    this.list.value = [...this.list.value, project]
    return project
  }

  async save(id: string, input: ProjectInput): Promise<void> {
    const { project } = await this.#api('POST /api/projects/rename', { project_id: id, ...input })
    this.list.value = this.list.value.map(other => (other.project_id === id ? project : other))
  }

  async remove(id: string): Promise<void> {
    await this.#api('POST /api/projects/delete', { project_id: id })
    this.list.value = this.list.value.filter(project => project.project_id !== id)
  }

  get #api(): Shell['api'] {
    return this.#shell.platform.api
  }

  get #options() {
    const { toasts, layout } = this.#shell
    return { toasts, layout, sessions: this.#sessions, projects: this }
  }

  #choose(id: string): void {
    this.#choice.value = id
    this.#shell.platform.device.write('project', id)
  }
}
