/** Questions of a chat whose request may be answered after the person has gone elsewhere. */
import type { ReadonlySignal } from '@preact/signals'
import type { Confirmation } from '../shell/layout.ts'

type Page = {
  isShown: ReadonlySignal<boolean>
  layout: { confirmation: { value: Confirmation | null } }
}

/** Asks at once when the chat is shown, or when it is shown again. */
export const askWhenShown =
  ({ isShown, layout }: Page) =>
  (question: Confirmation): void => {
    const ask = () => {
      layout.confirmation.value = question
    }
    if (isShown.peek()) {
      ask()
      return
    }
    const stop = isShown.subscribe(shown => {
      if (!shown) return
      stop()
      ask()
    })
  }
