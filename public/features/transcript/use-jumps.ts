/** Shows the row that the address names: loads earlier messages, opens its activity, scrolls to it. */
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Place } from '../shell/route.ts'
import type { Row } from './rows.ts'
import type { ScrollController } from './scroll-controller.ts'
import { messageIdOf } from './spine.ts'
import type { Scope } from '../messages/transcript-context.ts'

type JumpScope = Pick<Scope, 'chat' | 'opened' | 'actions'>
type Rows = { peek(): readonly Row[] }

/** The activity that contains a step: `m12:a0` of `m12:a0/call`. */
const activityOf = (key: string): string | null => /^([^/]+)\//.exec(key)?.[1] ?? null

const show = async (
  place: Place,
  { actions, opened, chat }: JumpScope,
  rows: Rows,
  list: ScrollController,
): Promise<boolean> => {
  const id = messageIdOf(place.row)
  if (!chat.peek().messages.some(message => message.id === id)) {
    const isFound = (await actions.loadUntil?.(id)) ?? false
    if (!isFound) return false
    // A later jump, or another chat.
    if (actions.place?.peek() !== place) return true
  }
  const activity = activityOf(place.row)
  if (activity && !opened.peek().has(activity)) opened.value = new Set([...opened.peek(), activity])
  if (list.jumpTo(place)) return true
  // The row of a setting that has changed since, such as hidden reasoning: its request is close enough.
  const nearest = rows.peek().find(row => messageIdOf(row.key) === id)
  return nearest !== undefined && list.jumpTo({ ...place, row: nearest.key, heading: null })
}

export const useJumps = (
  scope: JumpScope,
  rows: Rows,
  controller: RefObject<ScrollController | null>,
): void => {
  const { actions } = scope
  useEffect(
    () =>
      actions.place?.subscribe(place => {
        if (!place || !controller.current) return
        void show(place, scope, rows, controller.current).then(
          isShown => {
            if (!isShown) actions.placeMissing?.()
          },
          // The request failed; the transcript offers to load earlier messages again.
          () => undefined,
        )
      }),
    [scope],
  )
}
