/** State of the views of own commands and subagents: the list, the open file, and the form. */
import { computed, signal } from '@preact/signals'
import type { OwnFile, OwnFileKind, OwnFileRow } from '../../../lib/schema/own-file.ts'
import { ApiError } from '../../api.ts'
import type { App } from '../../app.ts'
import type { Shell } from '../shell/shell-state.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import type { LoadState } from '../../parts/load-state.ts'
import { t } from './strings.ts'

export type OwnDraft = {
  /** The name of the saved file; empty for a new one. */
  of: string
  name: string
  description: string
  arguments: string
  model: string
  /** Names with commas; empty for all tools. */
  tools: string
  text: string
  /** The whole file, where its keys cannot be read; else null. */
  content: string | null
  problem: string
  version: string | null
}

const blank: OwnDraft = {
  of: '',
  name: '',
  description: '',
  arguments: '',
  model: '',
  tools: '',
  text: '',
  content: null,
  problem: '',
  version: null,
}

/** `/review` for a command, the name alone for a subagent. */
export const titleOf = ({ kind, called }: Pick<OwnFileRow, 'kind' | 'called'>): string =>
  kind === 'command' ? `/${called}` : called

const matches = (row: OwnFileRow, query: string): boolean =>
  query
    .toLowerCase()
    .split(/\s+/)
    .every(word => `${row.called} ${row.description}`.toLowerCase().includes(word))

const toDraft = (file: OwnFile): OwnDraft => ({
  of: file.name,
  name: file.called,
  description: file.description,
  arguments: file.argument_hint,
  model: file.model,
  tools: file.tools?.join(', ') ?? '',
  text: file.text,
  content: file.front_matter_problem === null ? null : file.content,
  problem: file.front_matter_problem ?? '',
  version: file.version,
})

/** What is sent for a draft. */
const saveInput = (kind: OwnFileKind, draft: OwnDraft) => {
  const { of, name, content } = draft
  const isRenamed = kind === 'command' && of !== '' && name.trim() !== of.toLowerCase()
  const common = {
    kind,
    name: of || name,
    ...(of === '' && { create: true }),
    ...(isRenamed && { new_name: name }),
  }
  if (content !== null) return { ...common, content }
  const tools = draft.tools
    .split(',')
    .map(tool => tool.trim())
    .filter(Boolean)
  const { description } = draft
  const fields =
    kind === 'command'
      ? { description, argument_hint: draft.arguments }
      : { name, description, model: draft.model, tools: tools.length > 0 ? tools : null }
  return { ...common, fields, text: draft.text }
}

type Options = Pick<Shell, 'api' | 'toasts'> & {
  kind: OwnFileKind
  onChanged: () => void
  unsaved: Set<string>
}

export class OwnFilesState {
  readonly #options: Options
  readonly rows = signal<readonly OwnFileRow[]>([])
  readonly state = signal<LoadState>('loading')
  readonly query = signal('')
  readonly open = signal<OwnFile | null>(null)
  readonly opening = signal<LoadState>('ready')
  readonly draft = signal<OwnDraft | null>(null)
  readonly busy = signal(false)
  readonly problem = signal('')
  /** The version on disk that a save would overwrite; null inside when the file was deleted. */
  readonly conflict = signal<{ version: string | null } | null>(null)
  readonly kind: 'command' | 'subagent'
  readonly shown = computed(() =>
    this.rows.value.filter(row => matches(row, this.query.value.trim())),
  )

  constructor(options: Options) {
    const { kind } = options
    this.#options = options
    this.kind = kind
  }

  async load(): Promise<void> {
    const { api, toasts } = this.#options
    try {
      this.rows.value = (await api('GET /api/own-files', { kind: this.kind })).files
      this.state.value = 'ready'
    } catch (error) {
      if (this.rows.value.length === 0) this.state.value = 'failed'
      toasts.showError(error)
    }
  }

