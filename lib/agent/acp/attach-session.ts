/** Attaches one of our sessions to a session of the external agent (reuses, restores, forks, or opens one), and lists those it has. */
import { oneLine } from '../../base/shorten.ts'
import type { ExternalAgentContext, ExternalSession } from '../external-agent.ts'
import { raceAbort } from '../retry.ts'
import type { LoopMessage, ModelEndpoint, RunMessage } from '../types.ts'
import type { RunningAgent } from './running-agent.ts'
import { withTimeout } from './timeout.ts'
import { applyFirstChoices, restoreChoices } from './choices.ts'
import { errorText } from './failures.ts'
import { type AcpMcpServer, toAcpServers } from './mcp-servers.ts'
import { historyHash, messagesSince, messageTextAt, formatHistory } from './history-hash.ts'
import { LastMessageReader, Replay } from './replay.ts'
import { type ReplayReader, Session } from './session.ts'
import { OpenedSession, SessionList } from './updates.ts'
import { realPath } from '../../store/path-within.ts'

const CALL_MS = 60_000
const timeoutText = (name: string, what: string) => `${name} did not ${what} within a minute.`

/** Where a session is opened. */
type SessionTarget = { running: RunningAgent; cwd: string; mcpServers: AcpMcpServer[] }

const startNew = ({ running, cwd, mcpServers }: SessionTarget): Promise<Session> =>
  running.router.whileOpening(async () => {
    const work = running.connection.request('session/new', { cwd, mcpServers })
    const text = timeoutText(running.name, 'open a session')
    return registerNew(running, await withTimeout(work, CALL_MS, text))
  })

const registerNew = ({ name, router, clock }: RunningAgent, answer: unknown): Session => {
  const result = OpenedSession.safeParse(answer)
  if (!result.success || !result.data.sessionId)
    throw new Error(`${name} opened a session without saying which.`)
  const session = new Session(result.data.sessionId, clock)
  session.applyOpened(result.data)
  // Before the session's first updates are handled.
  router.register(session)
  return session
}

/** Opens a session that the agent has, with the reader of what it replays. Throws when the agent refuses. */
const reopen = async (
  { running, cwd, mcpServers }: SessionTarget,
  id: string,
  method: 'session/load' | 'session/resume',
  reader: ReplayReader,
  signal = new AbortController().signal,
): Promise<Session> => {
  const { connection, router, clock, name } = running
  const session = new Session(id, clock)
  session.replay = reader
  router.register(session)
  try {
    const work = connection.request(method, { sessionId: id, cwd, mcpServers })
    const text = timeoutText(name, 'restore its session')
    const answer = await raceAbort(withTimeout(work, CALL_MS, text), signal)
    // By then all updates written before the response have been handled.
    await new Promise(resolve => setImmediate(resolve))
    const result = OpenedSession.safeParse(answer ?? {})
    if (result.success) session.applyOpened(result.data)
    return session
  } finally {
    session.replay = null
  }
}

/** `session/resume` doesn't replay the history; `session/load` does, which shows what the agent has received. */
const methodsOf = ({ connection }: RunningAgent) => {
  const { loadSession, sessionCapabilities } = connection.capabilities.agentCapabilities
  return {
    load: loadSession ? ('session/load' as const) : null,
    resume: sessionCapabilities.resume ? ('session/resume' as const) : null,
  }
}

type Restored = { session: Session; lastMessage: string }

/** Null if the agent can't restore sessions or no longer has this one. `withHistory`: `lastMessage` is its last user message. */
const restore = async (
  place: SessionTarget,
  link: ExternalSession,
  withHistory = false,
): Promise<Restored | null> => {
  const { load, resume } = methodsOf(place.running)
  const method = withHistory ? (load ?? resume) : (resume ?? load)
  if (!method) return null
  const reader = new LastMessageReader()
  try {
    const session = await reopen(place, link.session_id, method, reader)
    session.reported = link.reported
    return { session, lastMessage: reader.lastMessage }
  } catch (error) {
    // Unknown to the agent: a new session takes its place.
    place.running.log(`${method} ${link.session_id}: ${errorText(error)}`)
    return null
  }
}

/** Restores an earlier session of the agent. Changes nothing of ours if the agent refuses. */
export const adoptSession = async (
  running: RunningAgent,
  id: string,
  workspace: string,
  served: { provider: string; model: string },
  mcpServers: AcpMcpServer[],
  signal: AbortSignal,
): Promise<{
  session: Session
  /** Null if the agent resumes without replaying the history. */
  replayed: { messages: RunMessage[]; omitted: number } | null
}> => {
  const { load, resume } = methodsOf(running)
  const method = load ?? resume
  if (!method) throw new Error(`${running.name} can't resume earlier sessions.`)
  await running.settled()
  const replay = new Replay(workspace, served, running.clock)
  const place = { running, cwd: workspace, mcpServers }
  const session = await reopen(place, id, method, replay, signal)
  return { session, replayed: load ? replay.end() : null }
}

