/** Sessions of a program without the server: its engine runs their turns, and the state.db of a profile keeps them. */
import type { ModelEndpoint, Outcome } from '../agent/types.ts'
import type { Effort } from '../base/efforts.ts'
import { invalid, messageOf, missing, UserError } from '../errors.ts'
import {
  newHostSessionId,
  type RecordedMessage,
  SessionRecorder,
  type SessionSource,
} from '../sessions/host-db/session-recorder.ts'
import { listRecorded, readRecorded } from '../sessions/host-db/recorded-list.ts'
import { stateDbPath } from '../sessions/host-db/state-db.ts'
import type { Home } from '../profiles/home.ts'
import { redact } from '../base/redact/redact.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { provisionalTitle } from '../sessions/title.ts'
import { makeDir } from '../store/make-dir.ts'
import type { Turn } from '../turns/turn.ts'
import type { CommandContext } from './run.ts'
import {
  TerminalEngine,
  type TerminalEngineOptions,
  type TerminalObserver,
} from './terminal-engine.ts'

export type RecordedSession = { id: string; cwd: string; model: string | null }

export type RecordedTurn = {
  turn: Turn
  /** Null when it was stopped. */
  result: Promise<Outcome | null>
}

export class RecordedSessions {
  readonly engine: TerminalEngine
  readonly home: Home
  readonly file: string
  readonly #addon: string | undefined
  readonly #recorder: SessionRecorder

  /** `onError` is called when a write fails. The session continues. */
  constructor(
    engine: TerminalEngine,
    home: Home,
    source: SessionSource,
    addon: string | undefined,
    onError: (error: unknown) => void,
  ) {
    this.engine = engine
    this.home = home
    this.#addon = addon
    // The server creates the active home at its first start as well. Other profiles are created explicitly.
    makeDir(home.dir)
    this.file = stateDbPath(home)
    const { clock } = engine
    this.#recorder = new SessionRecorder({ file: this.file, source, addon, clock, onError })
  }

  end(id: string, reason: string): void {
    this.#recorder.end(id, reason)
  }

  /** Ends what runs. Resolves when everything is written. */
  async close(): Promise<void> {
    await this.engine.close()
    await this.flush()
  }

  /** Resolves when everything so far is written. */
  flush(): Promise<void> {
    return this.#recorder.flush()
  }

