/** Which profile this browser works in. */
import { signal } from '@preact/signals'
import type { Platform } from './platform.ts'

export const createProfiles = ({ api }: Pick<Platform, 'api'>) => {
  const active = signal('')
  return {
    active,
    async load(): Promise<void> {
      active.value = (await api('GET /api/profile/active')).name
    },
  }
}

export type Profiles = ReturnType<typeof createProfiles>
