/** The available models by provider, and the ones this browser used last. */
import { computed, signal } from '@preact/signals'
import type { ModelGroup, ModelOption } from '../../../lib/schema/model.ts'
import type { Platform } from '../../platform.ts'
import { createOnboarding } from './onboarding.ts'

export type Model = ModelOption & { provider: string }

const MAX_RECENT = 5

const stripProvider = (id: string): string => id.replace(/^@[^:]+:/, '')

/** Best match first: exact id or label, then a prefix of either, then all words anywhere. */
export const matchModels = (models: readonly Model[], query: string): Model[] => {
  const wanted = query.trim().toLowerCase()
  if (!wanted) return [...models]
  const words = wanted.split(/\s+/)
  const rank = (model: Model): number => {
    const id = model.id.toLowerCase()
    const label = model.label.toLowerCase()
    if (id === wanted || stripProvider(id) === wanted || label === wanted) return 0
    if (label.startsWith(wanted) || stripProvider(id).startsWith(wanted)) return 1
    const text = `${label} ${id} ${model.provider.toLowerCase()}`
    return words.every(word => text.includes(word)) ? 2 : 3
  }
  return models
    .map(model => ({ model, at: rank(model) }))
    .filter(({ at }) => at < 3)
    .sort((a, b) => a.at - b.at)
    .map(({ model }) => model)
}

export const createModels = ({ api, device }: Pick<Platform, 'api' | 'device'>) => {
  const groups = signal<readonly ModelGroup[]>([])
  const defaultId = signal('')
  const loaded = signal(false)
  const recentIds = signal<readonly string[]>(device.read('recent-models', []))
  const all = computed<readonly Model[]>(() =>
    groups.value.flatMap(({ provider, models }) => models.map(model => ({ ...model, provider }))),
  )
  const byId = computed(() => new Map(all.value.map(model => [model.id, model])))

  const isDemo = computed(
    () =>
      groups.value[0]?.provider_id === 'demo' &&
      groups.value.every(({ provider_id: id }) => id === 'demo' || id === 'acp'),
  )

  return {
    groups,
    /** Whether a model still has to be connected. */
    onboarding: createOnboarding({ api }),
    all,
    loaded,
    /** No model is configured, so the demo model answers. */
    isDemo,
    /** The model of sessions that have not selected one. */
    defaultId,
    recent: computed(() =>
      recentIds.value.flatMap(id => {
        const model = byId.value.get(id)
        return model ? [model] : []
      }),
    ),
    labelOf(id: string | null): string {
      // Without a configured model the demo model answers, whatever the default says.
      const only = groups.value[0]
      if (isDemo.value && only && (!id || only.models.some(model => model.id === id)))
        return only.provider
      const wanted = id || defaultId.value || (all.value.length === 1 ? all.value[0]!.id : '')
      if (!wanted) return ''
      return byId.value.get(wanted)?.label ?? stripProvider(wanted).split('/').at(-1) ?? wanted
    },
    /** True for an external agent; accepts a session's `@acp:` id and the bare id of a default. */
    isExternalAgent(id: string): boolean {
      const wanted = id || defaultId.value
      return wanted.startsWith('@acp:') || byId.value.has(`@acp:${wanted}`)
    },
    markUsed(id: string): void {
      recentIds.value = [id, ...recentIds.value.filter(other => other !== id)].slice(0, MAX_RECENT)
      device.write('recent-models', recentIds.value)
    },
    async load(): Promise<void> {
      const reply = await api('GET /api/models')
      groups.value = reply.groups
      defaultId.value = reply.default_model
      loaded.value = true
    },
    async setDefault(id: string): Promise<void> {
      await api('POST /api/default-model', { model: id })
      const reply = await api('GET /api/models')
      groups.value = reply.groups
      defaultId.value = reply.default_model
    },
  }
}

export type Models = ReturnType<typeof createModels>
