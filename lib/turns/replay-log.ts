/** Rebuilds the live state of a turn from its journal and its live file. */
import type { Clock } from '../base/clock.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { LoggedEvent } from './event-log.ts'
import { createLiveState, type LiveState } from './live-turn.ts'

const loggedId = ({ type, data }: LoggedEvent): string | undefined =>
  type === 'message' ? (data as { message: Message }).message.id : undefined

/**
 * The live state when the process died: the turn's recorded messages and its events, in the order in which they were written. The
 * journal decides which messages there are: one reaches it before its event reaches the log.
 */
export const rebuild = (
  events: LoggedEvent[],
  recorded: Message[],
  clock: Pick<Clock, 'now'>,
): LiveState => {
  const live = createLiveState(clock)
  const logged = new Set(events.flatMap(event => loggedId(event) ?? []))
  const last = recorded.findLastIndex(({ id }) => logged.has(id))
  const apply = (messages: readonly Message[]): void => {
    for (const message of messages) live.apply({ type: 'message', data: { message } })
  }
  apply(recorded.slice(0, last + 1).filter(({ id }) => !logged.has(id)))
  for (const event of events) {
    const id = loggedId(event)
    if (id === undefined) live.apply(event as TurnEvent)
    else apply(recorded.filter(message => message.id === id))
  }
  apply(recorded.slice(last + 1))
  return live
}

/** The usage up to the last model call that ended. */
export const usageOf = (events: LoggedEvent[]): Usage => {
  const last = events.findLast(({ type }) => type === 'usage')
  return last ? (last.data as { usage: Usage }).usage : emptyUsage
}
