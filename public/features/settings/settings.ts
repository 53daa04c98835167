/** The user's settings: applied optimistically, saved in the background, rolled back on failure. */
import { computed, signal, type Signal } from '@preact/signals'
import {
  DEFAULT_SETTINGS,
  LOOK,
  PERSONAL_SETTINGS,
  SETTING_NAMES,
} from '../../../lib/base/setting-defaults.ts'
import type { SettingName, Settings } from '../../../lib/base/settings.ts'
import type { Api } from '../../../router.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import { setRefused } from '../../parts/may.ts'

export type { Settings }
export type Person = NonNullable<Api['GET /api/settings']['output']['person']>
export type SaveStatus = 'saving' | 'saved' | 'failed'

export const THEMES = [
  'system',
  'dark',
  'light',
  'mist',
  'solarized',
  'monokai',
  'nord',
  'contrast',
] as const
export type Theme = (typeof THEMES)[number]
export const isTheme = (name: string): name is Theme => THEMES.includes(name as Theme)

const MARK_MS = 2_000

const routeOf = (name: SettingName) =>
  PERSONAL_SETTINGS.includes(name) ? 'POST /api/settings/personal' : 'POST /api/settings'

export type Look = Pick<Settings, (typeof LOOK)[number]>

const attributeOf = (key: keyof Look): string => `data-${key.replace('_', '-')}`

export const readLook = (page: Element): Partial<Look> =>
  Object.fromEntries(
    LOOK.flatMap(key => {
      const value = page.getAttribute(attributeOf(key))
      return value ? [[key, value]] : []
    }),
  )

export const writeLook = (page: Element, settings: Look): void => {
  for (const key of LOOK) page.setAttribute(attributeOf(key), settings[key])
}

export class SettingsState {
  readonly #platform: Platform
  readonly #toasts: Toasts
  readonly current: Signal<Settings>
  readonly version = signal<string | null>(null)
  /** Who is signed in; null: the only owner, or not loaded yet. */
  readonly person = signal<Person | null>(null)
  /** Where the password comes from; null until loaded. */
  readonly password = signal<'none' | 'stored' | 'environment' | 'missing' | null>(null)
  readonly saveStatus = signal<Readonly<Record<string, SaveStatus>>>({})
  /** Counts what the user chose and what the server answered to it. */
  #count = 0
  /** By setting, the count of its newest choice, or of the answer to that. */
  readonly #newest = new Map<string, number>()
  /** Settings that are being saved: how many requests are under way, and what the server has. */
  readonly #saving = new Map<string, { requests: number; remote: unknown; isRefused: boolean }>()
  readonly simulateUpdates: boolean
  readonly isOwner = computed(() => (this.person.value?.role ?? 'owner') === 'owner')
  readonly theme = computed(() => this.current.value.theme)
  readonly detailed = computed(() => this.current.value.sidebar_density === 'detailed')

  constructor(
    platform: Platform,
    toasts: Toasts,
    /** What the server put into the page, used by the first paint. */
    look: Partial<Look> = {},
    /** The address asks for a simulated update, for tests. */
    simulateUpdates = false,
  ) {
    this.#platform = platform
    this.#toasts = toasts
    this.current = signal<Settings>({ ...DEFAULT_SETTINGS, ...look })
    this.simulateUpdates = simulateUpdates
  }

  setSaveStatus(key: string, value: SaveStatus | null): void {
    const { [key]: _, ...rest } = this.saveStatus.value
    this.saveStatus.value = value ? { ...rest, [key]: value } : rest
  }

  finishSave(key: string, value: SaveStatus): void {
    this.setSaveStatus(key, value)
    this.#platform.clock.timer(
      MARK_MS,
      () => this.saveStatus.value[key] === value && this.setSaveStatus(key, null),
    )
  }

  async save<K extends keyof Settings>(key: K, value: Settings[K]): Promise<void> {
    const { api } = this.#platform
    const saving = this.#saving.get(key) ?? {
      requests: 0,
      remote: this.current.value[key],
      isRefused: false,
    }
    saving.requests += 1
    saving.isRefused = false
    this.#saving.set(key, saving)
    this.#show(key, value)
    this.setSaveStatus(key, 'saving')
    const choice = this.#note(key)
    // A newer choice may have been made during the request.
    const isNewest = () => this.#newest.get(key) === choice
    try {
      const reply = await api(routeOf(key), { [key]: value })
      saving.remote = value
      if (!isNewest()) {
        // The newer choice was refused before this reply arrived.
        if (saving.isRefused) this.#show(key, value)
        return
      }
      this.#applyReply(reply, choice, key)
      this.#note(key)
      this.finishSave(key, 'saved')
    } catch (error) {
      this.#toasts.showError(error)
      if (!isNewest()) return
      saving.isRefused = true
      this.#show(key, saving.remote)
      this.finishSave(key, 'failed')
    } finally {
      saving.requests -= 1
      if (saving.requests === 0) this.#saving.delete(key)
    }
  }

  /** `choice`: a language tag, or `browser`. Returns true when the page has to be loaded again to show it. */
  async chooseLanguage(choice: string): Promise<boolean> {
    if (choice === 'browser') await this.save('language_from', choice)
    else await this.save('language', choice)
    return this.saveStatus.value[choice === 'browser' ? 'language_from' : 'language'] === 'saved'
  }

  async load(): Promise<void> {
    const since = this.#count
    const reply = await this.#platform.api('GET /api/settings')
    this.#applyReply(reply, since)
    this.version.value = reply.webui_version
    this.person.value = reply.person ?? null
    setRefused(reply.person?.refused ?? [])
    this.#applyPassword(reply)
  }

  /** `current`: the password in force, when the server asked for it. */
  async setPassword(password: string, current?: string): Promise<void> {
    const { api } = this.#platform
    if ((this.person.value?.id ?? '') !== '') {
      await api('POST /api/people/password', { password, current })
      return
    }
    const reply = await api('POST /api/settings', {
      _set_password: password,
      _current_password: current,
    })
    this.#applyPassword(reply)
  }

  async clearPassword(current?: string): Promise<void> {
    const reply = await this.#platform.api('POST /api/settings', {
      _clear_password: true,
      _current_password: current,
    })
    this.#applyPassword(reply)
  }

  #note(key: string): number {
    this.#count += 1
    this.#newest.set(key, this.#count)
    return this.#count
  }

  /** `since`: the count when the request was sent. What was chosen or answered later is newer than the reply. */
  #applyReply(reply: Partial<Settings>, since: number, saved?: string): void {
    const names = SETTING_NAMES.filter(
      key =>
        reply[key] !== undefined &&
        (key === saved ||
          ((this.#newest.get(key) ?? 0) <= since && this.saveStatus.value[key] !== 'saving')),
    )
    const values = names.map(key => [key, reply[key]])
    this.current.value = { ...this.current.value, ...Object.fromEntries(values) }
  }

  #show(key: string, value: unknown): void {
    this.current.value = { ...this.current.value, [key]: value }
  }

  #applyPassword(reply: {
    auth_enabled: boolean
    password_env_var: boolean
    password_missing: boolean
  }): void {
    this.password.value = reply.password_env_var
      ? 'environment'
      : reply.password_missing
        ? 'missing'
        : reply.auth_enabled
          ? 'stored'
          : 'none'
  }
}
