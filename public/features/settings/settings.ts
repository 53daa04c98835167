/** The user's settings: applied optimistically, saved in the background, rolled back on failure. */
import { computed, signal } from '@preact/signals'
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

export const createSettings = (
  { api, clock }: Pick<Platform, 'api' | 'clock'>,
  toasts: Toasts,
  /** What the server put into the page, used by the first paint. */
  look: Partial<Look> = {},
) => {
  const current = signal<Settings>({ ...DEFAULT_SETTINGS, ...look })
  const version = signal<string | null>(null)
  /** Who is signed in; null: the only owner, or not loaded yet. */
  const person = signal<Person | null>(null)
  /** Where the password comes from; null until loaded. */
  const password = signal<'none' | 'stored' | 'environment' | 'missing' | null>(null)
  const saveStatus = signal<Readonly<Record<string, SaveStatus>>>({})

  const setSaveStatus = (key: string, value: SaveStatus | null): void => {
    const { [key]: _, ...rest } = saveStatus.value
    saveStatus.value = value ? { ...rest, [key]: value } : rest
  }

  /** Counts what the user chose and what the server answered to it. */
  let count = 0
  /** By setting, the count of its newest choice, or of the answer to that. */
  const newest = new Map<string, number>()
  const note = (key: string): number => {
    count += 1
    newest.set(key, count)
    return count
  }

  /** `since`: the count when the request was sent. What was chosen or answered later is newer than the reply. */
  const applyReply = (reply: Partial<Settings>, since: number, saved?: string): void => {
    const known = SETTING_NAMES.filter(
      key =>
        reply[key] !== undefined &&
        (key === saved || ((newest.get(key) ?? 0) <= since && saveStatus.value[key] !== 'saving')),
    )
    const values = known.map(key => [key, reply[key]])
    current.value = { ...current.value, ...Object.fromEntries(values) }
  }

  const finishSave = (key: string, value: SaveStatus): void => {
    setSaveStatus(key, value)
    clock.timer(MARK_MS, () => saveStatus.value[key] === value && setSaveStatus(key, null))
  }

  /** Settings that are being saved: how many requests are under way, and what the server has. */
  const saving = new Map<string, { requests: number; stored: unknown; isRefused: boolean }>()

  const show = (key: string, value: unknown): void => {
    current.value = { ...current.value, [key]: value }
  }

  const save = async <K extends keyof Settings>(key: K, value: Settings[K]): Promise<void> => {
    const held = saving.get(key) ?? { requests: 0, stored: current.value[key], isRefused: false }
    held.requests += 1
    held.isRefused = false
    saving.set(key, held)
    show(key, value)
    setSaveStatus(key, 'saving')
    const choice = note(key)
    // A newer choice may have been made during the request.
    const isNewest = () => newest.get(key) === choice
    try {
      const reply = await api(routeOf(key), { [key]: value })
      held.stored = value
      if (!isNewest()) {
        // The newer choice was refused before this reply arrived.
        if (held.isRefused) show(key, value)
        return
      }
      applyReply(reply, choice, key)
      note(key)
      finishSave(key, 'saved')
    } catch (error) {
      toasts.showError(error)
      if (!isNewest()) return
      held.isRefused = true
      show(key, held.stored)
      finishSave(key, 'failed')
    } finally {
      held.requests -= 1
      if (held.requests === 0) saving.delete(key)
    }
  }

  const applyPassword = (reply: {
    auth_enabled: boolean
    password_env_var: boolean
    password_missing: boolean
  }): void => {
    password.value = reply.password_env_var
      ? 'environment'
      : reply.password_missing
        ? 'missing'
        : reply.auth_enabled
          ? 'stored'
          : 'none'
  }

  return {
    current,
    version,
    person,
    isOwner: computed(() => (person.value?.role ?? 'owner') === 'owner'),
    password,
    saveStatus,
    theme: computed(() => current.value.theme),
    detailed: computed(() => current.value.sidebar_density === 'detailed'),
    save,
    /** `choice`: a language tag, or `browser`. Returns true when the page has to be loaded again to show it. */
    async chooseLanguage(choice: string): Promise<boolean> {
      if (choice === 'browser') await save('language_from', choice)
      else await save('language', choice)
      return saveStatus.value[choice === 'browser' ? 'language_from' : 'language'] === 'saved'
    },
    setSaveStatus,
    finishSave,
    async load(): Promise<void> {
      const since = count
      const reply = await api('GET /api/settings')
      applyReply(reply, since)
      version.value = reply.webui_version
      person.value = reply.person ?? null
      setRefused(reply.person?.refused ?? [])
      applyPassword(reply)
    },
    /** `current`: the password in force, when the server asked for it. */
    async setPassword(password: string, current?: string): Promise<void> {
      if ((person.value?.id ?? '') !== '') {
        await api('POST /api/people/password', { password, current })
        return
      }
      const reply = await api('POST /api/settings', {
        _set_password: password,
        _current_password: current,
      })
      applyPassword(reply)
    },
    async clearPassword(current?: string): Promise<void> {
      const reply = await api('POST /api/settings', {
        _clear_password: true,
        _current_password: current,
      })
      applyPassword(reply)
    },
  }
}

export type SettingsState = ReturnType<typeof createSettings>
