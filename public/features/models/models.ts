/** The available models by provider, and the ones this browser used last. */
import { computed, signal, type Signal } from '@preact/signals'
import type { ModelGroup, ModelOption } from '../../../lib/schema/model.ts'
import type { Platform } from '../../platform.ts'

class Onboarding {
  readonly #platform: Platform
  /** Null until loaded, which happens only with the demo model. */
  readonly needed = signal<boolean | null>(null)
  /** The dialog that connects a model. */
  readonly open = signal(false)

  constructor(platform: Platform) {
    this.#platform = platform
  }

  async load(): Promise<void> {
    if (this.needed.value !== null) return
    this.needed.value = false
    try {
      const { completed } = await this.#platform.api('GET /api/onboarding/status')
      this.needed.value = !completed
    } catch {
      // Not essential: the demo model works, and Settings offers the same.
    }
  }

  async skip(): Promise<void> {
    this.needed.value = false
    this.open.value = false
    await this.#platform.api('POST /api/onboarding/complete')
  }

  close(): void {
    this.needed.value = false
    this.open.value = false
  }
}

export type Model = ModelOption & { provider: string }

const MAX_RECENT = 5

/** Without the hint of its provider. */
export const bareId = (id: string): string => id.replace(/^@[^:]+:/, '')

export class Models {
  readonly #platform: Platform
  readonly groups = signal<readonly ModelGroup[]>([])
  /** The model of sessions that have not selected one. */
  readonly defaultId = signal('')
  readonly isLoaded = signal(false)
  readonly #recentIds: Signal<readonly string[]>
  readonly all = computed<readonly Model[]>(() =>
    this.groups.value.flatMap(({ provider, models }) =>
      models.map(model => ({ ...model, provider })),
    ),
  )
  readonly #byId = computed(() => new Map(this.all.value.map(model => [model.id, model])))
  /** No model is configured, so the demo model answers. */
  readonly isDemo = computed(
    () =>
      this.groups.value[0]?.provider_id === 'demo' &&
      this.groups.value.every(({ provider_id: id }) => id === 'demo' || id === 'acp'),
  )
  /** Whether a model still has to be connected. */
  readonly onboarding
  readonly recent = computed(() =>
    this.#recentIds.value.flatMap(id => {
      const model = this.#byId.value.get(id)
      return model ? [model] : []
    }),
  )

  constructor(platform: Platform) {
    const { device } = platform
    this.#platform = platform
    this.#recentIds = signal<readonly string[]>(device.read('recent-models', []))
    this.onboarding = new Onboarding(platform)
  }

  labelOf(id: string | null): string {
    // Without a configured model the demo model answers, whatever the default says.
    const only = this.groups.value[0]
    if (this.isDemo.value && only && (!id || only.models.some(model => model.id === id)))
      return only.provider
    const modelId =
      id || this.defaultId.value || (this.all.value.length === 1 ? this.all.value[0]!.id : '')
    if (!modelId) return ''
    return this.#byId.value.get(modelId)?.label ?? bareId(modelId).split('/').at(-1) ?? modelId
  }

  /** True for an external agent; accepts a session's `@acp:` id and the bare id of a default. */
  isExternalAgent(id: string): boolean {
    const modelId = id || this.defaultId.value
    return modelId.startsWith('@acp:') || this.#byId.value.has(`@acp:${modelId}`)
  }

  markUsed(id: string): void {
    this.#recentIds.value = [id, ...this.#recentIds.value.filter(other => other !== id)].slice(
      0,
      MAX_RECENT,
    )
    this.#platform.device.write('recent-models', this.#recentIds.value)
  }

  async load(): Promise<void> {
    const reply = await this.#platform.api('GET /api/models')
    this.groups.value = reply.groups
    this.defaultId.value = reply.default_model
    this.isLoaded.value = true
  }

  async setDefault(id: string): Promise<void> {
    const { api } = this.#platform
    await api('POST /api/default-model', { model: id })
    const reply = await api('GET /api/models')
    this.groups.value = reply.groups
    this.defaultId.value = reply.default_model
  }
}
