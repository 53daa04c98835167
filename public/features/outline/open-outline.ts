/** Opens the outline, and steps from request to request. */
import { h } from 'preact'
import type { App } from '../../app.ts'
import { HeldKeys } from '../shell/held-keys.tsx'
import { lazy } from '../../parts/lazy.tsx'

const Outline = lazy(async () => (await import('./outline-view.tsx')).Outline, HeldKeys)

export const openOutline = ({ chat, layout, route }: App): 'pass' | undefined => {
  if (route.current.value.view !== 'chat' || chat.chat.value.messages.length === 0) return 'pass'
  layout.overlay.value = h(Outline, {})
}

/** The first row in the viewport, at least partly. */
const isAbove = (element: Element, edge: number): boolean =>
  element.getBoundingClientRect().bottom <= edge

/** Key of the row at the top of the viewport. */
export const topRow = (): string | null => {
  const scroller =
    document.querySelector('.side-active .tx-scroll') ?? document.querySelector('.tx-scroll')
  if (!scroller) return null
  // A row that was jumped to begins a little below the edge.
  const edge = scroller.getBoundingClientRect().top + 24
  const rows = [...scroller.querySelectorAll<HTMLElement>('.tx-row')]
  return rows.find(row => !isAbove(row, edge))?.dataset.key ?? rows.at(-1)?.dataset.key ?? null
}

/** Jumps to the request above or below; the arrow keys of a text with something in it stay its own. */
export const stepRequest = ({ chat, route }: App, by: 1 | -1): 'pass' | undefined => {
  const field = document.activeElement
  const isTyping =
    (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) &&
    field.value !== ''
  const { messages } = chat.chat.value
  const top = topRow()?.split(':')[0]
  if (isTyping || route.current.value.view !== 'chat' || !top) return 'pass'
  const at = messages.findIndex(({ id }) => id === top)
  const requests = messages.flatMap(({ role, _hooks }, index) =>
    role === 'user' && !_hooks ? [index] : [],
  )
  // At the top of a request, that request is where the reader is.
  const next = by > 0 ? requests.find(index => index > at) : requests.findLast(index => index < at)
  const target = messages[next ?? -1]
  if (target) route.jumpTo(target.id, { focus: !field?.closest('.composer') })
  return target ? undefined : 'pass'
}
