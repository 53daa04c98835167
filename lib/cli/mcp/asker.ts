/** Runs turns for an MCP client: progress while they run, and approvals as forms of the client. */
import { randomUUID } from 'node:crypto'
import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentEvent } from '../../agent/types.ts'
import { asObject, asString } from '../../base/json.ts'
import { Unapproved } from '../../base/unapproved.ts'
import { conflict, invalid, messageOf } from '../../errors.ts'
import type { RecordedEntry } from '../../sessions/host-db/recorded-list.ts'
import { redact } from '../../base/redact/redact.ts'
import { ApprovalChoice } from '../../schema/question.ts'
import type { Questions } from '../../turns/questions.ts'
import type { RecordedSession, RecordedSessions } from '../recorded-sessions.ts'
import { requireDirectory } from '../require-directory.ts'
import type { TerminalEngine } from '../terminal-engine.ts'

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

const CHOICES: Readonly<Record<ApprovalChoice, string>> = {
  once: 'Allow once',
  session: 'Allow for this session',
  always: 'Always allow',
  deny: 'Deny',
}

type FormFields = Record<string, { type: 'string'; title: string; enum?: string[] }>

export type AskerOptions = {
  engine: TerminalEngine
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
}

export class Asker {
  readonly #options: AskerOptions
  readonly #engine
  readonly #sessions: RecordedSessions
  readonly #recorded: () => RecordedEntry[]
  readonly #isOfServer: (id: string) => boolean
  readonly #cwd: string
  readonly #hasForms: () => boolean
  readonly #log: (line: string) => void
  readonly #open = new Map<string, RecordedSession>()
  readonly #running = new Map<string, Running>()

  constructor(options: AskerOptions) {
    this.#options = options
    const { engine, sessions, recorded, isOfServer, cwd, hasForms, log } = options
    this.#engine = engine
    this.#sessions = sessions
    this.#recorded = recorded
    this.#isOfServer = isOfServer
    this.#cwd = cwd
    this.#hasForms = hasForms
    this.#log = log
  }

  #sessionFor({ session_id: id, workspace, model }: Request): RecordedSession {
    const place = workspace === undefined ? undefined : requireDirectory(workspace, 'workspace')
    const known = id === undefined ? undefined : this.#open.get(id)
    const session =
      known ??
      (id === undefined
        ? this.#sessions.create({
            id: randomUUID(),
            cwd: place ?? this.#cwd,
            model: this.#options.model,
          })
        : this.#resume(id, place))
    if (place !== undefined && place !== session.cwd)
      throw invalid(`The session ${session.id} works in ${session.cwd}. Leave workspace out.`)
    if (model !== undefined) session.model = model
    this.#open.set(session.id, session)
    return session
  }

  #resume(id: string, place: string | undefined): RecordedSession {
    if (this.#isOfServer(id))
      throw invalid(
        `The session ${id} belongs to the server, which alone continues it: open it in the page. read_session returns its messages.`,
      )
    const known = this.#recorded().find(entry => entry.id === id)?.cwd
    return this.#sessions.resume(id, { cwd: place ?? (known || this.#cwd), model: null }).session
  }

  /** Null when the client cannot be asked, or declines. */
  async #askForm(
    { context, signal }: Running,
    message: string,
    properties: FormFields,
    timeoutMs: number,
  ): Promise<Record<string, unknown> | null> {
    const { action, content } = await context.mcpReq.elicitInput(
      { mode: 'form', message, requestedSchema: { type: 'object', properties } },
      // Zero means no limit; the SDK has no such value.
      { signal, timeout: timeoutMs > 0 ? timeoutMs : 2 ** 31 - 1 },
    )
    return action === 'accept' ? asObject(content) : null
  }

  /** Runs a whole turn. Throws a UserError or an Error with the reason when there is no answer. */
  async ask(request: Request, context: ServerContext): Promise<Answer> {
    const { signal } = context.mcpReq
    if (request.prompt.trim() === '') throw invalid('The prompt is empty.')
    const session = this.#sessionFor(request)
    if (this.#running.has(session.id))
      throw conflict(`A turn is running in the session ${session.id}. Wait for its end.`)
    const state: Running = { context, steps: 0, notes: [], signal }
    this.#running.set(session.id, state)
    try {
      const { turn, result } = await this.#sessions.send(session, request.prompt, {
        requireModel: true,
      })
      const stop = () => void this.#engine.turns.cancel(turn.streamId)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      const outcome = await result
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
    const { command, description, cwd: place, diff } = ask
    if (!this.#hasForms()) {
      state.notes.push(
        `Denied, because this client cannot show approvals: ${command} (${description})`,
      )
      throw new Unapproved('noOne')
    }
    const choices = ask.choices ?? ApprovalChoice.options
    const message = [description, command, diff, place && `In ${place}`].filter(Boolean)
    try {
      const answer = await this.#askForm(
        state,
        message.join('\n\n'),
        {
          decision: {
            type: 'string',
            title: 'Decision',
            enum: choices.map(choice => CHOICES[choice]),
          },
        },
        timeoutMs,
      )
      return choices.find(choice => CHOICES[choice] === answer?.decision) ?? 'deny'
    } catch (error) {
      if (state.signal.aborted) return 'deny'
      state.notes.push(`Denied without an answer: ${command}`)
      this.#log(`An approval got no answer: ${messageOf(error)}`)
      const isLate = error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT'
      throw new Unapproved(isLate ? 'timeout' : 'noOne')
    }
  }

  async clarify(
    { session_id, question, choices_offered: choices }: Parameters<Questions['clarify']>[0],
    timeoutMs: number,
  ): Promise<string | null> {
    const state = this.#running.get(session_id)
    if (!state || !this.#hasForms()) return null
    const own = {
      type: 'string' as const,
      title: choices.length > 0 ? 'Another answer' : 'Answer',
    }
    const choice = { type: 'string' as const, title: 'Answer', enum: [...choices] }
    const properties: FormFields = choices.length > 0 ? { choice, answer: own } : { answer: own }
    try {
      const answer = await this.#askForm(state, question, properties, timeoutMs)
      return asString(answer?.answer).trim() || asString(answer?.choice) || null
    } catch (error) {
      this.#log(`A question got no answer: ${messageOf(error)}`)
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
    state.context.mcpReq
      .notify({
        method: 'notifications/progress',
        params: { progressToken, progress: state.steps, message },
      })
      // The client is gone: the end of the connection ends the turn.
      .catch(() => undefined)
  }

  warn(message: string): void {
    this.#log(message)
    for (const { notes } of this.#running.values()) notes.push(redact(message))
  }

  /** Stops everything that runs, at the end of the connection. */
  close(): void {
    for (const id of this.#running.keys()) {
      const stream = this.#engine.turns.streamOf(id)
      if (stream !== null) this.#engine.turns.cancel(stream)
    }
    for (const id of this.#open.keys()) this.#sessions.end(id, 'mcp_close')
  }
}