  async read(name: string | null): Promise<void> {
    const { api } = this.#options
    if (name !== this.open.value?.name) this.open.value = null
    if (name === null) return
    this.opening.value = 'loading'
    try {
      this.open.value = await api('GET /api/own-files/content', { kind: this.kind, name })
      this.opening.value = 'ready'
    } catch {
      // Deleted or unreachable; the view shows which name is missing.
      this.opening.value = 'failed'
    }
  }

  create(given: Partial<OwnDraft> = {}): void {
    this.#setDraft({ ...blank, ...given })
  }

  edit(): void {
    const file = this.open.value
    if (file && !file.read_only) this.#setDraft(toDraft(file))
  }

  /** A new file with the values of the open one. */
  duplicate(): void {
    const file = this.open.value
    if (file) this.#setDraft({ ...toDraft(file), of: '', name: '', version: null })
  }

  change(patch: Partial<OwnDraft>): void {
    if (this.draft.value) this.draft.value = { ...this.draft.value, ...patch }
  }

  cancel(): void {
    this.#setDraft(null)
  }

  /** Resolves to the name it is saved under, or null when the server rejects it. */
  async save({ overwrite = false } = {}): Promise<string | null> {
    const { api, toasts } = this.#options
    const now = this.draft.value
    if (!now || this.busy.value) return null
    this.busy.value = true
    this.problem.value = ''
    const version = overwrite ? (this.conflict.value?.version ?? null) : now.version
    // A deleted file is created again.
    const input = overwrite && version === null ? { ...now, of: '' } : now
    try {
      const { file } = await api('POST /api/own-files/save', {
        ...saveInput(this.kind, input),
        ...(version !== null && input.of !== '' && { expected_version: version }),
      })
      this.#setDraft(null)
      this.open.value = file
      toasts.show(t('own.saved', { name: titleOf(file) }))
      await this.#changed()
      return file.name
    } catch (error) {
      const code = error instanceof ApiError ? error.body.code : undefined
      const isStale = now.of !== '' && error instanceof ApiError && error.status === 409
      if (isStale && (code === 'file_changed' || code === 'file_not_found')) {
        const theirs = error.body.version
        this.conflict.value = { version: typeof theirs === 'string' ? theirs : null }
      } else this.problem.value = error instanceof Error ? error.message : String(error)
      return null
    } finally {
      this.busy.value = false
    }
  }

  /** Replaces the draft with the version on disk. */
  async discardMine(): Promise<void> {
    const name = this.draft.value?.of
    if (!name) return
    await this.read(name)
    this.#setDraft(this.open.value ? toDraft(this.open.value) : null)
  }

  async remove(file: OwnFile): Promise<void> {
    const { api, toasts } = this.#options
    const { name, version } = file
    await api('POST /api/own-files/delete', { kind: this.kind, name, expected_version: version })
    this.open.value = null
    toasts.show(t('own.deleted', { name: titleOf(file) }))
    await this.#changed()
  }

  #setDraft(next: OwnDraft | null): void {
    const { unsaved } = this.#options
    this.draft.value = next
    this.conflict.value = null
    this.problem.value = ''
    if (next) unsaved.add(this.kind)
    else unsaved.delete(this.kind)
  }

  async #changed(): Promise<void> {
    this.#options.onChanged()
    await this.load()
  }
}

const stateOf = (kind: OwnFileKind) =>
  lazyState(
    app =>
      new OwnFilesState({
        kind,
        api: app.shell.api,
        toasts: app.shell.toasts,
        onChanged: () => void app.composer.skillCommands.load(),
        unsaved: app.shell.layout.unsaved,
      }),
    // A message of the chat beside this one starts a command as well.
    { isShared: true },
  )

const states = { command: stateOf('command'), subagent: stateOf('subagent') }
export const ownFilesOf = (app: App, kind: OwnFileKind): OwnFilesState => states[kind](app)
