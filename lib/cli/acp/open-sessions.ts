/** The sessions that a client has open: created, loaded from state.db, and closed. */
import type * as acp from '@agentclientprotocol/sdk'
import { calledByName } from '../../profiles/slash-commands.ts'
import { conflict, missing } from '../../errors.ts'
import { redact } from '../../base/redact/redact.ts'
import type { Message } from '../../schema/message.ts'
import { requireDirectory } from '../require-directory.ts'
import { toServers } from './client-servers.ts'
import { EditorSession, type SessionContext } from './session.ts'

/** How a session ended, as recorded. */
const CLOSED = 'acp_close'

/** The command that a client completes; the user's own and skills follow it. */
const COMPACT: acp.AvailableCommand = {
  name: 'compact',
  description: 'Summarize earlier messages to free space in the context window',
  input: { hint: 'what the summary should focus on' },
}

type Resumed = { session: EditorSession; messages: readonly Message[] }

export const createOpenSessions = (context: SessionContext) => {
  const { engine, home, sessions } = context
  const open = new Map<string, EditorSession>()

  const commands = (): acp.AvailableCommand[] => {
    const called = calledByName(engine.skills.list(home), engine.skills.commands(home))
    return [
      COMPACT,
      ...called.map(({ name, description, args_hint: hint }) => ({
        name,
        description: redact(description) || name,
        input: { hint: hint || 'request' },
      })),
    ]
  }

  const add = (session: EditorSession): EditorSession => {
    open.set(session.id, session)
    return session
  }

  const close = (session: EditorSession): void => {
    session.cancel()
    open.delete(session.id)
    if (session.servers) engine.mcp.forget(session.servers.dir)
    sessions.end(session.id, CLOSED)
  }

  let resuming: Promise<unknown> = Promise.resolve()

  const resume = async (request: acp.ResumeSessionRequest): Promise<Resumed> => {
    const { sessionId, cwd, mcpServers = [] } = request
    requireDirectory(cwd, 'cwd')
    const before = open.get(sessionId)
    if (before?.isRunning)
      throw conflict('A prompt is running in this session. Wait for its end, or cancel it.')
    if (before) close(before)
    // Everything is in state.db; another program may have continued the session.
    await sessions.flush()
    await engine.sessions.erase(sessionId)
    const { session, messages } = sessions.resume(sessionId, { cwd, model: null })
    const servers = toServers(mcpServers, cwd)
    return {
      session: add(new EditorSession(context, session, { servers, hasTitle: true })),
      messages,
    }
  }

  return {
    get: (id: string): EditorSession | undefined => open.get(id),
    all: (): EditorSession[] => [...open.values()],
    close,

    /** Call it last: it follows the response, because some clients ignore updates of a session they do not know yet. */
    announceCommands(session: EditorSession): void {
      setImmediate(() =>
        session.push({
          sessionUpdate: 'available_commands_update',
          availableCommands: commands(),
        }),
      )
    },

    require(id: string): EditorSession {
      const session = open.get(id)
      if (!session) throw missing(`The session ${id} is not open. Create or load one first.`)
      return session
    },

    create(
      { cwd, mcpServers }: acp.NewSessionRequest,
      { id, model }: { id: string; model: string | null },
    ): EditorSession {
      requireDirectory(cwd, 'cwd')
      const servers = toServers(mcpServers, cwd)
      const session = sessions.create({ id, cwd, model })
      return add(new EditorSession(context, session, { servers, hasTitle: false }))
    },

    /** A copy under a new id, with the model of an open session. Throws a 404 when there is none. */
    async fork(
      { sessionId, cwd, mcpServers = [] }: acp.ResumeSessionRequest,
      id: string,
    ): Promise<EditorSession> {
      requireDirectory(cwd, 'cwd')
      const original = open.get(sessionId)
      if (original?.isRunning)
        throw conflict('A prompt is running in this session. Wait for its end, or cancel it.')
      await sessions.flush()
      const place = { id, cwd, model: original?.model ?? null }
      // A session without a message is open, but not stored.
      const session =
        sessions.copy(sessionId, place) ?? (original ? sessions.create(place) : undefined)
      if (!session) throw missing(`There is no session "${sessionId}".`)
      const servers = toServers(mcpServers, cwd)
      return add(new EditorSession(context, session, { servers, hasTitle: true }))
    },

    /** Opens a stored session, or again one that is open, with the servers and the directory of this request. */
    resume(request: acp.ResumeSessionRequest): Promise<Resumed> {
      // One after the other: two requests for one session would both add it.
      const resumed = resuming.then(() => resume(request))
      resuming = resumed.catch(() => undefined)
      return resumed
    },
  }
}
