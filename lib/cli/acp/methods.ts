/** The agent's side of the Agent Client Protocol, version 1: the sessions that a client has open, and what each of its methods does. */
import { randomUUID } from 'node:crypto'
import type * as acp from '@agentclientprotocol/sdk'
import { z } from 'zod'
import { fromSeconds } from '../../base/clock.ts'
import { isEffort } from '../../base/efforts.ts'
import { redact } from '../../base/redact/redact.ts'
import { conflict, invalid, missing, UserError } from '../../errors.ts'
import { ownCommands } from '../../profiles/skills/own-commands.ts'
import { calledByName } from '../../profiles/slash-commands.ts'
import { isFrom, listRecorded } from '../../sessions/host-db/recorded-list.ts'
import type { Message } from '../../schema/message.ts'
import type { RecordedSession } from '../recorded-sessions.ts'
import { requireDirectory } from '../require-directory.ts'
import { DEFAULT_EFFORT, isMode, modeState } from './options.ts'
import { replay } from './replay.ts'
import { EditorSession, type SessionContext } from './session.ts'

/** The supported protocol version. */
const PROTOCOL = 1
/** Sources of the sessions that an editor sees. */
const LISTED = ['acp', 'cli'] as const
/** Sessions per page of a list. */
const PAGE = 50
/** `fork` is not in the stable protocol yet. */
const SESSION_CAPABILITIES = { list: {}, delete: {}, resume: {}, close: {}, fork: {} }
/** How a session ended, as recorded. */
const CLOSED = 'acp_close'

const SETUP_HINT =
  'Run "agent-webui" in a terminal and follow the setup page, or name a model and a key in config.yaml. "agent-webui doctor" says what is missing.'

/** The command that a client completes; the user's own and skills follow it. */
const COMPACT: acp.AvailableCommand = {
  name: 'compact',
  description: 'Summarize earlier messages to free space in the context window',
  input: { hint: 'what the summary should focus on' },
}

/** No model can be called: the client shows `authMethods`. */
export class SetupError extends Error {}

/** Not in the stable protocol yet. */
const Fork = z.object({
  sessionId: z.string(),
  cwd: z.string(),
  mcpServers: z.custom<acp.McpServer[]>(Array.isArray).optional(),
})
type Fork = z.infer<typeof Fork>
export const toFork = (params: unknown): Fork => Fork.parse(params)

