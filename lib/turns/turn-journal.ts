/** Journal entries for the start and the end of a turn. */
import { toSeconds } from '../base/clock.ts'
import type { Outcome } from '../agent/types.ts'
import { UserError } from '../errors.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { idOf, type Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Usage } from '../schema/usage.ts'
import { type Composed, sentDraftPatch } from '../sessions/drafts.ts'
import type { JournalEntry, NewEntry, TurnEnd, TurnLimit } from '../sessions/entries.ts'
import { UNTITLED } from '../sessions/list-row.ts'
import { sentPatch } from '../sessions/sent-messages.ts'
import { provisionalTitle } from '../sessions/title.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { withVersions } from '../sessions/versions.ts'
import { addToTotals } from '../sessions/usage.ts'
import { isExternal, servedBy, type Turn } from './turn.ts'

/**
 * What the user sent. `patch` is what this turn changes in the session's record: model, workspace. `results`: of the calls
 * that the client ran; the turn continues with them. `text` is null when there is nothing besides.
 */
export type UserInput = {
  text: string | null
  attachments: string[]
  patch: Record<string, unknown>
  results?: readonly NewMessage[] | undefined
  /** The client's id of the message. */
  clientMessageId?: string | undefined
  /** Takes the place of this message and all that follow it. */
  replaced?: Replaced | undefined
  /** Absent: no composer's draft was sent, so the stored one stays. */
  composed?: Composed | undefined
}

/** `after`: the number of the last line that stays visible. */
export type Replaced = { message: Message; after: number }

/** One append: what it replaces is hidden, the changed settings, the message, and the start of the turn. */
export const recordTurnStart = (
  sessions: Sessions,
  turn: Turn,
  row: SessionRow,
  sent: UserInput,
): JournalEntry[] => {
  const { endpoint, userMessageId } = turn
  const { text, results = [], replaced } = sent
  const title = row.title === UNTITLED && text ? { title: provisionalTitle(text) } : {}
  const timestamp = Math.floor(toSeconds(turn.startedAt))
  const { clientMessageId, composed } = sent
  const { meta } = sessions.head(turn.sessionId)
  const mark = clientMessageId === undefined ? {} : sentPatch(meta, clientMessageId, turn.streamId)
  const isVersion = text !== null && replaced?.message.role === 'user'
  const userMessage: NewMessage | null =
    text === null
      ? null
      : {
          id: userMessageId,
          role: 'user',
          content: text,
          ...(clientMessageId !== undefined && { client_message_id: clientMessageId }),
          ...(sent.attachments.length > 0 && { attachments: sent.attachments }),
        }
  return sessions.append(turn.sessionId, [
    ...(replaced ? [{ t: 'cut' as const, after: replaced.after }] : []),
    { t: 'meta', patch: { ...title, ...sent.patch, ...mark, ...sentDraftPatch(meta, composed) } },
    ...[...results, ...(userMessage ? [userMessage] : [])].map(message => ({
      t: 'message' as const,
      message: { ...message, timestamp },
    })),
    {
      t: 'turn_started',
      stream_id: turn.streamId,
      ...servedBy(endpoint),
      ...(endpoint instanceof UserError && { model: row.model ?? '' }),
      message_id: userMessageId,
      ...(turn.isResumable && { resumable: true as const }),
      ...(turn.unattended && { by: 'task' as const }),
      ...(turn.client && { by: 'program' as const }),
      ...(isExternal(turn) && { external: true as const }),
      ...(isVersion && { replaces: replaced.message.id }),
    },
  ])
}

/** Publishes the same entries to the turn's readers. The first message names what it replaces, so that both are one change. */
export const publishTurnStart = (
  sessions: Sessions,
  turn: Turn,
  entries: JournalEntry[],
  replaced: Replaced | undefined,
  redactMessage: (message: Message) => Message,
): void => {
  const { sessionId: session_id, streamId: stream_id, startedAt } = turn
  const first = entries.find(entry => entry.t === 'message')
  for (const entry of entries) {
    if (entry.t === 'turn_started') {
      const { model, provider } = entry
      const data = { session_id, stream_id, model, provider, started_at: toSeconds(startedAt) }
      turn.log.append({ type: 'turn_started', data })
    } else if (entry.t === 'message') {
      const replaces = entry === first && replaced ? { replaces: replaced.message.id } : {}
      const { versions } = sessions.head(session_id)
      const message = withVersions(redactMessage(entry.message), versions)
      turn.log.append({ type: 'message', data: { message, ...replaces } })
    }
  }
}

/** Records the end and the session's totals. Without an outcome, the usage so far counts. */
export const recordTurnEnd = (
  sessions: Sessions,
  { sessionId, streamId, usage, limit }: Turn,
  how: TurnEnd,
  outcome: Outcome | null,
): void => {
  const row = sessions.require(sessionId)
  sessions.append(
    sessionId,
    endEntries(row, streamId, how, outcome?.usage ?? usage, how === 'cancelled' ? null : limit),
  )
}

/** Totals are recorded as absolute numbers. */
export const endEntries = (
  row: SessionRow,
  stream_id: string,
  how: TurnEnd,
  usage: Usage,
  limit?: TurnLimit | null,
): NewEntry[] => {
  const entries: NewEntry[] = [{ t: 'turn_ended', stream_id, how, usage, ...(limit && { limit }) }]
  if (usage.input_tokens + usage.output_tokens > 0) {
    entries.push({ t: 'meta', patch: { ...addToTotals(row, usage), last_usage: usage } })
  }
  return entries
}

/** Of questions that nobody answers any more. */
export const endedAnswers = (questions: readonly Question[]): NewEntry[] =>
  questions.map(question => ({
    t: 'answered',
    id: idOf(question),
    kind: question.kind,
    answer: question.kind === 'approval' ? 'deny' : '',
    by: 'restart',
    reason: 'ended',
  }))
