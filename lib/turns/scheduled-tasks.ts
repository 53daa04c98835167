/** The chats of scheduled tasks, as the scheduler sees them. */
import type { Message } from '../schema/message.ts'
import { Sentence, sentence, type Words } from '../base/sentences.ts'
import type { TurnStarter } from './start-turn.ts'
import type { ContinuedTasks } from '../cron/cron.ts'
import type { RunOutcome } from '../cron/until-end.ts'
import type { Homes } from '../profiles/homes.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { contentText } from '../sessions/entries.ts'
import { failureIn } from './interrupted-turn.ts'

const wordsIn = ({ _sentences }: Message, text: string): Words => {
  const { message } = failureIn(text)
  const coded = _sentences?.message
  return coded ? new Sentence(message, coded) : message
}

/** How the last turn ended; null while it runs or continues. */
const endOf = (sessions: Sessions, id: string): RunOutcome | null => {
  const { messages, turn } = sessions.load(id)
  const last = messages.findLast(({ role }) => role === 'assistant')
  const text = last ? contentText(last.content) : ''
  switch (turn?.how) {
    case 'done':
      return text.trim() ? { response: text } : { error: sentence('turn.no_response') }
    case 'failed':
      return { error: last?._error ? wordsIn(last, text) : sentence('task.unfinished') }
    case 'cancelled':
      return { error: sentence('task.stopped') }
    default:
      return null
  }
}

export const continuedTasks = (
  sessions: Sessions,
  homes: Homes,
  starter: TurnStarter,
): ContinuedTasks => ({
  endpoint: (home, of) => starter.unattendedEndpoint(home, of),
  taskOf(id) {
    const row = sessions.row(id)
    const { cron_job_id: jobId } = row ? sessions.head(id).meta : {}
    if (!row || typeof jobId !== 'string') return null
    return { home: homes.of(row.profile), jobId, ended: () => endOf(sessions, id) }
  },
})