const toMap = (pairs: readonly { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

/** As in `mcp_servers`. Commands start in the directory of the session. */
const toServers = (servers: readonly acp.McpServer[], cwd: string): Record<string, unknown> =>
  Object.fromEntries(
    servers.map(server => {
      if ('command' in server) {
        const { command, args, env } = server
        return [server.name, { command, args, env: toMap(env), cwd }]
      }
      const transport = server.type === 'sse' ? { transport: 'sse' } : {}
      return [server.name, { url: server.url, headers: toMap(server.headers), ...transport }]
    }),
  )

type MethodsContext = SessionContext & {
  version: string
  addon: string | undefined
  /** The model of new sessions; null: that of the profile. */
  model: string | null
}

type Resumed = { session: EditorSession; messages: readonly Message[] }

export class AcpMethods {
  readonly #context: MethodsContext
  readonly #open = new Map<string, EditorSession>()
  #resuming: Promise<unknown> = Promise.resolve()

  constructor(context: MethodsContext) {
    this.#context = context
  }

  get(id: string): EditorSession | undefined {
    return this.#open.get(id)
  }

  all(): EditorSession[] {
    return [...this.#open.values()]
  }

  close(session: EditorSession): void {
    const { sessions } = this.#context
    session.cancel()
    this.#open.delete(session.id)
    if (session.servers) sessions.engine.mcp.forget(session.servers.dir)
    sessions.end(session.id, CLOSED)
  }

  #require(id: string): EditorSession {
    const session = this.#open.get(id)
    if (!session) throw missing(`The session ${id} is not open. Create or load one first.`)
    return session
  }

  /** It is not running: a copy, or what replaces it, would lack the end of the turn. */
  #requireIdle(id: string): EditorSession | undefined {
    const session = this.#open.get(id)
    if (session?.isRunning)
      throw conflict('A prompt is running in this session. Wait for its end, or cancel it.')
    return session
  }

  #add(
    session: RecordedSession,
    servers: readonly acp.McpServer[],
    hasTitle: boolean,
  ): EditorSession {
    const own = toServers(servers, session.cwd)
    const editorSession = new EditorSession(this.#context, session, { servers: own, hasTitle })
    this.#open.set(session.id, editorSession)
    return editorSession
  }

  /** Why no model can be called, or null. */
  async #modelProblem(model: string | null): Promise<UserError | null> {
    const { engine, home } = this.#context.sessions
    try {
      await engine.models.ready(home)
      const { apiMode } = engine.models.endpoint(home, engine.models.compatible(home, model).model)
      // Without any setup there is only the scripted model, which must not answer in place of a real one.
      return apiMode === 'demo' && model !== 'demo' ? invalid('No provider is set up yet.') : null
    } catch (error) {
      if (error instanceof UserError) return error
      throw error
    }
  }

  /** The error tells the client to show the setup. */
  async #requireModel(): Promise<void> {
    const problem = await this.#modelProblem(this.#context.model)
    if (problem) throw new SetupError(`${problem.message} ${SETUP_HINT}`)
  }

  #commands(): acp.AvailableCommand[] {
    const { engine, home } = this.#context.sessions
    const { skills } = engine
    return [
      COMPACT,
      ...calledByName(skills.list(home), ownCommands(home)).map(
        ({ name, description, args_hint: hint }) => ({
          name,
          description: redact(description) || name,
          input: { hint: hint || 'request' },
        }),
      ),
    ]
  }

  /** The end of a response about a session that is now open. */
  async #settingsOf(session: EditorSession) {
    const configOptions = await session.options()
    // After the response, because some clients ignore updates of a session they do not know yet.
    setImmediate(() => {
      const availableCommands = this.#commands()
      session.push({ sessionUpdate: 'available_commands_update', availableCommands })
    })
    return { modes: modeState(session.mode), configOptions }
  }

  initialize = async (request: acp.InitializeRequest): Promise<acp.InitializeResponse> => {
    this.#context.capabilities = request.clientCapabilities ?? {}
    const problem = await this.#modelProblem(this.#context.model)
    const description = `${redact(problem?.message ?? '')} ${SETUP_HINT}`
    return {
      protocolVersion: PROTOCOL,
      agentInfo: { name: 'agent-webui', title: 'Agent Web UI', version: this.#context.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: SESSION_CAPABILITIES,
      },
      authMethods: problem ? [{ id: 'setup', name: 'Set up a model', description }] : [],
    }
  }

  /** Nothing is entered through the protocol: it only checks whether the setup is done by now. */
  authenticate = async (_: acp.AuthenticateRequest): Promise<acp.AuthenticateResponse> => {
    await this.#requireModel()
    return {}
  }

  create = async ({ cwd, mcpServers }: acp.NewSessionRequest): Promise<acp.NewSessionResponse> => {
    const { model, sessions } = this.#context
    await this.#requireModel()
    requireDirectory(cwd, 'cwd')
    const created = sessions.create({ id: randomUUID(), cwd, model })
    const session = this.#add(created, mcpServers, false)
    return { sessionId: session.id, ...(await this.#settingsOf(session)) }
  }

  /** Opens a stored session, or again one that is open, with the servers and the directory of this request. */
  async #resume(request: acp.ResumeSessionRequest): Promise<Resumed> {
    const { sessionId, cwd, mcpServers = [] } = request
    const { sessions } = this.#context
    requireDirectory(cwd, 'cwd')
    const before = this.#requireIdle(sessionId)
    if (before) this.close(before)
    // Everything is in state.db; another program may have continued the session.
    await sessions.flush()
    await sessions.engine.sessions.erase(sessionId)
    const { session, messages } = sessions.resume(sessionId, { cwd, model: null })
    return { session: this.#add(session, mcpServers, true), messages }
  }

  /** One after the other: two requests for one session would both add it. */
  #resumeInTurn(request: acp.ResumeSessionRequest): Promise<Resumed> {
    const resumed = this.#resuming.then(() => this.#resume(request))
    this.#resuming = resumed.catch(() => undefined)
    return resumed
  }

  load = async (request: acp.LoadSessionRequest): Promise<acp.LoadSessionResponse> => {
    const { session, messages } = await this.#resumeInTurn(request)
    const env = this.#context.sessions.home.env()
    const place = { workspace: session.cwd, env, forbidden: [] }
    for (const update of replay(messages, place)) session.push(update)
    // The whole history comes before the response.
    await session.whenSent()
    return this.#settingsOf(session)
  }

  resume = async (request: acp.ResumeSessionRequest): Promise<acp.ResumeSessionResponse> =>
    this.#settingsOf((await this.#resumeInTurn(request)).session)

  /** A copy under a new id that goes on by itself, with the model of an open session; the original stays as it is. */
  fork = async ({ sessionId, cwd, mcpServers = [] }: Fork): Promise<object> => {
    const { sessions } = this.#context
    requireDirectory(cwd, 'cwd')
    const original = this.#requireIdle(sessionId)
    await sessions.flush()
    const place = { id: randomUUID(), cwd, model: original?.model ?? null }
    // A session without a message is open, but not stored.
    const copy = sessions.copy(sessionId, place) ?? (original ? sessions.create(place) : undefined)
    if (!copy) throw missing(`There is no session "${sessionId}".`)
    const session = this.#add(copy, mcpServers, true)
    return { sessionId: session.id, ...(await this.#settingsOf(session)) }
  }

  list = ({ cwd, cursor }: acp.ListSessionsRequest): acp.ListSessionsResponse => {
    const { sessions, addon } = this.#context
    const from = Number(cursor ?? 0)
    if (!Number.isSafeInteger(from) || from < 0) throw invalid('The cursor is not valid.')
    const all = listRecorded(sessions.file, addon, LISTED).filter(
      entry => entry.cwd !== '' && (cwd == null || entry.cwd === cwd),
    )
    const more = all.length > from + PAGE
    return {
      sessions: all.slice(from, from + PAGE).map(entry => ({
        sessionId: entry.id,
        cwd: entry.cwd,
        title: entry.title === null ? null : redact(entry.title),
        updatedAt: new Date(fromSeconds(entry.updatedAt)).toISOString(),
      })),
      ...(more && { nextCursor: String(from + PAGE) }),
    }
  }

  closeSession = ({ sessionId }: acp.CloseSessionRequest): acp.CloseSessionResponse => {
    this.close(this.#require(sessionId))
    return {}
  }

  remove = async ({ sessionId }: acp.DeleteSessionRequest): Promise<acp.DeleteSessionResponse> => {
    const { sessions, addon } = this.#context
    const session = this.#open.get(sessionId)
    if (session) this.close(session)
    await sessions.flush()
    // Deleting what does not exist has the same result. A client cannot delete what it does not see in the list.
    if (isFrom(sessions.file, addon, sessionId, LISTED))
      await sessions.engine.hostSessions.remove(sessions.home, sessionId, { permanent: true })
    return {}
  }

  setMode = (request: acp.SetSessionModeRequest): acp.SetSessionModeResponse => {
    const session = this.#require(request.sessionId)
    if (!isMode(request.modeId)) throw invalid(`There is no mode "${request.modeId}".`)
    session.setMode(request.modeId)
    return {}
  }

  setOption = async (
    request: acp.SetSessionConfigOptionRequest,
  ): Promise<acp.SetSessionConfigOptionResponse> => {
    const { configId } = request
    const session = this.#require(request.sessionId)
    const value = String(request.value)
    if (configId === 'mode' && isMode(value)) {
      session.setMode(value)
      session.push({ sessionUpdate: 'current_mode_update', currentModeId: value })
    } else if (configId === 'effort' && (value === DEFAULT_EFFORT || isEffort(value)))
      session.effort = isEffort(value) ? value : null
    else if (configId === 'model') {
      const problem = await this.#modelProblem(value)
      if (problem) throw problem
      session.model = value
    } else throw invalid(`"${configId}" cannot be set to "${value}".`)
    return { configOptions: await session.options() }
  }

  prompt = (request: acp.PromptRequest, signal: AbortSignal): Promise<acp.PromptResponse> =>
    this.#require(request.sessionId).prompt(request.prompt, signal)

  cancel = ({ sessionId }: acp.CancelNotification): void => this.#open.get(sessionId)?.cancel()
}
