/** How a session of ours and the agent's come together: anew, after a restart, in a copy, under another id. */
import type { ExternalAgentContext, ExternalSession } from '../external-agent.ts'
import type { AgentRequest, LoopMessage, ModelEndpoint } from '../types.ts'
import type { Running } from './agents.ts'
import { type Connection, within } from './connection.ts'
import { chooseAgain } from './options.ts'
import { sayError } from './failures.ts'
import { type PassedOn, passedOn } from './mcp-servers.ts'
import { markOf, missedSince, saidAt, tellOf } from './history-hash.ts'
import { createEcho } from './replay.ts'
import { createSession, type Session, takeOpened } from './session.ts'
import { Opened } from './updates.ts'

const CALL_MS = 60_000
const slow = (name: string, what: string) => `${name} did not ${what} within a minute.`

type OpenOptions = {
  name: string
  connection: Connection
  cwd: string
  mcpServers: PassedOn[]
  opening: Running['opening']
  /** The session has to be found by its id before its first news arrive. */
  register: (session: Session) => void
  onNoise: (line: string) => void
}

const startNew = (options: OpenOptions): Promise<Session> => {
  const { name, connection, cwd, mcpServers } = options
  return options.opening(async () => {
    const work = connection.request('session/new', { cwd, mcpServers })
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

type Restored = { session: Session; said: string }

/**
 * Null when the agent cannot, or does not know it any more. Resuming does not repeat the conversation, which we have;
 * loading does, and tells what the agent knows of it: `said` is the person's last message then.
 */
const restore = async (
  options: OpenOptions,
  saved: ExternalSession,
  isToTell = false,
): Promise<Restored | null> => {
  const { name, connection, cwd, mcpServers, onNoise } = options
  const { loadSession, sessionCapabilities } = connection.can.agentCapabilities
  const load = loadSession ? 'session/load' : null
  const resume = sessionCapabilities.resume ? 'session/resume' : null
  const method = isToTell ? (load ?? resume) : (resume ?? load)
  if (!method) return null
  for (const id of [saved.session_id, ...saved.aliases]) {
    const session = createSession(id)
    const echo = createEcho()
    session.replay = echo
    options.register(session)
    try {
      const answer = await within(
        connection.request(method, { sessionId: id, cwd, mcpServers }),
        CALL_MS,
        slow(name, 'restore its session'),
      )
      const opened = Opened.safeParse(answer ?? {})
      if (opened.success) takeOpened(session, opened.data)
      for (const alias of [saved.session_id, ...saved.aliases])
        if (alias !== session.id) session.aliases.add(alias)
      // What was written before the answer has been read by then.
      await new Promise(resolve => setImmediate(resolve))
      return { session, said: echo.said() }
    } catch (error) {
      // It has forgotten this one: another name of it, or a new session, will do.
      onNoise(`${method} ${id}: ${sayError(error)}`)
    } finally {
      session.replay = null
    }
  }
  return null
}

const fork = async (options: OpenOptions, saved: ExternalSession): Promise<Session | null> => {
  const { name, connection, cwd, mcpServers, onNoise } = options
  if (!connection.can.agentCapabilities.sessionCapabilities.fork) return null
  try {
    const params = { sessionId: saved.session_id, cwd, mcpServers }
    return await options.opening(async () => {
      const work = connection.request('session/fork', params)
      return begin(options, await within(work, CALL_MS, slow(name, 'copy its session')))
    })
  } catch (error) {
    // A new one is told what was said.
    onNoise(`session/fork: ${sayError(error)}`)
    return null
  }
}

type Place = Pick<AgentRequest, 'workspace' | 'sessionKey'>

/** Whose session it is: what is passed on to the agent, and what is remembered of it. */
export type Side = { external: ExternalAgentContext; agent: ModelEndpoint['agent'] }

const optionsOf = (running: Running, cwd: string, { external, agent }: Side): OpenOptions => ({
  mcpServers: passedOn(external, agent, running.connection.can),
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
  /** What it knows without being told. */
  mark: string
  /** It knew this conversation once and does not any more. */
  isForgotten: boolean
  /** What the whole session had cost before this turn. */
  cost: number
}

const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 500)

/** Its own session, and which mark it is at: one that was in the middle of a message when it ended is asked. */
const own = async (
  options: OpenOptions,
  history: readonly LoopMessage[],
  saved: ExternalSession,
  known: Session | undefined,
): Promise<{ session: Session; mark: string } | null> => {
  const { sent, mark } = saved
  if (known?.id === saved.session_id) return { session: known, mark: sent || mark }
  const wanted = squeezed(saidAt(history, sent) ?? '')
  const restored = await restore(options, saved, sent !== '')
  if (!restored) return null
  const isTaken = wanted !== '' && squeezed(restored.said).includes(wanted)
  return { session: restored.session, mark: isTaken ? sent : mark }
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
  side: Side,
): Promise<Joined> => {
  const options = optionsOf(running, workspace, side)
  const here = saved?.cwd === options.cwd ? saved : null
  // The message it was in the middle of, once more: it may take it in twice.
  const fits = here?.sent === markOf(history) ? { ...here, sent: '' } : here
  // What it was in the middle of must be part of the conversation still.
  if (fits && missedSince(history, fits.sent || fits.mark)) {
    const isOwn = fits.owner === owner
    const session = isOwn ? null : await fork(options, fits)
    const joined = isOwn
      ? await own(options, history, fits, running.sessions.get(owner))
      : session && { session, mark: fits.mark }
    const missed = joined && missedSince(history, joined.mark)
    if (missed) {
      const context = missed.length > 0 ? tellOf(missed) : ''
      if (joined.session !== running.sessions.get(owner))
        await chooseAgain(running, joined.session, fits)
      return { ...joined, context, isForgotten: false, cost: isOwn ? fits.cost : 0 }
    }
  }
  const before = missedSince(history, '') ?? []
  const session = await startNew(options)
  if (saved?.owner === owner) await chooseAgain(running, session, saved)
  const context = before.length > 0 ? tellOf(before) : ''
  return { session, context, mark: '', isForgotten: saved !== null && context !== '', cost: 0 }
}

export const toSaved = (
  session: Session,
  request: Pick<AgentRequest, 'workspace' | 'sessionKey'>,
  { mark, sent = '', cost }: { mark: string; sent?: string; cost: number },
): ExternalSession => ({
  session_id: session.id,
  aliases: [...session.aliases].slice(-20),
  owner: request.sessionKey ?? '',
  cwd: request.workspace,
  mark,
  sent,
  cost,
  mode: session.modes?.currentModeId ?? null,
  options: Object.fromEntries(
    session.options.map(({ id, currentValue }) => [id, currentValue] as const),
  ),
})

/** Before the first message, or between two: only so that there is something to choose from. */
export const joinForChoices = async (
  running: Running,
  external: ExternalAgentContext,
  agent: NonNullable<ModelEndpoint['agent']>,
  place: Place,
): Promise<void> => {
  const owner = place.sessionKey ?? ''
  if (running.sessions.has(owner)) return
  const options = optionsOf(running, place.workspace, { external, agent })
  const saved = external.load(agent.id)
  const isOurs = saved?.owner === owner && saved.cwd === place.workspace
  const restored = isOurs ? await restore(options, saved) : null
  const session = restored?.session ?? (await startNew(options))
  if (isOurs) await chooseAgain(running, session, saved)
  session.titled = external.onTitle ?? null
  running.sessions.set(owner, session)
  // It has heard nothing yet: the next message tells it what was said.
  if (!restored) external.save(agent.id, toSaved(session, place, { mark: '', cost: 0 }))
}
