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

const createOwnFiles = ({ api, toasts, kind, onChanged, unsaved }: Options) => {
  const rows = signal<readonly OwnFileRow[]>([])
  const state = signal<LoadState>('loading')
  const query = signal('')
  const open = signal<OwnFile | null>(null)
  const opening = signal<LoadState>('ready')
  const draft = signal<OwnDraft | null>(null)
  const busy = signal(false)
  const problem = signal('')
  /** The version on disk that a save would overwrite; null inside when the file was deleted. */
  const conflict = signal<{ version: string | null } | null>(null)

  const setDraft = (next: OwnDraft | null): void => {
    draft.value = next
    conflict.value = null
    problem.value = ''
    if (next) unsaved.add(kind)
    else unsaved.delete(kind)
  }

  const load = async (): Promise<void> => {
    try {
      rows.value = (await api('GET /api/own-files', { kind })).files
      state.value = 'ready'
    } catch (error) {
      if (rows.value.length === 0) state.value = 'failed'
      toasts.showError(error)
    }
  }

  const read = async (name: string | null): Promise<void> => {
    if (name !== open.value?.name) open.value = null
    if (name === null) return
    opening.value = 'loading'
    try {
      open.value = await api('GET /api/own-files/content', { kind, name })
      opening.value = 'ready'
    } catch {
      // Deleted or unreachable; the view shows which name is missing.
      opening.value = 'failed'
    }
  }

  const changed = async (): Promise<void> => {
    onChanged()
    await load()
  }

  return {
    kind,
    rows,
    state,
    query,
    shown: computed(() => rows.value.filter(row => matches(row, query.value.trim()))),
    open,
    opening,
    draft,
    busy,
    problem,
    conflict,
    load,
    read,
    create: (given: Partial<OwnDraft> = {}): void => setDraft({ ...blank, ...given }),
    edit(): void {
      const file = open.value
      if (file && !file.read_only) setDraft(toDraft(file))
    },
    /** A new file with the values of the open one. */
    duplicate(): void {
      const file = open.value
      if (file) setDraft({ ...toDraft(file), of: '', name: '', version: null })
    },
    change(patch: Partial<OwnDraft>): void {
      if (draft.value) draft.value = { ...draft.value, ...patch }
    },
    cancel: () => setDraft(null),
    /** Resolves to the name it is saved under, or null when the server rejects it. */
    async save({ overwrite = false } = {}): Promise<string | null> {
      const now = draft.value
      if (!now || busy.value) return null
      busy.value = true
      problem.value = ''
      const version = overwrite ? (conflict.value?.version ?? null) : now.version
      // A deleted file is created again.
      const input = overwrite && version === null ? { ...now, of: '' } : now
      try {
        const { file } = await api('POST /api/own-files/save', {
          ...saveInput(kind, input),
          ...(version !== null && input.of !== '' && { expected_version: version }),
        })
        setDraft(null)
        open.value = file
        toasts.show(t('own.saved', { name: titleOf(file) }))
        await changed()
        return file.name
      } catch (error) {
        const code = error instanceof ApiError ? error.body.code : undefined
        const isStale = now.of !== '' && error instanceof ApiError && error.status === 409
        if (isStale && (code === 'file_changed' || code === 'file_not_found')) {
          const theirs = error.body.version
          conflict.value = { version: typeof theirs === 'string' ? theirs : null }
        } else problem.value = error instanceof Error ? error.message : String(error)
        return null
      } finally {
        busy.value = false
      }
    },
    /** Replaces the draft with the version on disk. */
    async discardMine(): Promise<void> {
      const name = draft.value?.of
      if (!name) return
      await read(name)
      setDraft(open.value ? toDraft(open.value) : null)
    },
    async remove(file: OwnFile): Promise<void> {
      const { name, version } = file
      await api('POST /api/own-files/delete', { kind, name, expected_version: version })
      open.value = null
      toasts.show(t('own.deleted', { name: titleOf(file) }))
      await changed()
    },
  }
}

export type OwnFilesState = ReturnType<typeof createOwnFiles>

const stateOf = (kind: OwnFileKind) =>
  lazyState(
    app =>
      createOwnFiles({
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
