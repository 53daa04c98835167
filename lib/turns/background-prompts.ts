/** Background prompts: each runs in its own session, copied from the parent's settings. A notice reports its end. */
import type { Hub } from '../http/hub.ts'
import type { Message } from '../schema/message.ts'
import { contentText, type Meta } from '../sessions/entries.ts'
import { provisionalTitle } from '../sessions/title.ts'
import type { Role } from '../schema/person.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { TurnStarter } from './start-turn.ts'

const MAX_LISTED = 50
const MAX_ANSWER_CHARS = 4_000

export type BackgroundPromptsOptions = {
  sessions: Sessions
  turnStarter: Pick<TurnStarter, 'turn'>
  hub: Pick<Hub, 'publish'>
  redact: (text: string) => string
}

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

export type BackgroundPrompts = ReturnType<typeof createBackgroundPrompts>

export const createBackgroundPrompts = ({
  sessions,
  turnStarter,
  hub,
  redact,
}: BackgroundPromptsOptions) => {
  const announce = (sessionId: string): void => {
    const row = sessions.row(sessionId)
    if (!row) return
    const isDone = row.last_turn === 'done'
    hub.publish('notices', {
      type: 'notice',
      data: {
        level: isDone ? 'info' : 'warn',
        message: isDone ? `“${row.title}” is done.` : `“${row.title}” did not finish.`,
        code: isDone ? 'prompt_done' : 'prompt_unfinished',
        values: { title: row.title },
        session_id: sessionId,
      },
    })
  }

  return {
    /** The new session has the same workspace, model, profile, personality, project and mode, but no messages. */
    async start(given: string, prompt: string, role: Role) {
      const parent = sessions.require(given)
      const { session_id: sessionId } = sessions.create({
        workspace: parent.workspace,
        model: parent.model,
        profile: parent.profile,
        title: provisionalTitle(prompt),
        personality: parent.personality,
        project_id: parent.project_id,
        background_of: parent.session_id,
        ...(parent.mode && { mode: parent.mode }),
      })
      const { turn, result } = await turnStarter.turn({
        sessionId,
        role,
        text: prompt,
        attachments: [],
      })
      const before = startedBy(sessions.head(parent.session_id).meta)
      const background = [...before, sessionId].slice(-MAX_LISTED)
      sessions.append(parent.session_id, [{ t: 'meta', patch: { background } }])
      void result.then(() => announce(sessionId))
      return { streamId: turn.streamId, sessionId }
    },

    /** Results of the prompts that a session started; deleted sessions are omitted. */
    results: (given: string): BackgroundResult[] =>
      startedBy(sessions.head(sessions.require(given).session_id).meta).flatMap(id => {
        const row = sessions.row(id)
        if (!row) return []
        const answer = redact(lastAnswer(sessions.load(id).messages))
        const status = row.is_streaming ? 'running' : (row.last_turn ?? 'interrupted')
        return [{ task_id: id, session_id: id, title: row.title, status, answer }]
      }),
  }
}
