/** Providers and API keys of the settings, test results, and local model servers. */
import { computed, signal } from '@preact/signals'
import type { LocalServer, ProviderRow, ProviderTestResult } from '../../../lib/schema/provider.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'

export type TestStatus =
  | { busy: true }
  | (Pick<ProviderTestResult, 'ok' | 'message' | 'hint' | 'sentences'> & { busy: false })
export type KeyInput = { provider: string; key: string; model?: string; baseUrl?: string }

type ProvidersOptions = Pick<App, 'api' | 'models' | 'toasts'>

export const createProviders = ({ api, models, toasts }: ProvidersOptions) => {
  const rows = signal<readonly ProviderRow[]>([])
  const active = signal<string | null>(null)
  const state = signal<LoadState>('loading')
  const tests = signal<Readonly<Record<string, TestStatus>>>({})
  const servers = signal<readonly LocalServer[] | 'looking' | null>(null)

  const load = (): Promise<void> =>
    runLoad(state, toasts, async () => {
      const reply = await api('GET /api/providers')
      rows.value = reply.providers
      active.value = reply.active_provider
    })

  /** A changed key changes the model menu as well. */
  const changed = async (): Promise<void> => {
    await Promise.all([load(), models.load()])
  }

  const setTest = (at: string, status: TestStatus | null): void => {
    const { [at]: _, ...others } = tests.value
    tests.value = status ? { ...others, [at]: status } : others
  }

  return {
    rows,
    state,
    tests,
    servers,
    active,
    load,
    /** Providers with a key or an expired sign-in, and the active one; without aliases. */
    connected: computed(() =>
      rows.value.filter(
        row =>
          row.alias_of === null && (row.has_key || row.needs_sign_in || row.id === active.value),
      ),
    ),
    addable: computed(() =>
      rows.value
        .filter(row => row.alias_of === null && row.configurable)
        .toSorted((a, b) => a.display_name.localeCompare(b.display_name)),
    ),
    setTest,
    /** Makes a real call; `at` identifies where its result is shown. */
    async test(at: string, { provider, key, model, baseUrl }: KeyInput): Promise<boolean> {
      setTest(at, { busy: true })
      try {
        const { ok, message, hint } = await api('POST /api/providers/test', {
          provider,
          ...(key ? { api_key: key } : {}),
          ...(model ? { model } : {}),
          ...(baseUrl ? { base_url: baseUrl } : {}),
        })
        setTest(at, { busy: false, ok, message, ...(hint ? { hint } : {}) })
        return ok
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        setTest(at, { busy: false, ok: false, message })
        return false
      }
    },
    async save(provider: string, key: string): Promise<void> {
      const { display_name } = await api('POST /api/providers', { provider, api_key: key })
      toasts.show(t('add.saved', { name: display_name }))
      await changed()
    },
    async remove(provider: string): Promise<void> {
      const { display_name } = await api('POST /api/providers/delete', { provider })
      setTest(provider, null)
      toasts.show(t('keys.removed', { name: display_name }))
      await changed()
    },
    async scan(): Promise<void> {
      servers.value = 'looking'
      try {
        servers.value = (await api('GET /api/models/local')).servers
      } catch (error) {
        servers.value = null
        throw error
      }
    },
    async use(server: LocalServer, model: string): Promise<void> {
      await api('POST /api/providers/self-hosted', {
        name: server.name,
        base_url: server.base_url,
        model,
        use: true,
      })
      await changed()
      if (Array.isArray(servers.value))
        servers.value = servers.value.map(each =>
          each === server ? { ...server, configured: true } : each,
        )
      toasts.show(t('local.used', { model }))
    },
  }
}

export type Providers = ReturnType<typeof createProviders>

export const providersOf = lazyState(createProviders)
