/** Where the reader of a chat is, and the requests above and below it. */
import type { App } from '../../app.ts'

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

export const stepRequest = (
  { chat: { transcript: chat }, shell: { route } }: App,
  by: 1 | -1,
): void => {
  const { messages } = chat.chat.value
  const top = topRow()?.split(':')[0]
  if (!top) return
  const at = messages.findIndex(({ id }) => id === top)
  const requests = messages.flatMap(({ role, _hooks }, index) =>
    role === 'user' && !_hooks ? [index] : [],
  )
  // At the top of a request, that request is where the reader is.
  const next = by > 0 ? requests.find(index => index > at) : requests.findLast(index => index < at)
  const target = messages[next ?? -1]
  if (target) route.jumpTo(target.id, { focus: !document.activeElement?.closest('.composer') })
}
