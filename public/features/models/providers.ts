/** Providers and API keys of the settings, test results, and local model servers. */
import { computed, signal } from '@preact/signals'
import type { LocalServer, ProviderRow, ProviderTestResult } from '../../../lib/schema/provider.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { Models } from './models.ts'
import { t } from './strings.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'

export type TestStatus =
  | { busy: true }
  | (Pick<ProviderTestResult, 'ok' | 'message' | 'hint' | 'sentences'> & { busy: false })
export type KeyInput = { provider: string; key: string; model?: string; baseUrl?: string }

export class Providers {
  readonly #shell: Shell
  readonly #models: Models
  readonly rows = signal<readonly ProviderRow[]>([])
  readonly active = signal<string | null>(null)
  readonly state = signal<LoadState>('loading')
  readonly tests = signal<Readonly<Record<string, TestStatus>>>({})
  readonly servers = signal<readonly LocalServer[] | 'looking' | null>(null)
  /** Providers with a key or an expired sign-in, and the active one; without aliases. */
  readonly connected = computed(() => {
    const rows = this.rows.value.filter(
      row =>
        row.alias_of === null && (row.has_key || row.needs_sign_in || row.id === this.active.value),
    )
    const own = rows.find(({ id }) => id === 'custom')
    // The command line keeps the key of a server of one's own in the variable of OpenAI: one key, one row.
    return rows.filter(
      row => row.id !== 'openai' || !own?.key_name || row.key_name !== own.key_name,
    )
  })
  readonly addable = computed(() =>
    this.rows.value
      .filter(row => row.alias_of === null && row.configurable)
      .toSorted((a, b) => a.display_name.localeCompare(b.display_name)),
  )

  constructor(shell: Shell, models: Models) {
    this.#shell = shell
    this.#models = models
  }

  load(): Promise<void> {
    const { toasts, api } = this.#shell
    return runLoad(this.state, toasts, async () => {
      const reply = await api('GET /api/providers')
      this.rows.value = reply.providers
      this.active.value = reply.active_provider
    })
  }

  setTest(at: string, status: TestStatus | null): void {
    const { [at]: _, ...others } = this.tests.value
    this.tests.value = status ? { ...others, [at]: status } : others
  }

  /** Makes a real call; `at` identifies where its result is shown. */
  async test(at: string, { provider, key, model, baseUrl }: KeyInput): Promise<boolean> {
    this.setTest(at, { busy: true })
    try {
      const { ok, message, hint, sentences } = await this.#shell.api('POST /api/providers/test', {
        provider,
        ...(key ? { api_key: key } : {}),
        ...(model ? { model } : {}),
        ...(baseUrl ? { base_url: baseUrl } : {}),
      })
      this.setTest(at, {
        busy: false,
        ok,
        message,
        ...(hint && { hint }),
        ...(sentences && { sentences }),
      })
      return ok
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.setTest(at, { busy: false, ok: false, message })
      return false
    }
  }

  async save(provider: string, key: string): Promise<void> {
    const { api, toasts } = this.#shell
    const { display_name } = await api('POST /api/providers', { provider, api_key: key })
    toasts.show(t('add.saved', { name: display_name }))
    await this.#changed()
  }

  /** Tested at once, because a wrong address is found out there. */
  async move(provider: string, baseUrl: string, key: string, name?: string): Promise<void> {
    await this.#shell.api('POST /api/providers/address', {
      provider,
      base_url: baseUrl,
      ...(key && { api_key: key }),
      ...(name !== undefined && { name }),
    })
    await this.#changed()
    void this.test(provider, { provider, key: '' })
  }

  async remove(provider: string): Promise<void> {
    const { api, toasts } = this.#shell
    const { display_name } = await api('POST /api/providers/delete', { provider })
    this.setTest(provider, null)
    toasts.show(t('keys.removed', { name: display_name }))
    await this.#changed()
  }

  async scan(): Promise<void> {
    this.servers.value = 'looking'
    try {
      this.servers.value = (await this.#shell.api('GET /api/models/local')).servers
    } catch (error) {
      this.servers.value = null
      throw error
    }
  }

  async use(server: LocalServer, model: string): Promise<void> {
    const { api, toasts } = this.#shell
    await api('POST /api/providers/self-hosted', {
      name: server.name,
      base_url: server.base_url,
      model,
      use: true,
    })
    await this.#changed()
    if (Array.isArray(this.servers.value))
      this.servers.value = this.servers.value.map(each =>
        each === server ? { ...server, configured: true } : each,
      )
    toasts.show(t('local.used', { model }))
  }

  /** A changed key changes the model menu as well. */
  async #changed(): Promise<void> {
    await Promise.all([this.load(), this.#models.load()])
  }
}

export const providersOf = lazyState(app => new Providers(app.shell, app.models))
