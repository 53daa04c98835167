/** Connecting a model: the sources, the form, its list of models, the test, and saving. */
import { listOf } from '../../strings/t.ts'
import { batch, computed, signal, type ReadonlySignal } from '@preact/signals'
import type { ModelOption } from '../../../lib/schema/model.ts'
import type { LocalServer, ProviderRow } from '../../../lib/schema/provider.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import { type Providers, providersOf } from './providers.ts'
import { lazyState } from '../../parts/lazy-state.ts'

export type ModelSource = {
  /** A provider's id, or `local:<server>`. */
  id: string
  name: string
  text: string
  models: readonly ModelOption[]
  model: string
  needsAddress: boolean
  hasKey: boolean
  /** `found`: a key or a running server. `popular`: offered before `more`. */
  group: 'found' | 'popular' | 'more'
  /** The page where a key is created. */
  keyPage: string | null
  server: LocalServer | null
  /** Saved by the setup request, which asks before it changes an existing config.yaml. */
  isQuick: boolean
}

type SetupProvider = {
  id: string
  label: string
  env_var: string
  default_model: string
  requires_base_url: boolean
  models: ModelOption[]
}

const sourceOfServer = (server: LocalServer): ModelSource => ({
  id: `local:${server.id}`,
  name: server.name,
  text: t('setup.found.local', { models: t('local.models', { count: server.models.length }) }),
  models: server.models,
  model: server.models[0]?.id ?? '',
  needsAddress: false,
  hasKey: true,
  group: 'found',
  keyPage: null,
  server,
  isQuick: false,
})

/** In this order; all others are listed by name. */
const POPULAR = ['openrouter', 'anthropic', 'openai', 'gemini', 'custom']

const ABOUT = new Map(
  (['openrouter', 'anthropic', 'openai', 'gemini', 'custom'] as const).map(
    id => [id as string, `setup.about.${id}`] as const,
  ),
)

/** What one gets there, in words. */
const aboutOf = (id: string, models: readonly ModelOption[]): string => {
  const about = ABOUT.get(id)
  if (about !== undefined) return t(about)
  const names = models.slice(0, 2).map(({ label }) => label)
  return names.length > 0 ? listOf([...names, t('setup.about.others')]) : ''
}

/** The default model is always selectable, even if the list lacks it; a custom endpoint has no default. */
const withDefault = ({ id, models, default_model }: SetupProvider): readonly ModelOption[] =>
  id === 'custom' || models.some(model => model.id === default_model)
    ? models
    : [{ id: default_model, label: default_model }, ...models]

const sourceOf = (row: ProviderRow | undefined, quick: SetupProvider | undefined): ModelSource => {
  const id = quick?.id ?? row?.id ?? ''
  const isCustom = id === 'custom'
  const isFound = row?.has_key === true && !isCustom
  const models = quick ? withDefault(quick) : (row?.models ?? [])
  return {
    id,
    name: isCustom ? t('setup.custom') : (row?.display_name ?? quick?.label ?? id),
    text: isFound
      ? t('setup.found.key', { source: row.key_name ?? row.env_var ?? '' })
      : aboutOf(id, models),
    models,
    model: isCustom ? '' : (quick?.default_model ?? models[0]?.id ?? ''),
    needsAddress: quick?.requires_base_url ?? false,
    hasKey: isFound,
    group: isFound ? 'found' : POPULAR.includes(id) ? 'popular' : 'more',
    keyPage: row?.key_page ?? null,
    server: null,
    isQuick: quick !== undefined,
  }
}

/** Every provider that can get a key here, and those of the setup request. */
const providerSources = (
  { rows, addable }: Providers,
  setup: readonly SetupProvider[],
): ModelSource[] => {
  // Local servers need no key: they are found by scanning, or connected as another server.
  const others = addable.value.filter(
    ({ id, key_page, has_key }) =>
      (key_page !== null || has_key) && !setup.some(quick => quick.id === id),
  )
  const rank = ({ id }: ModelSource) =>
    POPULAR.includes(id) ? POPULAR.indexOf(id) : POPULAR.length
  return [
    ...setup.map(quick =>
      sourceOf(
        rows.value.find(({ id }) => id === quick.id),
        quick,
      ),
    ),
    ...others.map(row => sourceOf(row, undefined)),
  ].toSorted((a, b) => rank(a) - rank(b))
}

