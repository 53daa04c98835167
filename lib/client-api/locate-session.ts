/** Decides in which session a request runs: one it continues, a branch of it, or a new one. */
import { missing } from '../errors.ts'
import type { ApiToken } from '../schema/api-token.ts'
import type { Message } from '../schema/message.ts'
import { contentText } from '../sessions/entries.ts'
import { provisionalTitle } from '../sessions/title.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ApiRequest } from './api-request.ts'
import { type Conversations, type Head, historyKey } from './conversations.ts'
import { textOfParts } from './parse.ts'
import { callsOf, checkResults, type SplitMessages, toTranscript } from './new-messages.ts'

/** `names`: the function of each open call, by its id. `replace`: the first message of the turn that is repeated. */
export type LocatedSession = SessionMatch & { names: ReadonlyMap<string, string> }
type SessionMatch = { sessionId: string; replace?: string }

type SessionRequest = {
  request: ApiRequest
  split: SplitMessages
  token: ApiToken
  /** For a new session. */
  workspace: string
  param: string
}

/** Sessions that a program started carry the id of its token in their record. */
export const OWNER_FIELD = 'api_token'

/** Calls of the last answer that have no result. */
const openCalls = (messages: readonly Message[]): { id: string; name: string }[] => {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const answered = new Set(messages.slice(at + 1).map(({ tool_call_id: id }) => id))
  return (messages[at]?.tool_calls ?? [])
    .filter(({ id }) => !answered.has(id))
    .map(({ id, function: { name } }) => ({ id, name }))
}

/** This message is the one that is being sent: the request repeats a turn. */
const isRepeated = (next: Message, { results, text }: SplitMessages): boolean =>
  next.role === 'tool'
    ? results.some(({ callId }) => callId === next.tool_call_id)
    : next.role === 'user' && text !== null && contentText(next.content) === text

/** Whether a new answer can take the place of these messages: nothing follows their answer, and no id of a response names it. */
const isReplaceable = (after: readonly Message[], { request, split }: SessionRequest): boolean => {
  const [next] = after
  if (!next || !isRepeated(next, split)) return false
  const answer = after.findIndex(({ role }) => role === 'assistant')
  if (answer < 0) return true
  return request.previous === null && !after.slice(answer).some(({ role }) => role === 'user')
}

export class SessionLocator {
  readonly #sessions: Sessions
  readonly #conversations: Conversations

  constructor(sessions: Sessions, conversations: Conversations) {
    this.#sessions = sessions
    this.#conversations = conversations
  }

  #isOwn(session: string, token: ApiToken): boolean {
    const row = this.#sessions.row(session)
    return (
      row?.profile === token.profile && this.#sessions.head(session).meta[OWNER_FIELD] === token.id
    )
  }

  #create({ request, split, token, workspace }: SessionRequest): string {
    const { history } = split
    const first = history.find(message => message.role === 'user')
    const meta = {
      workspace,
      model: request.model || null,
      profile: token.profile,
      source_tag: 'api',
      [OWNER_FIELD]: token.id,
      ...(first && { title: provisionalTitle(textOfParts(first.parts)) }),
    }
    return history.length === 0
      ? this.#sessions.create(meta).session_id
      : this.#sessions.adopt(null, meta, toTranscript(history)).session_id
  }

  #branch(session: string, count: number, token: ApiToken): string {
    const { session_id: id } = this.#sessions.branch(session, { keep_count: count })
    const patch = { source_tag: 'api', [OWNER_FIELD]: token.id }
    this.#sessions.append(id, [{ t: 'meta', patch }])
    return id
  }

  /** The session at this point: itself, without a turn that is repeated, or a branch. Null when the point is gone. */
  #resume({ session, message }: Head, input: SessionRequest): SessionMatch | null {
    const { token } = input
    if (!this.#isOwn(session, token)) return null
    const { messages } = this.#sessions.load(session)
    const at = messages.findIndex(({ id }) => id === message)
    if (at < 0) return null
    const after = messages.slice(at + 1)
    const [next] = after
    if (!next) return { sessionId: session }
    return isReplaceable(after, input)
      ? { sessionId: session, replace: next.id }
      : { sessionId: this.#branch(session, at + 1, token) }
  }

  /** The session that a program names, under a name of its own or by the session's id. */
  #byName(name: string, { token }: SessionRequest): SessionMatch | null {
    const head = this.#conversations.find(token.id, `conversation:${name}`)
    const session = head?.session ?? this.#sessions.resolve(name)
    return session !== undefined && this.#isOwn(session, token) ? { sessionId: session } : null
  }

  #keptMessages({ sessionId, replace }: SessionMatch): readonly Message[] {
    const { messages } = this.#sessions.load(sessionId)
    const end = messages.findIndex(({ id }) => id === replace)
    return end < 0 ? messages : messages.slice(0, end)
  }

  #find(input: SessionRequest): SessionMatch | null {
    const { request, split, token } = input
    const { conversation, previous } = request
    if (previous !== null) {
      const head = this.#conversations.find(token.id, `response:${previous}`)
      const match = head ? this.#resume(head, input) : null
      if (match === null)
        throw missing(`There is no response with the id "${previous.slice(0, 100)}".`, {
          param: 'previous_response_id',
          api_code: 'previous_response_not_found',
        })
      return match
    }
    if (conversation !== null) return this.#byName(conversation, input)
    checkResults(split.results, callsOf(split.history), input.param)
    if (split.history.length === 0) return null
    const head = this.#conversations.find(token.id, historyKey(split.history))
    return head ? this.#resume(head, input) : null
  }

  /** Synchronous up to the start of the turn, except for a new session. Throws a 400 or 404. */
  locate(input: SessionRequest): LocatedSession {
    const { request, split, param } = input
    const match = this.#find(input)
    const isExplicit = request.previous !== null || request.conversation !== null
    const calls = match === null ? [] : openCalls(this.#keptMessages(match))
    const ids = split.results.map(({ callId }) => callId)
    const fits = calls.length === ids.length && calls.every(({ id }) => ids.includes(id))
    if (match !== null && (fits || isExplicit)) {
      checkResults(split.results, calls, param)
      return { ...match, names: new Map(calls.map(({ id, name }) => [id, name])) }
    }
    // A named conversation that is new, or a history that this server does not know.
    checkResults(split.results, callsOf(split.history), param)
    const names = new Map(callsOf(split.history).map(({ id, name }) => [id, name]))
    return { sessionId: this.#create(input), names }
  }
}
