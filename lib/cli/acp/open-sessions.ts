/** The sessions that a client has open: created, loaded from state.db, and closed. */
import type { Home } from '../../profiles/home.ts'
import type { RecordedSessions } from '../recorded-sessions.ts'
import type * as acp from '@agentclientprotocol/sdk'
import { ownCommands } from '../../profiles/skills/own-commands.ts'
import { calledByName } from '../../profiles/slash-commands.ts'
import { conflict, missing } from '../../errors.ts'
import { redact } from '../../base/redact/redact.ts'
import type { Message } from '../../schema/message.ts'
import { requireDirectory } from '../require-directory.ts'
import { EditorSession, type SessionContext } from './session.ts'
import type { McpServer } from '@agentclientprotocol/sdk'

const toMap = (pairs: readonly { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

/** Commands start in the directory of the session. */
const toServers = (servers: readonly McpServer[], cwd: string): Record<string, unknown> =>
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

/** How a session ended, as recorded. */
const CLOSED = 'acp_close'

/** The command that a client completes; the user's own and skills follow it. */
const COMPACT: acp.AvailableCommand = {
  name: 'compact',
  description: 'Summarize earlier messages to free space in the context window',
  input: { hint: 'what the summary should focus on' },
}

type Resumed = { session: EditorSession; messages: readonly Message[] }

export class OpenSessions {
  readonly #context: SessionContext
  readonly #engine
  readonly #home: Home
  readonly #sessions: RecordedSessions
  readonly #open = new Map<string, EditorSession>()
  #resuming: Promise<unknown> = Promise.resolve()

  constructor(context: SessionContext) {
    this.#context = context
    const { engine, home, sessions } = context
    this.#engine = engine
    this.#home = home
    this.#sessions = sessions
  }

  #commands(): acp.AvailableCommand[] {
    const called = calledByName(this.#engine.skills.list(this.#home), ownCommands(this.#home))
    return [
      COMPACT,
      ...called.map(({ name, description, args_hint: hint }) => ({
        name,
        description: redact(description) || name,
        input: { hint: hint || 'request' },
      })),
    ]
  }

  #add(session: EditorSession): EditorSession {
    this.#open.set(session.id, session)
    return session
  }

  close(session: EditorSession): void {
    session.cancel()
    this.#open.delete(session.id)
    if (session.servers) this.#engine.mcp.forget(session.servers.dir)
    this.#sessions.end(session.id, CLOSED)
  }

  async #resume(request: acp.ResumeSessionRequest): Promise<Resumed> {
    const { sessionId, cwd, mcpServers = [] } = request
    requireDirectory(cwd, 'cwd')
    const before = this.#open.get(sessionId)
    if (before?.isRunning)
      throw conflict('A prompt is running in this session. Wait for its end, or cancel it.')
    if (before) this.close(before)
    // Everything is in state.db; another program may have continued the session.
    await this.#sessions.flush()
    await this.#engine.sessions.erase(sessionId)
    const { session, messages } = this.#sessions.resume(sessionId, { cwd, model: null })
    const servers = toServers(mcpServers, cwd)
    return {
      session: this.#add(new EditorSession(this.#context, session, { servers, hasTitle: true })),
      messages,
    }
  }

  get(id: string): EditorSession | undefined {
    return this.#open.get(id)
  }

  all(): EditorSession[] {
    return [...this.#open.values()]
  }

  /** Call it last: it follows the response, because some clients ignore updates of a session they do not know yet. */
  announceCommands(session: EditorSession): void {
    setImmediate(() =>
      session.push({
        sessionUpdate: 'available_commands_update',
        availableCommands: this.#commands(),
      }),
    )
  }

  require(id: string): EditorSession {
    const session = this.#open.get(id)
    if (!session) throw missing(`The session ${id} is not open. Create or load one first.`)
    return session
  }

  create(
    { cwd, mcpServers }: acp.NewSessionRequest,
    { id, model }: { id: string; model: string | null },
  ): EditorSession {
    requireDirectory(cwd, 'cwd')
    const servers = toServers(mcpServers, cwd)
    const session = this.#sessions.create({ id, cwd, model })
    return this.#add(new EditorSession(this.#context, session, { servers, hasTitle: false }))
  }

  /** A copy under a new id, with the model of an open session. Throws a 404 when there is none. */
  async fork(
    { sessionId, cwd, mcpServers = [] }: acp.ResumeSessionRequest,
    id: string,
  ): Promise<EditorSession> {
    requireDirectory(cwd, 'cwd')
    const original = this.#open.get(sessionId)
    if (original?.isRunning)
      throw conflict('A prompt is running in this session. Wait for its end, or cancel it.')
    await this.#sessions.flush()
    const place = { id, cwd, model: original?.model ?? null }
    // A session without a message is open, but not stored.
    const session =
      this.#sessions.copy(sessionId, place) ?? (original ? this.#sessions.create(place) : undefined)
    if (!session) throw missing(`There is no session "${sessionId}".`)
    const servers = toServers(mcpServers, cwd)
    return this.#add(new EditorSession(this.#context, session, { servers, hasTitle: true }))
  }

  /** Opens a stored session, or again one that is open, with the servers and the directory of this request. */
  resume(request: acp.ResumeSessionRequest): Promise<Resumed> {
    // One after the other: two requests for one session would both add it.
    const resumed = this.#resuming.then(() => this.#resume(request))
    this.#resuming = resumed.catch(() => undefined)
    return resumed
  }
}