  #adopt(session: RecordedSession, messages: readonly NewMessage[]): RecordedSession {
    const { id, cwd, model } = session
    const meta = {
      workspace: cwd,
      profile: this.home.name,
      llm_title_generated: true,
      model,
      title: id,
    }
    this.engine.sessions.adopt(id, meta, messages)
    return session
  }

  /** The model that serves a session, or why none can be called: the turn reports it, so that the message is recorded. */
  #resolveEndpoint(modelId: string | null): { model: string; endpoint: ModelEndpoint | UserError } {
    const { model } = this.engine.models.compatible(this.home, modelId)
    try {
      return { model, endpoint: this.engine.models.endpoint(this.home, model) }
    } catch (error) {
      if (error instanceof UserError) return { model, endpoint: error }
      throw error
    }
  }

  /** The id of the newest session of the terminal; undefined when there is none. */
  newest(): string | undefined {
    return listRecorded(this.file, this.#addon, ['cli'])[0]?.id
  }

  create({
    id = newHostSessionId(new Date(this.engine.clock.now())),
    ...session
  }: Omit<RecordedSession, 'id'> & { id?: string }): RecordedSession {
    return this.#adopt({ ...session, id }, [])
  }

  /** Continues a stored session; a null model is the stored one. Throws a 404. */
  resume(
    id: string,
    { cwd, model }: { cwd: string; model: string | null },
  ): { session: RecordedSession; messages: readonly Message[] } {
    const record = /^[\w-]+$/.test(id) ? readRecorded(this.file, this.#addon, id) : undefined
    if (!record) throw missing(`There is no session "${id}" in ${this.file}.`)
    const session = { id, cwd, model: model ?? record.model }
    return { session: this.#adopt(session, record.messages), messages: record.messages }
  }

  /** A new session with the messages of a stored one, which stays as it is. Undefined when nothing of that is stored. */
  copy(from: string, session: RecordedSession): RecordedSession | undefined {
    const record = /^[\w-]+$/.test(from) ? readRecorded(this.file, this.#addon, from) : undefined
    if (!record) return undefined
    const { id, cwd } = session
    const model =
      session.model ?? record.model ?? this.engine.models.compatible(this.home, null).model
    this.#recorder.begin(id, { model, cwd, maxSteps: this.home.config().agent.max_turns })
    for (const message of record.messages) this.#recorder.message(id, message)
    const question = record.messages.find(({ role }) => role === 'user')?.content
    if (typeof question === 'string') this.#recorder.title(id, provisionalTitle(question))
    return this.#adopt({ ...session, model }, record.messages)
  }

  /** Starts a turn. With `requireModel` it throws why the model cannot be called; else the turn fails with that reason. */
  async send(
    { id, cwd, model: modelId }: RecordedSession,
    text: string,
    {
      attachments = [],
      effort,
      requireModel = false,
    }: { attachments?: string[]; effort?: Effort | undefined; requireModel?: boolean } = {},
  ): Promise<RecordedTurn> {
    await this.engine.models.ready(this.home)
    const { model, endpoint } = this.#resolveEndpoint(modelId)
    if (requireModel && endpoint instanceof UserError) throw endpoint
    this.engine.turns.requireIdle(id)
    this.#recorder.begin(id, {
      model: endpoint instanceof UserError ? model : endpoint.model,
      cwd,
      maxSteps: this.home.config().agent.max_turns,
    })
    this.#recorder.message(id, { role: 'user', content: text })
    this.#recorder.title(id, provisionalTitle(text))
    const { turn, result } = await this.engine.turns.start({
      sessionId: id,
      text,
      attachments,
      patch: {},
      endpoint:
        endpoint instanceof UserError || effort === undefined ? endpoint : { ...endpoint, effort },
    })
    return {
      turn,
      result: result.then(outcome => {
        this.#recorder.usage(id, {
          ...(outcome?.usage ?? turn.usage),
          provider: outcome?.provider ?? '',
          baseUrl: endpoint instanceof UserError ? '' : endpoint.baseUrl,
        })
        return outcome
      }),
    }
  }

  /** The title of a session that begins with this message. */
  titleOf(text: string): string {
    return redact(provisionalTitle(text))
  }

  recordPrompt(id: string, text: string): void {
    this.#recorder.prompt(id, text)
  }

  recordMessage(id: string, message: NewMessage): void {
    // Error notices are not part of the session.
    if (message._error !== true) this.#recorder.message(id, message as RecordedMessage)
  }
}

/** Runs turns in a profile (null: the active one), whose state.db keeps them. Throws a UserError when it cannot be used. */
export const openRecordedSessions = async (
  { config, version, addon }: CommandContext,
  profile: string | null,
  source: SessionSource,
  {
    observer,
    ...options
  }: Omit<TerminalEngineOptions, 'addon' | 'version' | 'observer'> & {
    observer: Omit<TerminalObserver, 'prompt' | 'message'>
  },
): Promise<RecordedSessions> => {
  const engine = await TerminalEngine.open(config, {
    ...options,
    addon,
    version: await version(),
    observer: {
      ...observer,
      prompt: (id, text) => sessions.recordPrompt(id, text),
      message: (id, message) => sessions.recordMessage(id, message),
    },
  })
  const openHome = (): Home => {
    const home = engine.homes.open(profile ?? engine.homes.active())
    const problem = home.configFile.problem()
    if (problem) throw invalid(`config.yaml: ${problem}`)
    return home
  }
  let hasFailed = false
  const onError = (error: unknown) => {
    if (!hasFailed)
      options.problem(`Couldn't save this session in ${sessions.file}: ${messageOf(error)}`)
    hasFailed = true
  }
  let sessions: RecordedSessions
  try {
    sessions = new RecordedSessions(engine, openHome(), source, addon, onError)
    return sessions
  } catch (error) {
    await engine.close()
    throw error
  }
}
