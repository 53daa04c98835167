/** The active profile of this browser, and the list of profiles. */
import { signal } from '@preact/signals'
import type { Profile } from '../../../lib/schema/profile.ts'
import type { Platform } from '../../platform.ts'

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

export const createProfiles = ({ api, device }: Pick<Platform, 'api' | 'device'>) => {
  const active = signal('')
  const list = signal<readonly Profile[]>([])
  const state = signal<'idle' | 'loading' | 'ready' | 'failed'>('idle')

  return {
    active,
    list,
    state,
    async load(): Promise<void> {
      active.value = (await api('GET /api/profile/active')).name
    },
    /** Whether another tab or a deletion changed this browser's profile since the page loaded. */
    async hasChanged(): Promise<boolean> {
      const { name } = await api('GET /api/profile/active')
      return active.value !== '' && name !== active.value
    },
    async refresh(): Promise<void> {
      if (list.value.length === 0) state.value = 'loading'
      try {
        list.value = (await api('GET /api/profiles')).profiles
        state.value = 'ready'
      } catch (error) {
        if (list.value.length === 0) state.value = 'failed'
        throw error
      }
    },
    async create(input: NewProfile): Promise<void> {
      const { profile } = await api('POST /api/profile/create', input)
      const others = list.value.filter(({ name }) => name !== profile.name)
      const [first, ...named] = [...others, profile].toSorted((a, b) =>
        a.is_default !== b.is_default ? (a.is_default ? -1 : 1) : a.name < b.name ? -1 : 1,
      )
      list.value = first ? [first, ...named] : []
    },
    /** The caller must reload the page. */
    async switchTo(name: string): Promise<void> {
      await api('POST /api/profile/switch', { name })
      device.write(PROFILE_KEY, name)
    },
    /** Binds this browser to the profile of the page. */
    async keep(): Promise<void> {
      await api('POST /api/profile/switch', { name: active.value, only_here: true })
    },
    /** True when it was the active profile. */
    async remove(name: string): Promise<boolean> {
      await api('POST /api/profile/delete', { name })
      list.value = list.value.filter(profile => profile.name !== name)
      if (name !== active.value) return false
      device.write(PROFILE_KEY, 'default')
      return true
    },
  }
}

export type Profiles = ReturnType<typeof createProfiles>