const fork = async (
  { running, cwd, mcpServers }: SessionTarget,
  link: ExternalSession,
): Promise<Session | null> => {
  const { name, connection, router, log } = running
  if (!connection.capabilities.agentCapabilities.sessionCapabilities.fork) return null
  try {
    const params = { sessionId: link.session_id, cwd, mcpServers }
    return await router.whileOpening(async () => {
      const work = connection.request('session/fork', params)
      return registerNew(
        running,
        await withTimeout(work, CALL_MS, timeoutText(name, 'copy its session')),
      )
    })
  } catch (error) {
    // Falls back to a new session, which receives the history as text.
    log(`session/fork: ${errorText(error)}`)
    return null
  }
}

/** One of our sessions. */
type SessionRef = { workspace: string; sessionKey?: string }

/** The agent and its context in this profile. */
export type AgentSide = { external: ExternalAgentContext; agent: ModelEndpoint['agent'] }

const placeOf = (
  running: RunningAgent,
  cwd: string,
  { external, agent }: AgentSide,
): SessionTarget => ({
  running,
  cwd,
  mcpServers: toAcpServers(external, agent, running.connection.capabilities),
})

export type AttachedSession = {
  session: Session
  /** The history that the agent lacks, sent before the message; '' if none. */
  context: string
  /** Hash of the history that the agent's session contains. */
  mark: string
  /** The agent has lost a session it had for this conversation. */
  isHistoryLost: boolean
  /** Cost of the agent's session before this turn, in US dollars. */
  cost: number
}

const firstChoices = (
  running: RunningAgent,
  session: Session,
  agent: ModelEndpoint['agent'],
): Promise<void> => applyFirstChoices(running, session, agent?.settings, Boolean(agent?.model))

const collapseSpace = (text: string): string => oneLine(text).slice(0, 500)

/** Restores the agent's session. If it ended during a message, the replayed history shows whether it received that message. */
const restoreOwn = async (
  place: SessionTarget,
  history: readonly LoopMessage[],
  link: ExternalSession,
  current: Session | undefined,
): Promise<{ session: Session; mark: string } | null> => {
  const { sent, mark } = link
  if (current?.id === link.session_id) return { session: current, mark: sent || mark }
  const sentText = collapseSpace(messageTextAt(history, sent) ?? '')
  const restored = await restore(place, link, sent !== '')
  if (!restored) return null
  const isTaken = sentText !== '' && collapseSpace(restored.lastMessage).includes(sentText)
  return { session: restored.session, mark: isTaken ? sent : mark }
}

/**
 * The session to prompt in. The agent's session is reused only if its history matches ours. Otherwise (after an edit, in a
 * copy, in another directory, or if the agent lost it) a new session receives the history as text.
 */
export const attachSession = async (
  running: RunningAgent,
  history: readonly LoopMessage[],
  { workspace, sessionKey: owner = '' }: SessionRef,
  link: ExternalSession | null,
  side: AgentSide,
): Promise<AttachedSession> => {
  // A session that is being closed cannot be opened again yet.
  await running.settled()
  const place = placeOf(running, workspace, side)
  const here = link?.cwd === workspace ? link : null
  // The interrupted message is sent again; the agent may see it twice.
  const fits = here?.sent === historyHash(history) ? { ...here, sent: '' } : here
  // The interrupted message must still be part of the conversation.
  if (fits && messagesSince(history, fits.sent || fits.mark)) {
    const isOwn = fits.owner === owner
    const session = isOwn ? null : await fork(place, fits)
    const joined = isOwn
      ? await restoreOwn(place, history, fits, running.sessions.get(owner))
      : session && { session, mark: fits.mark }
    const missed = joined && messagesSince(history, joined.mark)
    if (missed) {
      const context = missed.length > 0 ? formatHistory(missed) : ''
      if (joined.session !== running.sessions.get(owner))
        await restoreChoices(running, joined.session, fits)
      return { ...joined, context, isHistoryLost: false, cost: isOwn ? fits.cost : 0 }
    }
  }
  const before = messagesSince(history, '') ?? []
  const session = await startNew(place)
  if (link?.owner === owner) await restoreChoices(running, session, link)
  else await firstChoices(running, session, side.agent)
  const context = before.length > 0 ? formatHistory(before) : ''
  return { session, context, mark: '', isHistoryLost: link !== null && context !== '', cost: 0 }
}

/** Names the message in the prompt that continues it: the replayed history then shows which one the agent continued last. */
const referenceOf = (newest: string): string => `reference ${newest.slice(0, 8)}`

/** The prompt that continues a turn. */
export const continuePrompt = (newest: string): string =>
  `About the last message (${referenceOf(newest)}): the program that passes messages to you was restarted while you worked on it, and your session was loaded again. Whatever was running then may have been done in part, and an open question or permission request got no answer: check before you repeat anything, and ask again if you still need to. Then continue where you were; do not start over.`

