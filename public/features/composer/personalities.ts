/** Personalities defined in the agent's configuration, and the one set for a session. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type Personality = { name: string; description: string }

export const createPersonalities = ({ api }: Pick<Platform, 'api'>) => {
  const list = signal<readonly Personality[]>([])
  return {
    list,
    async load(): Promise<void> {
      list.value = (await api('GET /api/personalities')).personalities
    },
    /** An empty name clears it. Returns the personality in effect. */
    set: async (sessionId: string, name: string): Promise<string | null> =>
      (await api('POST /api/personality/set', { session_id: sessionId, name })).personality,
  }
}

export type Personalities = ReturnType<typeof createPersonalities>
