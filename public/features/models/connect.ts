/** Connecting the first model: the sources, the form, the test, and saving. */
import { batch, computed, signal } from '@preact/signals'
import type { ModelOption } from '../../../lib/schema/model.ts'
import type { LocalServer } from '../../../lib/schema/provider.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import { providersOf } from './providers.ts'
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
  /** A key or a running server was found. */
  isFound: boolean
  server: LocalServer | null
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
  isFound: true,
  server,
})

const textOf = (quick: SetupProvider): string => {
  if (quick.id === 'openrouter') return t('setup.openrouter.text')
  return quick.id === 'custom' ? t('setup.custom.text') : quick.env_var
}

/** The default model is always selectable, even if the list lacks it; a custom endpoint has no default. */
const withDefault = ({ id, models, default_model }: SetupProvider): readonly ModelOption[] =>
  id === 'custom' || models.some(model => model.id === default_model)
    ? models
    : [{ id: default_model, label: default_model }, ...models]

const createConnect = (app: App) => {
  const { api, models, onboarding, toasts } = app
  const providers = providersOf(app)
  const sources = signal<readonly ModelSource[]>([])
  const loaded = signal(false)
  const chosen = signal('')
  const typed = { key: signal(''), model: signal(''), address: signal('') }
  /** config.yaml exists; saving needs a confirmation. */
  const needsConfirmation = signal(false)
  const source = computed(() => sources.value.find(({ id }) => id === chosen.value))

  const sourceOfProvider = (quick: SetupProvider): ModelSource => {
    const row = providers.rows.value.find(({ id }) => id === quick.id)
    const isFound = row?.has_key === true && quick.id !== 'custom'
    return {
      id: quick.id,
      name: quick.id === 'custom' ? t('setup.custom') : quick.label,
      text: isFound
        ? t('setup.found.key', { source: row.key_name ?? quick.env_var })
        : textOf(quick),
      models: withDefault(quick),
      model: quick.id === 'custom' ? '' : quick.default_model,
      needsAddress: quick.requires_base_url,
      hasKey: isFound,
      isFound,
      server: null,
    }
  }

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
    found: computed(() => sources.value.filter(({ isFound }) => isFound)),
    others: computed(() => sources.value.filter(({ isFound }) => !isFound)),
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
        ...setup.providers.map(sourceOfProvider),
      ]
      loaded.value = true
      const first = sources.value.find(({ isFound }) => isFound) ?? sources.value[0]
      if (!source.value && first) choose(first.id)
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

export const connectOf = lazyState(createConnect)