export type CutTurn =
  /** It has not received the message. */
  | 'unsent'
  /** It had answered. */
  | 'answered'
  /** What it has done cannot be known, or it no longer has the session. */
  | 'lost'
  | AttachedSession

/**
 * What the agent knows of a turn that was cut. Only `session/load` shows what it has received, so an agent without it cannot
 * continue: it might do the same work twice.
 */
export const attachToCutTurn = async (
  running: RunningAgent,
  history: readonly LoopMessage[],
  { workspace, sessionKey: owner = '' }: SessionRef,
  link: ExternalSession | null,
  side: AgentSide,
): Promise<CutTurn> => {
  const newest = historyHash(history)
  const hasWorked = history.at(-1)?.role !== 'user'
  const isOwn = link?.owner === owner && link.cwd === workspace
  if (isOwn && link.mark === newest) return 'answered'
  if (!isOwn || link.sent !== newest) return hasWorked ? 'lost' : 'unsent'
  const place = placeOf(running, workspace, side)
  if (!running.connection.capabilities.agentCapabilities.loadSession) return 'lost'
  const restored = await restore(place, link, true)
  const last = collapseSpace(restored?.lastMessage ?? '')
  const text = collapseSpace(messageTextAt(history, newest) ?? '')
  const isTaken = (text !== '' && last.includes(text)) || last.includes(referenceOf(newest))
  if (!restored || !isTaken) return restored && !hasWorked ? 'unsent' : 'lost'
  await restoreChoices(running, restored.session, link)
  const { mark, cost } = link
  return { session: restored.session, context: '', mark, isHistoryLost: false, cost }
}

export const toSavedSession = (
  session: Session,
  ref: SessionRef,
  { mark, sent = '', cost }: { mark: string; sent?: string; cost: number },
): ExternalSession => ({
  session_id: session.id,
  owner: ref.sessionKey ?? '',
  cwd: ref.workspace,
  mark,
  sent,
  cost,
  reported: session.reported,
  // The mode that the user chose, not the one that plan mode set.
  mode: session.modes ? (session.modeBeforePlan ?? session.modes.currentModeId) : null,
  options: Object.fromEntries(
    session.options.map(({ id, category, currentValue }) => [
      id,
      category === 'mode' ? (session.modeBeforePlan ?? currentValue) : currentValue,
    ]),
  ),
})

/** Attaches a session outside a turn, so that its modes and options can be shown and set. */
export const attachForSettings = async (
  running: RunningAgent,
  external: ExternalAgentContext,
  agent: NonNullable<ModelEndpoint['agent']>,
  ref: SessionRef,
): Promise<void> => {
  const owner = ref.sessionKey ?? ''
  if (running.sessions.has(owner)) return
  const place = placeOf(running, ref.workspace, { external, agent })
  const link = external.load(agent.id)
  const isOurs = link?.owner === owner && link.cwd === ref.workspace
  const restored = isOurs ? await restore(place, link) : null
  const session = restored?.session ?? (await startNew(place))
  if (isOurs) await restoreChoices(running, session, link)
  else await firstChoices(running, session, agent)
  session.onTitle = external.onTitle ?? null
  running.sessions.set(owner, session)
  // A new session has no history yet; the next message sends it.
  if (!restored) external.save(agent.id, toSavedSession(session, ref, { mark: '', cost: 0 }))
}

const MAX_SESSIONS = 200
const MAX_PAGES = 50

type ListedSession = { id: string; title: string; updatedAt: number | null; cwd: string }

const secondsOf = (time: string | null | undefined): number | null => {
  const ms = Date.parse(time ?? '')
  return Number.isFinite(ms) ? ms / 1_000 : null
}

/** The sessions of one directory, in the agent's order; null if the agent can't list sessions. */
export const listAgentSessions = async (
  { connection, name }: RunningAgent,
  cwd: string,
): Promise<ListedSession[] | null> => {
  if (!connection.capabilities.agentCapabilities.sessionCapabilities.list) return null
  const directory = realPath(cwd)
  const sessions = new Map<string, ListedSession>()
  const seen = new Set<string>()
  let cursor: string | null = null
  do {
    const answer: unknown = await withTimeout(
      connection.request('session/list', { cwd, ...(cursor === null ? {} : { cursor }) }),
      CALL_MS,
      timeoutText(name, 'list its sessions'),
    )
    const page = SessionList.safeParse(answer)
    if (!page.success) throw new Error(`${name} did not answer with a list of sessions.`)
    // Some agents ignore `cwd` and list all sessions.
    for (const { sessionId, title, updatedAt, cwd: own } of page.data.sessions)
      if (own && realPath(own) === directory)
        sessions.set(sessionId, {
          id: sessionId,
          title: title ?? '',
          updatedAt: secondsOf(updatedAt),
          cwd: own,
        })
    cursor = page.data.nextCursor || null
    if (cursor === null || seen.has(cursor)) break
    seen.add(cursor)
  } while (sessions.size < MAX_SESSIONS && seen.size < MAX_PAGES)
  return [...sessions.values()].slice(0, MAX_SESSIONS)
}
