/** Loading state of a view: what it shows until its data has arrived, and after a failure. */
import type { Signal } from '@preact/signals'

export type LoadState = 'loading' | 'ready' | 'failed'

/** Runs a load. A failure is reported; data that is already shown stays. */
export const runLoad = async (
  state: Signal<LoadState>,
  toasts: { showError: (error: unknown) => void },
  load: () => Promise<void>,
): Promise<void> => {
  try {
    await load()
    state.value = 'ready'
  } catch (error) {
    if (state.value !== 'ready') state.value = 'failed'
    toasts.showError(error)
  }
}
