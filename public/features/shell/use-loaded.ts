/** What a view loads when it is first shown. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useShell } from '../../contexts.ts'

/** Null until it was loaded; loaded again when `deps` change, or by the function. A failure is shown as a toast. */
export const useLoaded = <T>(
  load: () => Promise<T>,
  deps: readonly unknown[] = [],
): [loaded: Signal<T | null>, reload: () => Promise<void>] => {
  const { attempt } = useShell()
  const state = useSignal<T | null>(null)
  const reload = () =>
    attempt(async () => {
      state.value = await load()
    })
  useEffect(() => void reload(), deps)
  return [state, reload]
}
