/** Background prompts: each runs in its own session, copied from the parent's settings. A notice reports its end. */
import { redact } from '../base/redact/redact.ts'
import type { Hub } from '../http/hub.ts'
import type { Message } from '../schema/message.ts'
import { contentText, type Meta } from '../sessions/entries.ts'
import { provisionalTitle } from '../sessions/title.ts'
import type { Role } from '../schema/person.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { TurnStarter } from './start-turn.ts'

const MAX_LISTED = 50
const MAX_ANSWER_CHARS = 4_000

export type BackgroundResult = {
  task_id: string
  session_id: string
  title: string
  status: 'running' | 'done' | 'failed' | 'cancelled' | 'interrupted'
  answer: string
}

const startedBy = ({ background }: Meta): string[] =>
  Array.isArray(background) ? background.filter(id => typeof id === 'string') : []

const lastAnswer = (messages: readonly Message[]): string => {
  const last = messages.findLast(({ role, _error }) => role === 'assistant' && !_error)
  return last ? contentText(last.content).slice(0, MAX_ANSWER_CHARS) : ''
}

export class BackgroundPrompts {
  readonly #sessions: Sessions
  readonly #hub: Hub
  readonly #starter: TurnStarter

  constructor(sessions: Sessions, hub: Hub, starter: TurnStarter) {
    this.#sessions = sessions
    this.#hub = hub
    this.#starter = starter
  }

  /** The new session has the same workspace, model, profile, personality, project and mode, but no messages. */
  async start(parentId: string, text: string, role: Role) {
    const sessions = this.#sessions
    const parent = sessions.require(parentId)
    const { session_id: sessionId } = sessions.create({
      workspace: parent.workspace,
      model: parent.model,
      profile: parent.profile,
      title: provisionalTitle(text),
      personality: parent.personality,
      project_id: parent.project_id,
      background_of: parent.session_id,
      ...(parent.mode && { mode: parent.mode }),
    })
    const { turn, result } = await this.#starter.turn({ sessionId, role, text, attachments: [] })
    const before = startedBy(sessions.head(parent.session_id).meta)
    const background = [...before, sessionId].slice(-MAX_LISTED)
    sessions.append(parent.session_id, [{ t: 'meta', patch: { background } }])
    void result.then(() => this.#announce(sessionId))
    return { streamId: turn.streamId, sessionId }
  }

  /** Results of the prompts that a session started; deleted sessions are omitted. */
  results(parentId: string): BackgroundResult[] {
    const sessions = this.#sessions
    return startedBy(sessions.head(sessions.require(parentId).session_id).meta).flatMap(id => {
      const row = sessions.row(id)
      if (!row) return []
      const answer = redact(lastAnswer(sessions.load(id).messages))
      const status = row.is_streaming ? 'running' : (row.last_turn ?? 'interrupted')
      return [{ task_id: id, session_id: id, title: row.title, status, answer }]
    })
  }

  #announce(session_id: string): void {
    const row = this.#sessions.row(session_id)
    if (!row) return
    const { title } = row
    const notice =
      row.last_turn === 'done'
        ? { level: 'info' as const, message: `“${title}” is done.`, code: 'prompt_done' as const }
        : {
            level: 'warn' as const,
            message: `“${title}” did not finish.`,
            code: 'prompt_unfinished' as const,
          }
    const data = { ...notice, values: { title }, session_id }
    this.#hub.publish('notices', { type: 'notice', data })
  }
}
