/** The active profile of this browser, and the list of profiles. All state of the page belongs to one profile, so a switch reloads it. */
import { signal } from '@preact/signals'
import type { Profile } from '../../../lib/schema/profile.ts'
import { urlOf } from '../../api.ts'
import type { Platform } from '../../platform.ts'
import { t } from '../../strings/t.ts'
import type { Toasts } from '../shell/toast.ts'

/** The server's rule for names. */
export const isProfileName = (name: string): boolean => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)

export type NewProfile = {
  name: string
  clone_from?: string
  model?: string
  base_url?: string
  api_key?: string
}

/** localStorage key written on a switch; the `storage` event notifies other tabs. */
export const PROFILE_KEY = 'profile'

/** sessionStorage key of the toast shown after the reload. */
const PENDING_TOAST = 'said'

export type ProfilesOptions = {
  platform: Platform
  toasts: Toasts
  navigate: (url: string) => void
  /** Of all chats. */
  saveDrafts: () => Promise<void>
}

export class Profiles {
  readonly active = signal('')
  readonly list = signal<readonly Profile[]>([])
  readonly state = signal<'idle' | 'loading' | 'ready' | 'failed'>('idle')
  readonly #options: ProfilesOptions
  readonly #api: Platform['api']
  /** This tab is switching: it must not react to its own switch. */
  #isMoving = false

  constructor(options: ProfilesOptions) {
    this.#options = options
    this.#api = options.platform.api
  }

  async load(): Promise<void> {
    this.active.value = (await this.#api('GET /api/profile/active')).name
  }

  async refresh(): Promise<void> {
    const isEmpty = (): boolean => this.list.value.length === 0
    if (isEmpty()) this.state.value = 'loading'
    try {
      this.list.value = (await this.#api('GET /api/profiles')).profiles
      this.state.value = 'ready'
    } catch (error) {
      if (isEmpty()) this.state.value = 'failed'
      throw error
    }
  }

  async create(input: NewProfile): Promise<void> {
    const { profile } = await this.#api('POST /api/profile/create', input)
    const others = this.list.value.filter(({ name }) => name !== profile.name)
    const [first, ...rest] = [...others, profile].toSorted((a, b) =>
      a.is_default !== b.is_default ? (a.is_default ? -1 : 1) : a.name < b.name ? -1 : 1,
    )
    this.list.value = first ? [first, ...rest] : []
  }

  /** Shows its error. `path` is the view to open in the new profile; a session URL would not exist there. */
  async switchTo(name: string, path = ''): Promise<void> {
    if (name === this.active.value) return
    this.#isMoving = true
    try {
      await this.#options.saveDrafts()
      await this.#api('POST /api/profile/switch', { name })
      this.#options.platform.device.write(PROFILE_KEY, name)
      this.#reloadIn(name, path)
    } catch (error) {
      this.#isMoving = false
      this.#options.toasts.showError(error)
    }
  }

  /** Binds this browser to the profile of the page. */
  async keep(): Promise<void> {
    await this.#api('POST /api/profile/switch', { name: this.active.value, only_here: true })
  }

  /** Throws the server's error. */
  async remove(name: string): Promise<void> {
    this.#isMoving = true
    try {
      await this.#api('POST /api/profile/delete', { name })
      this.list.value = this.list.value.filter(profile => profile.name !== name)
      if (name !== this.active.value) {
        this.#isMoving = false
        return
      }
      this.#options.platform.device.write(PROFILE_KEY, 'default')
      this.#reloadIn('default', 'profiles')
    } catch (error) {
      this.#isMoving = false
      throw error
    }
  }

  /** Whether another tab or a deletion changed this browser's profile since the page was loaded. */
  async hasChanged(): Promise<boolean> {
    const { name } = await this.#api('GET /api/profile/active')
    return this.active.value !== '' && name !== this.active.value
  }

  /** When the tab becomes visible: another tab may have switched the profile of this browser. */
  async reloadIfChanged(): Promise<void> {
    const { navigate, platform } = this.#options
    try {
      if (!this.#isMoving && (await this.hasChanged()) && !this.#isMoving)
        navigate(urlOf(platform.base, ''))
    } catch {
      // Offline or signed out; the next request reports it.
    }
  }

  /** Of a switch before the page was loaded. */
  showPendingToast(): void {
    const { tab } = this.#options.platform
    const text = tab.read(PENDING_TOAST, '')
    if (!text) return
    tab.write(PENDING_TOAST, '')
    this.#options.toasts.show(text)
  }

  #reloadIn(name: string, path: string): void {
    const { platform, navigate } = this.#options
    platform.tab.write(PENDING_TOAST, t('profiles.entered', { name }))
    navigate(urlOf(platform.base, path))
  }
}
