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

type Running = { context: ServerContext; steps: number; notes: string[]; signal: AbortSignal }

const CHOICES: Readonly<Record<ApprovalChoice, string>> = {
  once: 'Allow once',
  session: 'Allow for this session',
  always: 'Always allow',
  deny: 'Deny',
}

export type Asker = ReturnType<typeof createAsker>

export const createAsker = (options: AskerOptions) => {
  const { engine, sessions, recorded, isOfServer, cwd, hasForms, log } = options
  const open = new Map<string, RecordedSession>()
  const running = new Map<string, Running>()

  const sessionFor = ({ session_id: id, workspace, model }: Request): RecordedSession => {
    const place = workspace === undefined ? undefined : requireDirectory(workspace, 'workspace')
    const known = id === undefined ? undefined : open.get(id)
    const session =
      known ??
      (id === undefined
        ? sessions.create({ id: randomUUID(), cwd: place ?? cwd, model: options.model })
        : resume(id, place))
    if (place !== undefined && place !== session.cwd)
      throw invalid(`The session ${session.id} works in ${session.cwd}. Leave workspace out.`)
    if (model !== undefined) session.model = model
    open.set(session.id, session)
    return session
  }

  const resume = (id: string, place: string | undefined): RecordedSession => {
    if (isOfServer(id))
      throw invalid(
        `The session ${id} belongs to the server, which alone continues it: open it in the page. read_session returns its messages.`,
      )
    const known = recorded().find(entry => entry.id === id)?.cwd
    return sessions.resume(id, { cwd: place ?? (known || cwd), model: null }).session
  }

  /** Null when the client cannot be asked, or declines. */
  const askForm = async (
    { context, signal }: Running,
    message: string,
    properties: Record<string, { type: 'string'; title: string; enum?: string[] }>,
    timeoutMs: number,
  ): Promise<Record<string, unknown> | null> => {
    const { action, content } = await context.mcpReq.elicitInput(
      { mode: 'form', message, requestedSchema: { type: 'object', properties } },
      // Zero means no limit; the SDK has no such value.
      { signal, timeout: timeoutMs > 0 ? timeoutMs : 2 ** 31 - 1 },
    )
    return action === 'accept' ? asObject(content) : null
  }

  return {
    /** Runs a whole turn. Throws a UserError or an Error with the reason when there is no answer. */
    async ask(request: Request, context: ServerContext): Promise<Answer> {
      const { signal } = context.mcpReq
      if (request.prompt.trim() === '') throw invalid('The prompt is empty.')
      const session = sessionFor(request)
      if (running.has(session.id))
        throw conflict(`A turn is running in the session ${session.id}. Wait for its end.`)
      const state: Running = { context, steps: 0, notes: [], signal }
      running.set(session.id, state)
      try {
        const { turn, result } = await sessions.send(session, request.prompt, {
          requireModel: true,
        })
        const stop = () => void engine.turns.cancel(turn.streamId)
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
        running.delete(session.id)
      }
    },

    // ── For the engine's observer ─────────────────────────────────────────────────────────────────────────────────────

    /** Each tool call is a step of the progress. */
    event(event: AgentEvent, id: string): void {
      const state = running.get(id)
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
    },

    warn(message: string): void {
      log(message)
      for (const { notes } of running.values()) notes.push(redact(message))
    },

    approve: (async (ask, timeoutMs) => {
      const state = running.get(ask.session_id)
      if (!state) return 'deny'
      const { command, description, cwd: place, diff } = ask
      if (!hasForms()) {
        state.notes.push(
          `Denied, because this client cannot show approvals: ${command} (${description})`,
        )
        throw new Unapproved('noOne')
      }
      const choices = ask.choices ?? ApprovalChoice.options
      const message = [description, command, diff, place && `In ${place}`].filter(Boolean)
      try {
        const answer = await askForm(
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
        log(`An approval got no answer: ${messageOf(error)}`)
        const isLate = error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT'
        throw new Unapproved(isLate ? 'timeout' : 'noOne')
      }
    }) satisfies Questions['approve'],

    clarify: (async ({ session_id, question, choices_offered: choices }, timeoutMs) => {
      const state = running.get(session_id)
      if (!state || !hasForms()) return null
      const own = {
        type: 'string' as const,
        title: choices.length > 0 ? 'Another answer' : 'Answer',
      }
      const choice = { type: 'string' as const, title: 'Answer', enum: [...choices] }
      const properties: Parameters<typeof askForm>[2] =
        choices.length > 0 ? { choice, answer: own } : { answer: own }
      try {
        const answer = await askForm(state, question, properties, timeoutMs)
        return asString(answer?.answer).trim() || asString(answer?.choice) || null
      } catch (error) {
        log(`A question got no answer: ${messageOf(error)}`)
        return null
      }
    }) satisfies Questions['clarify'],

    /** Stops everything that runs, at the end of the connection. */
    close(): void {
      for (const id of running.keys()) {
        const stream = engine.turns.streamOf(id)
        if (stream !== null) engine.turns.cancel(stream)
      }
      for (const id of open.keys()) sessions.end(id, 'mcp_close')
    },
  }
}
