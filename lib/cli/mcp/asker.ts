/** Runs turns for an MCP client: progress while they run, and approvals as forms of the client. */
import { randomUUID } from 'node:crypto'
import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentEvent } from '../../agent/types.ts'
import { asObject } from '../../base/json.ts'
import { redact } from '../../base/redact/redact.ts'
import { Unapproved } from '../../base/unapproved.ts'
import { conflict, invalid, messageOf } from '../../errors.ts'
import { ApprovalChoice } from '../../schema/question.ts'
import type { RecordedEntry } from '../../sessions/host-db/recorded-list.ts'
import type { Questions } from '../../turns/questions.ts'
import { answerIn, CHOICE_NAMES, formFields } from '../answer-form.ts'
import type { RecordedSession, RecordedSessions } from '../recorded-sessions.ts'
import { requireDirectory } from '../require-directory.ts'

export type Request = {
  prompt: string
  session_id?: string | undefined
  workspace?: string | undefined
  model?: string | undefined
}

export type Answer = {
  session_id: string
  text: string
  /** What the client should know besides, such as denied commands. */
  notes: string[]
}

type Running = { context: ServerContext; steps: number; notes: string[]; signal: AbortSignal }

/** Null when the client declines. */
const askForm = async (
  { context, signal }: Running,
  message: string,
  properties: ReturnType<typeof formFields>,
  timeoutMs: number,
): Promise<Record<string, unknown> | null> => {
  const { action, content } = await context.mcpReq.elicitInput(
    { mode: 'form', message, requestedSchema: { type: 'object', properties } },
    // Zero means no limit; the SDK has no such value.
    { signal, timeout: timeoutMs > 0 ? timeoutMs : 2 ** 31 - 1 },
  )
  return action === 'accept' ? asObject(content) : null
}

export class Asker {
  readonly #options
  readonly #open = new Map<string, RecordedSession>()
  readonly #running = new Map<string, Running>()

  constructor(options: {
    sessions: RecordedSessions
    /** Those of command-line programs in state.db, with the directory of each. */
    recorded: () => RecordedEntry[]
    /** Whether the session belongs to the server, which alone may continue it. */
    isOfServer: (id: string) => boolean
    /** Of new sessions; null: that of the profile. */
    model: string | null
    cwd: string
    /** Whether the client can show a form. */
    hasForms: () => boolean
    log: (line: string) => void
  }) {
    this.#options = options
  }

  #sessionFor({ session_id: id, workspace, model }: Request): RecordedSession {
    const { sessions, cwd, model: usual } = this.#options
    const place = workspace === undefined ? undefined : requireDirectory(workspace, 'workspace')
    const session =
      id === undefined
        ? sessions.create({ id: randomUUID(), cwd: place ?? cwd, model: usual })
        : (this.#open.get(id) ?? this.#resume(id, place))
    if (place !== undefined && place !== session.cwd)
      throw invalid(`The session ${session.id} works in ${session.cwd}. Leave workspace out.`)
    if (model !== undefined) session.model = model
    this.#open.set(session.id, session)
    return session
  }

  #resume(id: string, place: string | undefined): RecordedSession {
    const { sessions, recorded, isOfServer, cwd } = this.#options
    if (isOfServer(id))
      throw invalid(
        `The session ${id} belongs to the server, which alone continues it: open it in the page. read_session returns its messages.`,
      )
    const lastCwd = recorded().find(entry => entry.id === id)?.cwd
    return sessions.resume(id, { cwd: place ?? (lastCwd || cwd), model: null }).session
  }

  /** Runs a whole turn. Throws a UserError or an Error with the reason when there is no answer. */
  async ask(request: Request, context: ServerContext): Promise<Answer> {
    const { sessions } = this.#options
    const { signal } = context.mcpReq
    if (request.prompt.trim() === '') throw invalid('The prompt is empty.')
    const session = this.#sessionFor(request)
    if (this.#running.has(session.id))
      throw conflict(`A turn is running in the session ${session.id}. Wait for its end.`)
    const state: Running = { context, steps: 0, notes: [], signal }
    this.#running.set(session.id, state)
    try {
      const run = await sessions.send(session, request.prompt, { requireModel: true })
      const stop = () => void sessions.engine.turns.cancel(run.turn.streamId)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      const outcome = await run.result
      signal.removeEventListener('abort', stop)
      if (signal.aborted) throw new Error('The request was cancelled.')
      if (outcome?.status !== 'finished') {
        const { message, hint } = outcome?.failure ?? { message: 'The turn failed.' }
        throw new Error([message, hint].filter(Boolean).join(' '))
      }
      return { session_id: session.id, text: redact(outcome.text), notes: state.notes }
    } finally {
      this.#running.delete(session.id)
    }
  }

  // ── For the engine's observer ─────────────────────────────────────────────────────────────────────────────────────
  /** Asks for an approval in a form. */
  async approve(
    ask: Parameters<Questions['approve']>[0],
    timeoutMs: number,
  ): Promise<ApprovalChoice> {
    const state = this.#running.get(ask.session_id)
    if (!state) return 'deny'
    const { command, description, cwd: place, diff, choices = ApprovalChoice.options } = ask
    if (!this.#options.hasForms()) {
      const why = `Denied, because this client cannot show approvals: ${command} (${description})`
      state.notes.push(why)
      throw new Unapproved('noOne')
    }
    const message = [description, command, diff, place && `In ${place}`].filter(Boolean)
    const names = choices.map(choice => CHOICE_NAMES[choice])
    const fields = { decision: { type: 'string' as const, title: 'Decision', enum: names } }
    try {
      const answer = await askForm(state, message.join('\n\n'), fields, timeoutMs)
      return choices.find(choice => CHOICE_NAMES[choice] === answer?.decision) ?? 'deny'
    } catch (error) {
      if (state.signal.aborted) return 'deny'
      state.notes.push(`Denied without an answer: ${command}`)
      this.#options.log(`An approval got no answer: ${messageOf(error)}`)
      const isLate = error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT'
      throw new Unapproved(isLate ? 'timeout' : 'noOne')
    }
  }

  async clarify(
    { session_id, question, choices_offered: choices }: Parameters<Questions['clarify']>[0],
    timeoutMs: number,
  ): Promise<string | null> {
    const state = this.#running.get(session_id)
    if (!state || !this.#options.hasForms()) return null
    try {
      return answerIn(await askForm(state, question, formFields(choices), timeoutMs))
    } catch (error) {
      this.#options.log(`A question got no answer: ${messageOf(error)}`)
      return null
    }
  }

  /** Each tool call is a step of the progress. */
  event(event: AgentEvent, id: string): void {
    const state = this.#running.get(id)
    const progressToken = state?.context.mcpReq._meta?.progressToken
    if (!state || event.type !== 'tool') return
    state.steps += 1
    if (progressToken === undefined) return
    const message = redact(`${event.name} ${event.preview ?? ''}`.trim())
    const params = { progressToken, progress: state.steps, message }
    // A client that is gone: the end of the connection ends the turn.
    state.context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }

  warn(message: string): void {
    this.#options.log(message)
    for (const { notes } of this.#running.values()) notes.push(redact(message))
  }

  /** Stops everything that runs, at the end of the connection. */
  close(): void {
    const { sessions } = this.#options
    const { turns } = sessions.engine
    for (const id of this.#running.keys()) {
      const stream = turns.streamOf(id)
      if (stream !== null) turns.cancel(stream)
    }
    for (const id of this.#open.keys()) sessions.end(id, 'mcp_close')
  }
}
