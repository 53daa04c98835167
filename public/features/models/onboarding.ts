/** Onboarding: whether a model still has to be connected, and the dialog for it. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export const createOnboarding = ({ api }: Pick<Platform, 'api'>) => {
  /** Null until loaded, which happens only with the demo model. */
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
        // Not essential: the demo model works, and Settings offers the same.
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
