/** Connecting the first model: the sources, the form, the test, and saving. */
import { listOf } from '../../strings/t.ts'
import { batch, computed, signal } from '@preact/signals'
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

const createConnect = (app: App) => {
  const { api, toasts } = app.shell
  const models = app.models
  const { onboarding } = models
  const providers = providersOf(app)
  const sources = signal<readonly ModelSource[]>([])
  const loaded = signal(false)
  const chosen = signal('')
  const typed = { key: signal(''), model: signal(''), address: signal('') }
  /** config.yaml exists; saving needs a confirmation. */
  const needsConfirmation = signal(false)
  /** Of the chosen source, fetched with the typed key; null: none yet. */
  const listed = signal<readonly ModelOption[] | null>(null)
  const source = computed(() => sources.value.find(({ id }) => id === chosen.value))

  const inGroup = (group: ModelSource['group']) =>
    computed(() => sources.value.filter(each => each.group === group))

  const clearTest = (): void => {
    providers.setTest('connect', null)
    needsConfirmation.value = false
  }

  const choose = (id: string): void => {
    const next = sources.value.find(each => each.id === id)
    batch(() => {
      chosen.value = id
      typed.key.value = ''
      typed.address.value = ''
      typed.model.value = next?.model ?? ''
      listed.value = null
      clearTest()
    })
  }

  const finish = async (): Promise<void> => {
    await Promise.all([models.load(), providers.load()])
    onboarding.close()
    toasts.show(t('setup.done', { model: models.labelOf(null) }))
  }

  return {
    ...typed,
    chosen,
    source,
    loaded,
    needsConfirmation,
    found: inGroup('found'),
    popular: inGroup('popular'),
    more: inGroup('more'),
    /** The models that the chosen source offers: those it listed for the typed key, else the known ones. */
    offered: computed(() => listed.value ?? source.value?.models ?? []),
    /** All required fields are filled. */
    ready: computed(() => {
      const at = source.value
      if (!at || !typed.model.value.trim()) return false
      if (at.needsAddress) return typed.address.value.trim() !== ''
      return at.hasKey || typed.key.value.trim() !== ''
    }),
    choose,
    type(field: keyof typeof typed, text: string): void {
      typed[field].value = text
      clearTest()
    },
    async load(): Promise<void> {
      const [{ setup }, { servers }] = await Promise.all([
        api('GET /api/onboarding/status'),
        api('GET /api/models/local'),
        providers.load(),
      ])
      sources.value = [
        ...servers.filter(server => server.models.length > 0).map(sourceOfServer),
        ...providerSources(providers, setup.providers),
      ]
      loaded.value = true
      const first = sources.value.find(({ group }) => group === 'found') ?? sources.value[0]
      if (!source.value && first) choose(first.id)
    },
    /** Fetches the models that the typed key or address gives access to. The known ones stay when that fails. */
    async listModels(): Promise<void> {
      const at = source.value
      const [key, address] = [typed.key.value.trim(), typed.address.value.trim()]
      if (!at || at.server || (at.needsAddress ? address === '' : key === '')) return
      const reply = await api('POST /api/onboarding/probe', {
        provider: at.id,
        ...(key && { api_key: key }),
        ...(address && { base_url: address }),
      })
      // The fields may have changed since.
      if (source.value !== at || typed.key.value.trim() !== key) return
      if (!reply.ok) {
        providers.setTest('connect', { busy: false, ok: false, message: reply.message })
        return
      }
      batch(() => {
        listed.value = reply.models
        if (typed.model.value === '') typed.model.value = reply.models[0]?.id ?? ''
      })
    },
    async test(): Promise<void> {
      const at = source.value
      if (!at) return
      await providers.test('connect', {
        provider: at.server ? 'custom' : at.id,
        key: typed.key.value.trim(),
        model: typed.model.value.trim(),
        baseUrl: at.server?.base_url ?? typed.address.value.trim(),
      })
    },
    async start({ overwrite }: { overwrite: boolean }): Promise<void> {
      const at = source.value
      if (!at) return
      const model = typed.model.value.trim()
      if (at.server) {
        await providers.use(at.server, model)
        await api('POST /api/onboarding/complete')
        return finish()
      }
      if (!at.isQuick) {
        const key = typed.key.value.trim()
        if (key) await api('POST /api/providers', { provider: at.id, api_key: key })
        await api('POST /api/default-model', { model: `@${at.id}:${model}` })
        await api('POST /api/onboarding/complete')
        return finish()
      }
      const reply = await api('POST /api/onboarding/setup', {
        provider: at.id,
        model,
        api_key: typed.key.value.trim(),
        base_url: typed.address.value.trim(),
        confirm_overwrite: overwrite,
      })
      needsConfirmation.value = 'requires_confirm' in reply
      if (!needsConfirmation.value) await finish()
    },
  }
}

export type Connect = ReturnType<typeof createConnect>

export const connectOf = lazyState(app => createConnect(app))
