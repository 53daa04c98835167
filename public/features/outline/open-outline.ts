/** Opens the outline, and steps from request to request. */
import { h } from 'preact'
import type { App } from '../../app.ts'
import { HeldKeys } from '../shell/held-keys.tsx'
import { lazy } from '../../parts/lazy.tsx'

const Outline = lazy(async () => (await import('./outline-view.tsx')).Outline, HeldKeys)

export const openOutline = ({
  chat: { transcript: chat },
  shell: { layout, route },
}: App): 'pass' | undefined => {
  if (route.current.value.view !== 'chat' || chat.chat.value.messages.length === 0) return 'pass'
  layout.overlay.value = h(Outline, {})
}

/** Jumps to the request above or below; the arrow keys of a text with something in it stay its own. */
export const stepRequest = (app: App, by: 1 | -1): 'pass' | undefined => {
  const field = document.activeElement
  const isTyping =
    (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) &&
    field.value !== ''
  if (isTyping || app.shell.route.current.value.view !== 'chat') return 'pass'
  void app.shell.attempt(async () => (await import('./step-request.ts')).stepRequest(app, by))
}
