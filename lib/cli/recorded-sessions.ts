/** Sessions of a program without the server: its engine runs their turns, and the state.db of a profile keeps them. */
import type { ModelEndpoint, Outcome } from '../agent/types.ts'
import type { Effort } from '../base/efforts.ts'
import { missing, UserError } from '../errors.ts'
import {
  createSessionRecorder,
  newestHostSession,
  newHostSessionId,
  readHostSession,
  type RecordedMessage,
  type SessionSource,
} from '../sessions/host-db/session-recorder.ts'
import { stateDbPath } from '../sessions/host-db/state-db.ts'
import type { Home } from '../profiles/home.ts'
import { redact } from '../base/redact/redact.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { provisionalTitle } from '../sessions/title.ts'
import { makeDir } from '../store/make-dir.ts'
import type { Turn } from '../turns/turn.ts'
import type { TerminalEngine } from './terminal-engine.ts'

export type RecordedSession = { id: string; cwd: string; model: string | null }

export type RecordedTurn = {
  turn: Turn
  /** Null when it was stopped. */
  result: Promise<Outcome | null>
}

export type RecordedSessionsOptions = {
  engine: TerminalEngine
  home: Home
  source: SessionSource
  addon: string | undefined
  /** Called when a write fails, with the path of the database. The session continues. */
  onError: (error: unknown, file: string) => void
}

export type RecordedSessions = ReturnType<typeof createRecordedSessions>

export const createRecordedSessions = (options: RecordedSessionsOptions) => {
  const { engine, home, source, addon, onError } = options
  // The server creates the active home at its first start as well. Other profiles are created explicitly.
  makeDir(home.dir)
  const file = stateDbPath(home)
  const recorder = createSessionRecorder({
    file,
    source,
    addon,
    clock: engine.clock,
    onError: error => onError(error, file),
  })

  const adopt = (session: RecordedSession, messages: readonly NewMessage[]): RecordedSession => {
    const { id, cwd, model } = session
    const meta = { workspace: cwd, profile: home.name, llm_title_generated: true, model, title: id }
    engine.sessions.adopt(id, meta, messages)
    return session
  }

  /** The model that serves a session, or why none can be called: the turn reports it, so that the message is recorded. */
  const resolveEndpoint = (
    wanted: string | null,
  ): { model: string; endpoint: ModelEndpoint | UserError } => {
    const { model } = engine.models.compatible(home, wanted)
    try {
      return { model, endpoint: engine.models.endpoint(home, model) }
    } catch (error) {
      if (error instanceof UserError) return { model, endpoint: error }
      throw error
    }
  }

  return {
    file,
    /** The id of the newest session of the terminal; undefined when there is none. */
    newest: () => newestHostSession(file, addon),

    create: ({
      id = newHostSessionId(new Date(engine.clock.now())),
      ...session
    }: Omit<RecordedSession, 'id'> & { id?: string }): RecordedSession =>
      adopt({ ...session, id }, []),

    /** Continues a stored session; a null model is the stored one. Throws a 404. */
    resume(
      id: string,
      { cwd, model }: Pick<RecordedSession, 'cwd' | 'model'>,
    ): { session: RecordedSession; messages: readonly Message[] } {
      const stored = /^[\w-]+$/.test(id) ? readHostSession(file, addon, id) : undefined
      if (!stored) throw missing(`There is no session "${id}" in ${file}.`)
      const session = { id, cwd, model: model ?? stored.model }
      return { session: adopt(session, stored.messages), messages: stored.messages }
    },

    /** A new session with the messages of a stored one, which stays as it is. Undefined when nothing of that is stored. */
    copy(from: string, session: RecordedSession): RecordedSession | undefined {
      const stored = /^[\w-]+$/.test(from) ? readHostSession(file, addon, from) : undefined
      if (!stored) return undefined
      const { id, cwd } = session
      const model = session.model ?? stored.model ?? engine.models.compatible(home, null).model
      recorder.begin(id, { model, cwd, maxSteps: home.settings().agent.max_turns })
      for (const message of stored.messages) recorder.message(id, message)
      const asked = stored.messages.find(({ role }) => role === 'user')?.content
      if (typeof asked === 'string') recorder.title(id, provisionalTitle(asked))
      return adopt({ ...session, model }, stored.messages)
    },

    /** Starts a turn. With `requireModel` it throws why the model cannot be called; else the turn fails with that reason. */
    async send(
      { id, cwd, model: wanted }: RecordedSession,
      text: string,
      {
        attachments = [],
        effort,
        requireModel = false,
      }: { attachments?: string[]; effort?: Effort | undefined; requireModel?: boolean } = {},
    ): Promise<RecordedTurn> {
      await engine.models.ready(home)
      const { model, endpoint } = resolveEndpoint(wanted)
      if (requireModel && endpoint instanceof UserError) throw endpoint
      engine.turns.requireIdle(id)
      recorder.begin(id, {
        model: endpoint instanceof UserError ? model : endpoint.model,
        cwd,
        maxSteps: home.settings().agent.max_turns,
      })
      recorder.message(id, { role: 'user', content: text })
      recorder.title(id, provisionalTitle(text))
      const { turn, result } = await engine.turns.start({
        sessionId: id,
        text,
        attachments,
        patch: {},
        endpoint:
          endpoint instanceof UserError || effort === undefined
            ? endpoint
            : { ...endpoint, effort },
      })
      return {
        turn,
        result: result.then(outcome => {
          recorder.usage(id, {
            ...(outcome?.usage ?? turn.usage),
            provider: outcome?.provider ?? '',
            baseUrl: endpoint instanceof UserError ? '' : endpoint.baseUrl,
          })
          return outcome
        }),
      }
    },

    /** The title of a session that begins with this message. */
    titleOf: (text: string): string => redact(provisionalTitle(text)),

    /** For the engine's observer. */
    recordPrompt: recorder.prompt,
    recordMessage(id: string, message: NewMessage): void {
      // Error notices are not part of the session.
      if (message._error !== true) recorder.message(id, message as RecordedMessage)
    },
    end: recorder.end,
    /** Resolves when everything is written. */
    flush: recorder.flush,
  }
}
