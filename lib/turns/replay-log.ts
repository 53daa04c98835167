/** Rebuilds the live state of a turn from its journal and its live file. */
import type { Clock } from '../base/clock.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { LoggedEvent } from './event-log.ts'
import { createLiveState, type LiveState } from './live-turn.ts'

type Owner = { parent_tid?: string; task_index?: number }
type WireTool = Owner & {
  tid: string
  name: string
  tool?: string
  preview: string | null
  args: Record<string, string>
}

const ownerOf = ({ parent_tid: parent, task_index: index = 0 }: Owner) =>
  parent === undefined ? {} : { owner: { parent, index } }

const RETRY = { type: 'retry', messageId: '', attempt: 1, attempts: 0, delayMs: 0 } as const

const replayEvent = (live: LiveState, { type, data }: LoggedEvent): void => {
  if (type === 'token' || type === 'reasoning') {
    const delta = data as { text: string; message_id: string }
    live.apply({ type, messageId: delta.message_id, text: delta.text })
  } else if (type === 'retry') {
    const { message_id, attempt } = data as { message_id: string; attempt: number }
    live.apply({ type, messageId: message_id, attempt, attempts: 0, delayMs: 0, message: '' })
  } else if (type === 'warning') {
    const { message, type: kind } = data as Extract<TurnEvent, { type: 'warning' }>['data']
    if (kind === 'rotated' || kind === 'fallback') live.apply({ type, kind, message })
  } else if (type === 'tool') {
    const { tid, name, preview, args, tool, ...owner } = data as WireTool
    live.apply({ type, callId: tid, name: tool ?? name, preview, args, ...ownerOf(owner) })
  } else if (type === 'tool_complete') {
    const { tid, name, preview, args, tool, duration, is_error, ...owner } = data as WireTool & {
      duration: number | null
      is_error: boolean
    }
    // For the turn's own calls the journal knows which have ended.
    if (owner.parent_tid === undefined) return
    const ended = { durationMs: (duration ?? 0) * 1_000, isError: is_error }
    live.apply({
      type,
      callId: tid,
      name: tool ?? name,
      preview,
      args,
      ...ended,
      ...ownerOf(owner),
    })
  } else if (type === 'tool_output') {
    const { tid, text, ...owner } = data as { tid: string; text: string } & Owner
    live.apply({ type, callId: tid, text, ...ownerOf(owner) })
  } else if (type === 'subagent') {
    const { goal, status, text, reasoning, again, ...owner } = data as Extract<
      TurnEvent,
      { type: 'subagent' }
    >['data']
    const by = { parent: owner.parent_tid, index: owner.task_index }
    if (status) live.apply({ type, owner: by, goal: goal ?? '', status })
    if (again !== undefined) live.apply({ ...RETRY, message: again, owner: by })
    if (text) live.apply({ type: 'token', messageId: '', text, owner: by })
    if (reasoning) live.apply({ type: 'reasoning', messageId: '', text: reasoning, owner: by })
  }
}

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
    for (const message of messages) live.apply({ type: 'message', message })
  }
  apply(recorded.slice(0, last + 1).filter(({ id }) => !logged.has(id)))
  for (const event of events) {
    const id = loggedId(event)
    if (id === undefined) replayEvent(live, event)
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
