/** The first visit: whether a model still has to be connected, and whether the person wants to be asked. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export const createOnboarding = ({ api }: Pick<Platform, 'api'>) => {
  /** Null until it is known; asked only where nothing but the demo is there. */
  const needed = signal<boolean | null>(null)
  const open = signal(false)
  return {
    needed,
    /** The dialog that connects a model. */
    open,
    async load(): Promise<void> {
      if (needed.value !== null) return
      needed.value = false
      try {
        const { completed } = await api('GET /api/onboarding/status')
        needed.value = !completed
      } catch {
        // Unreachable for the moment: the demo answers, and the settings lead here as well.
      }
    },
    async skip(): Promise<void> {
      needed.value = false
      open.value = false
      await api('POST /api/onboarding/complete')
    },
    close(): void {
      needed.value = false
      open.value = false
    },
  }
}

export type Onboarding = ReturnType<typeof createOnboarding>
