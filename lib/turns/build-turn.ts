/** The in-memory state of a turn that starts, and of one that continues after a restart. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { toSeconds } from '../base/clock.ts'
import { UserError, unavailable } from '../errors.ts'
import type { SessionRow } from '../schema/session.ts'
import { emptyUsage } from '../schema/usage.ts'
import { EventLog, toReaders } from './event-log.ts'
import { LiveState } from './live-turn.ts'
import { StreamMask } from './to-stream-event.ts'
import type { ContinuedTurn } from './resume.ts'
import type { StartInput, TurnsOptions } from './turns.ts'
import { RetryWaits, type Turn, type TurnClient } from './turn.ts'

/** What a turn does not keep across a restart. */
const runState = (log: EventLog) => ({
  log,
  mask: new StreamMask(),
  controller: new AbortController(),
  retries: new RetryWaits(log),
  context: null,
  parking: null,
  over: false,
  limit: null,
  writeError: null,
})

/** What a program brings to a turn, functions and instructions, is not kept. */
const outlives = (client: TurnClient | undefined): boolean =>
  !client || (client.continues && client.tools.length === 0 && client.instructions === '')

export const buildTurn = (
  { sessions, hub, liveDir, clock, resume }: TurnsOptions,
  row: SessionRow,
  { endpoint, unattended, client }: StartInput,
): Turn => {
  const id = row.session_id
  const streamId = randomBytes(16).toString('hex')
  const startedAt = clock.now()
  const header = { session_id: id, stream_id: streamId, at: toSeconds(startedAt) }
  const path = join(liveDir, `${streamId}.jsonl`)
  return {
    ...runState(new EventLog(path, header, toReaders(hub, header), resume)),
    sessionId: id,
    streamId,
    startedAt,
    userMessageId: sessions.nextMessageId(id),
    endpoint,
    unattended: unattended ?? null,
    client: client ?? null,
    live: new LiveState(clock),
    isResumable: resume !== undefined && !(endpoint instanceof UserError) && outlives(client),
    resumed: null,
    messageIds: [],
    usage: emptyUsage,
  }
}

/** Its endpoint and its rules are found when it continues. */
export const rebuildTurn = ({
  log,
  questions: _,
  text: __,
  by: ___,
  ...continued
}: ContinuedTurn): Turn => ({
  ...runState(log),
  ...continued,
  endpoint: unavailable('The service is starting.', { code: 'server_starting' }),
  unattended: null,
  client: null,
  isResumable: true,
  usage: continued.resumed.usage,
})
