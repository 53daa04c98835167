/** State of the views of own commands and subagents: the list, the open file, and the form. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { OwnFile, OwnFileKind, OwnFileRow } from '../../../lib/schema/own-file.ts'
import type { App } from '../../app.ts'
import type { Shell } from '../shell/shell-state.ts'
import { EditedFile } from '../../parts/edited-file.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'
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
export const ownFileTitle = ({ kind, called }: OwnFileRow | OwnFile): string =>
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

/** The list of one kind, the open file, and the draft of one. */
export class OwnFilesState extends EditedFile<OwnDraft> {
  readonly #shell: Shell
  readonly #onChanged: () => void
  readonly rows: Signal<readonly OwnFileRow[]> = signal([])
  readonly state: Signal<LoadState> = signal('loading')
  readonly query: Signal<string> = signal('')
  readonly open: Signal<OwnFile | null> = signal(null)
  readonly opening: Signal<LoadState> = signal('ready')
  readonly kind: OwnFileKind
  readonly visible: ReadonlySignal<OwnFileRow[]> = computed(() =>
    this.rows.value.filter(row => matches(row, this.query.value.trim())),
  )

  constructor(shell: Shell, kind: OwnFileKind, onChanged: () => void) {
    super(kind, shell.layout.unsaved)
    this.#shell = shell
    this.kind = kind
    this.#onChanged = onChanged
  }

  load(): Promise<void> {
    const { api, toasts } = this.#shell
    return runLoad(this.state, toasts, async () => {
      this.rows.value = (await api('GET /api/own-files', { kind: this.kind })).files
    })
  }

  async read(name: string | null): Promise<void> {
    const { api } = this.#shell
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

  create(fields: Partial<OwnDraft> = {}): void {
    this.begin({ ...blank, ...fields })
  }

  edit(): void {
    const file = this.open.value
    if (file && !file.read_only) this.begin(toDraft(file))
  }

  /** A new file with the values of the open one. */
  duplicate(): void {
    const file = this.open.value
    if (file) this.begin({ ...toDraft(file), of: '', name: '', version: null })
  }

  /** Resolves to the name it is saved under, or null when the server rejects it. */
  async saveFile(overwrite = false): Promise<string | null> {
    const { api, toasts } = this.#shell
    const file = await this.save(overwrite, async (draft, version) => {
      // A deleted file is created again.
      const input = overwrite && version === null ? { ...draft, of: '' } : draft
      const reply = await api('POST /api/own-files/save', {
        ...saveInput(this.kind, input),
        ...(version !== null && input.of !== '' && { expected_version: version }),
      })
      return reply.file
    })
    if (!file) return null
    this.open.value = file
    toasts.show(t('own.saved', { name: ownFileTitle(file) }))
    await this.#changed()
    return file.name
  }

  /** Replaces the draft with the version on disk. */
  async discardMine(): Promise<void> {
    const name = this.draft.value?.of
    if (!name) return
    await this.read(name)
    this.begin(this.open.value && toDraft(this.open.value))
  }

  async remove(file: OwnFile): Promise<void> {
    const { api, toasts } = this.#shell
    const { name, version } = file
    await api('POST /api/own-files/delete', { kind: this.kind, name, expected_version: version })
    this.open.value = null
    toasts.show(t('own.deleted', { name: ownFileTitle(file) }))
    await this.#changed()
  }

  async #changed(): Promise<void> {
    this.#onChanged()
    await this.load()
  }
}

const stateOf = (kind: OwnFileKind) =>
  lazyState(
    app => new OwnFilesState(app.shell, kind, () => void app.composer.skillCommands.load()),
    // A message of the chat beside this one starts a command as well.
    { isShared: true },
  )

const states = { command: stateOf('command'), subagent: stateOf('subagent') }
export const ownFilesOf = (app: App, kind: OwnFileKind): OwnFilesState => states[kind](app)