/** Until the next key of one who types an address. */
const TYPING_MS = 400

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export class Connect {
  readonly #app: App
  readonly #providers
  readonly #sources = signal<readonly ModelSource[]>([])
  readonly isLoaded = signal(false)
  readonly sourceId = signal('')
  readonly typed = { key: signal(''), model: signal(''), address: signal('') }
  /** config.yaml exists; saving needs a confirmation. */
  readonly needsConfirmation = signal(false)
  /** Of the chosen source, fetched with the typed key; null: none yet. */
  readonly #keyModels = signal<readonly ModelOption[] | null>(null)
  readonly isListing = signal(false)
  /** Ends the wait for more typing. */
  #cancelListing = () => {}
  readonly source = computed(() => this.#sources.value.find(({ id }) => id === this.sourceId.value))
  readonly found = this.#inGroup('found')
  readonly popular = this.#inGroup('popular')
  readonly more = this.#inGroup('more')
  /** The models that the chosen source offers: those it listed for the typed key, else the known ones. */
  readonly offered = computed(() => this.#keyModels.value ?? this.source.value?.models ?? [])
  /** What has to be filled in first; null when all is there. A server of one's own may need no key. */
  readonly missing = computed((): 'address' | 'key' | 'model' | null => {
    const at = this.source.value
    if (at?.needsAddress && !this.typed.address.value.trim()) return 'address'
    if (!at?.hasKey && !at?.needsAddress && !this.typed.key.value.trim()) return 'key'
    return this.typed.model.value.trim() ? null : 'model'
  })
  readonly ready = computed(() => this.source.value !== undefined && this.missing.value === null)

  constructor(app: App) {
    this.#app = app
    this.#providers = providersOf(app)
  }

  /** An empty id goes back to the choice. */
  choose(id: string): void {
    this.#cancelListing()
    const next = this.#sources.value.find(each => each.id === id)
    batch(() => {
      this.sourceId.value = id
      this.typed.key.value = ''
      this.typed.address.value = ''
      this.typed.model.value = next?.model ?? ''
      this.#keyModels.value = null
      this.isListing.value = false
      this.#clearTest()
    })
  }

  type(field: keyof typeof this.typed, text: string): void {
    this.typed[field].value = text
    this.#clearTest()
    if (field === 'model') return
    if (field === 'address' && this.#keyModels.value) {
      // Models of another server.
      this.#keyModels.value = null
      this.typed.model.value = ''
    }
    this.#cancelListing()
    this.isListing.value = false
    this.#cancelListing = this.#app.shell.platform.clock.timer(
      TYPING_MS,
      () => void this.listModels(),
    )
  }

  async load(): Promise<void> {
    const { api } = this.#app.shell
    const [{ setup }, { servers }] = await Promise.all([
      api('GET /api/onboarding/status'),
      api('GET /api/models/local'),
      this.#providers.load(),
    ])
    this.#sources.value = [
      ...servers.filter(server => server.models.length > 0).map(sourceOfServer),
      ...providerSources(this.#providers, setup.providers),
    ]
    this.isLoaded.value = true
  }

  /** Fetches the models that the typed key or address gives access to. The known ones stay when that fails. */
  async listModels(): Promise<void> {
    this.#cancelListing()
    const at = this.source.value
    const typed = () => `${this.typed.key.value} ${this.typed.address.value}`
    const before = typed()
    const [key, address] = [this.typed.key.value.trim(), this.typed.address.value.trim()]
    if (!at || at.server || (at.needsAddress ? !URL.canParse(address) : key === '')) return
    this.isListing.value = true
    try {
      const reply = await this.#app.shell.api('POST /api/onboarding/probe', {
        provider: at.id,
        ...(key && { api_key: key }),
        ...(address && { base_url: address }),
      })
      // The fields may have changed since.
      if (this.source.value !== at || typed() !== before) return
      this.isListing.value = false
      if (!reply.ok) return this.#fail(reply.message)
      batch(() => {
        this.#clearTest()
        this.#keyModels.value = reply.models
        if (this.typed.model.value === '') this.typed.model.value = reply.models[0]?.id ?? ''
      })
    } catch (error) {
      if (this.source.value === at && typed() === before) this.#fail(wordsOf(error))
    }
  }

  /** Said beside the buttons. */
  #fail(message: string): void {
    this.isListing.value = false
    this.#providers.setTest('connect', { busy: false, ok: false, message })
  }

  async test(): Promise<void> {
    const at = this.source.value
    if (!at) return
    await this.#providers.test('connect', {
      provider: at.server ? 'custom' : at.id,
      key: this.typed.key.value.trim(),
      model: this.typed.model.value.trim(),
      baseUrl: at.server?.base_url ?? this.typed.address.value.trim(),
    })
  }

  async start(how: { overwrite: boolean }): Promise<void> {
    try {
      await this.#save(how)
    } catch (error) {
      this.#fail(wordsOf(error))
    }
  }

  async #save({ overwrite }: { overwrite: boolean }): Promise<void> {
    const { api } = this.#app.shell
    const at = this.source.value
    if (!at) return
    const model = this.typed.model.value.trim()
    if (at.server) {
      await this.#providers.use(at.server, model)
      await api('POST /api/onboarding/complete')
      return this.#finish()
    }
    if (!at.isQuick) {
      const key = this.typed.key.value.trim()
      if (key) await api('POST /api/providers', { provider: at.id, api_key: key })
      await api('POST /api/default-model', { model: `@${at.id}:${model}` })
      await api('POST /api/onboarding/complete')
      return this.#finish()
    }
    const reply = await api('POST /api/onboarding/setup', {
      provider: at.id,
      model,
      api_key: this.typed.key.value.trim(),
      base_url: this.typed.address.value.trim(),
      confirm_overwrite: overwrite,
    })
    this.needsConfirmation.value = 'requires_confirm' in reply
    if (!this.needsConfirmation.value) await this.#finish()
  }

  #inGroup(group: ModelSource['group']): ReadonlySignal<ModelSource[]> {
    return computed(() => this.#sources.value.filter(each => each.group === group))
  }

  #clearTest(): void {
    this.#providers.setTest('connect', null)
    this.needsConfirmation.value = false
  }

  async #finish(): Promise<void> {
    const { models } = this.#app
    const { onboarding } = this.#app.models
    const { toasts } = this.#app.shell
    await Promise.all([models.load(), this.#providers.load()])
    onboarding.close()
    this.choose('')
    toasts.show(t('setup.done', { model: models.labelOf(null) }))
  }
}

export const connectOf = lazyState(app => new Connect(app))
