/** What the first model can be connected to, what was typed for it, and connecting it. */
import { batch, computed, signal } from '@preact/signals'
import type { ModelOption } from '../../../lib/schema/model.ts'
import type { LocalServer } from '../../../lib/schema/provider.ts'
import type { App } from '../../app.ts'
import { tp } from './strings.ts'
import { providersOf } from './providers.ts'
import { roomOf } from '../../parts/lazy-state.ts'

export type Offer = {
  /** Of a provider, or `local:<server>`. */
  id: string
  name: string
  text: string
  models: readonly ModelOption[]
  model: string
  needsAddress: boolean
  hasKey: boolean
  /** Already there: a key or a running server. */
  isFound: boolean
  server: LocalServer | null
}

type Quick = {
  id: string
  label: string
  env_var: string
  default_model: string
  requires_base_url: boolean
  models: ModelOption[]
}

const ofServer = (server: LocalServer): Offer => ({
  id: `local:${server.id}`,
  name: server.name,
  text: tp('setup.found.local', { models: tp('local.models', { count: server.models.length }) }),
  models: server.models,
  model: server.models[0]?.id ?? '',
  needsAddress: false,
  hasKey: true,
  isFound: true,
  server,
})

const textOf = (quick: Quick): string => {
  if (quick.id === 'openrouter') return tp('setup.openrouter.text')
  return quick.id === 'custom' ? tp('setup.custom.text') : quick.env_var
}

/** What is suggested can be chosen; an address of one's own suggests nothing. */
const withDefault = ({ id, models, default_model }: Quick): readonly ModelOption[] =>
  id === 'custom' || models.some(model => model.id === default_model)
    ? models
    : [{ id: default_model, label: default_model }, ...models]

const createConnect = (app: App) => {
  const { api, models, onboarding, toasts } = app
  const providers = providersOf(app)
  const offers = signal<readonly Offer[]>([])
  const loaded = signal(false)
  const chosen = signal('')
  const typed = { key: signal(''), model: signal(''), address: signal('') }
  /** The configuration is there already and would be changed. */
  const asking = signal(false)
  const offer = computed(() => offers.value.find(({ id }) => id === chosen.value))

  const ofQuick = (quick: Quick): Offer => {
    const row = providers.rows.value.find(({ id }) => id === quick.id)
    const isFound = row?.has_key === true && quick.id !== 'custom'
    return {
      id: quick.id,
      name: quick.id === 'custom' ? tp('setup.custom') : quick.label,
      text: isFound
        ? tp('setup.found.key', { source: row.key_name ?? quick.env_var })
        : textOf(quick),
      models: withDefault(quick),
      model: quick.id === 'custom' ? '' : quick.default_model,
      needsAddress: quick.requires_base_url,
      hasKey: isFound,
      isFound,
      server: null,
    }
  }

  const forget = (): void => {
    providers.say('connect', null)
    asking.value = false
  }

  const choose = (id: string): void => {
    const next = offers.value.find(each => each.id === id)
    batch(() => {
      chosen.value = id
      typed.key.value = ''
      typed.address.value = ''
      typed.model.value = next?.model ?? ''
      forget()
    })
  }

  const finish = async (): Promise<void> => {
    await Promise.all([models.load(), providers.load()])
    onboarding.done()
    toasts.show(tp('setup.done', { model: models.labelOf(null) }))
  }

  return {
    ...typed,
    chosen,
    offer,
    loaded,
    asking,
    found: computed(() => offers.value.filter(({ isFound }) => isFound)),
    others: computed(() => offers.value.filter(({ isFound }) => !isFound)),
    /** Everything that is needed has been typed. */
    ready: computed(() => {
      const at = offer.value
      if (!at || !typed.model.value.trim()) return false
      if (at.needsAddress) return typed.address.value.trim() !== ''
      return at.hasKey || typed.key.value.trim() !== ''
    }),
    choose,
    type(field: keyof typeof typed, text: string): void {
      typed[field].value = text
      forget()
    },
    async load(): Promise<void> {
      const [{ setup }, { servers }] = await Promise.all([
        api('GET /api/onboarding/status'),
        api('GET /api/models/local'),
        providers.load(),
      ])
      offers.value = [
        ...servers.filter(server => server.models.length > 0).map(ofServer),
        ...setup.providers.map(ofQuick),
      ]
      loaded.value = true
      const first = offers.value.find(({ isFound }) => isFound) ?? offers.value[0]
      if (!offer.value && first) choose(first.id)
    },
    async test(): Promise<void> {
      const at = offer.value
      if (!at) return
      await providers.test('connect', {
        provider: at.server ? 'custom' : at.id,
        key: typed.key.value.trim(),
        model: typed.model.value.trim(),
        baseUrl: at.server?.base_url ?? typed.address.value.trim(),
      })
    },
    async start({ over }: { over: boolean }): Promise<void> {
      const at = offer.value
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
        confirm_overwrite: over,
      })
      asking.value = 'requires_confirm' in reply
      if (!asking.value) await finish()
    },
  }
}

export type Connect = ReturnType<typeof createConnect>

export const connectOf = roomOf(createConnect)
