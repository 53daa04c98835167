/** How a session of ours and the agent's come together: anew, after a restart, in a copy, under another id. */
import type { AgentRequest, External, ExternalSession, LoopMessage } from '../types.ts'
import type { Running } from './agents.ts'
import { type Connection, within } from './connection.ts'
import { missedSince, tellOf } from './marks.ts'
import { createSession, type Session, takeOpened } from './session.ts'
import { Opened } from './updates.ts'

const CALL_MS = 60_000
const slow = (name: string, what: string) => `${name} did not ${what} within a minute.`

type OpenOptions = {
  name: string
  connection: Connection
  cwd: string
  opening: Running['opening']
  /** The session has to be found by its id before its first news arrive. */
  register: (session: Session) => void
  onNoise: (line: string) => void
}

const startNew = (options: OpenOptions): Promise<Session> => {
  const { name, connection, cwd } = options
  return options.opening(async () => {
    const work = connection.request('session/new', { cwd, mcpServers: [] })
    return begin(options, await within(work, CALL_MS, slow(name, 'open a session')))
  })
}

const begin = ({ name, register }: OpenOptions, answer: unknown): Session => {
  const opened = Opened.safeParse(answer)
  if (!opened.success || !opened.data.sessionId)
    throw new Error(`${name} opened a session without saying which.`)
  const session = createSession(opened.data.sessionId)
  takeOpened(session, opened.data)
  register(session)
  return session
}

/** Null when the agent cannot, or does not know it any more. */
const restore = async (options: OpenOptions, saved: ExternalSession): Promise<Session | null> => {
  const { name, connection, cwd, onNoise } = options
  const { loadSession, sessionCapabilities } = connection.can.agentCapabilities
  // Resuming does not repeat the conversation, which we have.
  const method = sessionCapabilities.resume ? 'session/resume' : loadSession ? 'session/load' : null
  if (!method) return null
  for (const id of [saved.session_id, ...saved.aliases]) {
    const session = createSession(id)
    options.register(session)
    try {
      const answer = await within(
        connection.request(method, { sessionId: id, cwd, mcpServers: [] }),
        CALL_MS,
        slow(name, 'restore its session'),
      )
      const opened = Opened.safeParse(answer ?? {})
      if (opened.success) takeOpened(session, opened.data)
      for (const alias of [saved.session_id, ...saved.aliases])
        if (alias !== session.id) session.aliases.add(alias)
      return session
    } catch (error) {
      // It has forgotten this one: another name of it, or a new session, will do.
      onNoise(`${method} ${id}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return null
}

const fork = async (options: OpenOptions, saved: ExternalSession): Promise<Session | null> => {
  const { name, connection, cwd, onNoise } = options
  if (!connection.can.agentCapabilities.sessionCapabilities.fork) return null
  try {
    const params = { sessionId: saved.session_id, cwd, mcpServers: [] }
    return await options.opening(async () => {
      const work = connection.request('session/fork', params)
      return begin(options, await within(work, CALL_MS, slow(name, 'copy its session')))
    })
  } catch (error) {
    // A new one is told what was said.
    onNoise(`session/fork: ${error instanceof Error ? error.message : String(error)}`)
    return null
  }
}

type Place = Pick<AgentRequest, 'workspace' | 'sessionKey'>

const optionsOf = (running: Running, cwd: string): OpenOptions => ({
  name: running.name,
  connection: running.connection,
  cwd,
  opening: running.opening,
  register: running.register,
  onNoise: running.note,
})

export type Joined = {
  session: Session
  /** What the agent has to be told before the message; '' when it knows. */
  context: string
  /** It knew this conversation once and does not any more. */
  isForgotten: boolean
  /** What the whole session had cost before this turn. */
  cost: number
}

/**
 * The session to prompt in. What the agent remembers is used only where it is what this conversation says: after an edit,
 * in a copy, in another directory or with an agent that forgets, a new session is told what was said.
 */
export const joinSession = async (
  running: Running,
  history: readonly LoopMessage[],
  { workspace, sessionKey: owner = '' }: Place,
  saved: ExternalSession | null,
): Promise<Joined> => {
  const options = optionsOf(running, workspace)
  const known = running.sessions.get(owner)
  const fits = saved?.cwd === options.cwd ? saved : null
  const missed = fits && missedSince(history, fits.mark)
  if (fits && missed) {
    const isOwn = fits.owner === owner
    const session = isOwn
      ? known?.id === fits.session_id
        ? known
        : await restore(options, fits)
      : await fork(options, fits)
    const context = missed.length > 0 ? tellOf(missed) : ''
    if (session) return { session, context, isForgotten: false, cost: isOwn ? fits.cost : 0 }
  }
  const before = missedSince(history, '') ?? []
  const session = await startNew(options)
  const context = before.length > 0 ? tellOf(before) : ''
  return { session, context, isForgotten: saved !== null && context !== '', cost: 0 }
}

export const toSaved = (
  session: Session,
  request: Pick<AgentRequest, 'workspace' | 'sessionKey'>,
  mark: string,
  cost: number,
): ExternalSession => ({
  session_id: session.id,
  aliases: [...session.aliases].slice(-20),
  owner: request.sessionKey ?? '',
  cwd: request.workspace,
  mark,
  cost,
})

/** Before the first message, or between two: only so that there is something to choose from. */
export const joinForChoices = async (
  running: Running,
  external: External,
  agent: { id: string },
  place: Place,
): Promise<void> => {
  const owner = place.sessionKey ?? ''
  if (running.sessions.has(owner)) return
  const options = optionsOf(running, place.workspace)
  const saved = external.load(agent.id)
  const isOurs = saved?.owner === owner && saved.cwd === place.workspace
  const restored = isOurs ? await restore(options, saved) : null
  const session = restored ?? (await startNew(options))
  running.sessions.set(owner, session)
  // It has heard nothing yet: the next message tells it what was said.
  if (!restored) external.save(agent.id, toSaved(session, place, '', 0))
}
