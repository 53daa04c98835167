/** The sessions that a client has open: created, loaded from state.db, and closed. */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type * as acp from '@agentclientprotocol/sdk'
import { callableSkills } from '../../commands.ts'
import { invalid, missing } from '../../errors.ts'
import { redact } from '../../redact/redact.ts'
import type { Message } from '../../schema/message.ts'
import { toServers } from './client-servers.ts'
import { EditorSession, type SessionContext } from './session.ts'

/** How a session ended, as recorded. */
const CLOSED = 'acp_close'

/** The command that a client completes; skills follow it. */
const COMPACT: acp.AvailableCommand = {
  name: 'compact',
  description: 'Summarize earlier messages to free space in the context window',
  input: { hint: 'what the summary should focus on' },
}

const requireDirectory = (cwd: string): void => {
  if (!isAbsolute(cwd)) throw invalid(`cwd must be an absolute path, not "${cwd}".`)
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw invalid(`cwd is not a directory: ${cwd}`)
}

export type OpenSessions = ReturnType<typeof createOpenSessions>

export const createOpenSessions = (context: SessionContext) => {
  const { engine, home, sessions } = context
  const open = new Map<string, EditorSession>()

  const commands = (): acp.AvailableCommand[] => [
    COMPACT,
    ...engine.skills.commands(home).map(({ name, description, argument_hint }) => ({
      name,
      description: redact(description) || name,
      input: { hint: argument_hint || 'request' },
    })),
    ...callableSkills(engine.skills.list(home)).map(({ slug, description }) => ({
      name: slug,
      description: redact(description) || slug,
      input: { hint: 'request' },
    })),
  ]

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
      requireDirectory(cwd)
      const servers = toServers(mcpServers, cwd)
      const session = sessions.create({ id, cwd, model })
      return add(new EditorSession(context, session, { servers, hasTitle: false }))
    },

    /** Opens a stored session, or again one that is open, with the servers and the directory of this request. */
    async resume({ sessionId, cwd, mcpServers = [] }: acp.ResumeSessionRequest): Promise<{
      session: EditorSession
      messages: readonly Message[]
    }> {
      requireDirectory(cwd)
      const before = open.get(sessionId)
      if (before?.isRunning)
        throw invalid('A prompt is running in this session. Wait for its end, or cancel it.')
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
    },
  }
}
