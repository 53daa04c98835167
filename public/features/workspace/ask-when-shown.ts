/** Questions of a chat whose request may be answered after the person has gone elsewhere. */
import type { ReadonlySignal } from '@preact/signals'
import type { Confirmation, Layout } from '../shell/layout.ts'

/** Asks at once when the chat is shown, or when it is shown again. */
export const askWhenShown =
  ({ confirmation }: Layout, isShown: ReadonlySignal<boolean>) =>
  (question: Confirmation): void => {
    const ask = () => {
      confirmation.value = question
    }
    if (isShown.peek()) {
      ask()
      return
    }
    const stop = isShown.subscribe(value => {
      if (!value) return
      stop()
      ask()
    })
  }
