/** `agent-webui chat`: a chat at the terminal, in the current directory, recorded in the host agent's state.db. */
import { fromSeconds } from '../base/clock.ts'
import { missing } from '../errors.ts'
import type { SessionMode } from '../schema/session.ts'
import type { Usage } from '../schema/usage.ts'
import { isPlanning } from '../turns/context/plan-mode.ts'
import type { CommandContext } from './run.ts'
import {
  openRecordedSessions,
  type RecordedSession,
  type RecordedSessions,
} from './recorded-sessions.ts'
import type { Terminal } from './terminal.ts'
import type { TerminalEngine } from './terminal-engine.ts'
import { TurnOutput } from './turn-output.ts'

export type ChatArguments = {
  message: string | null
  profile: string | null
  model: string | null
  resume: string | null
  newest: boolean
  plan: boolean
  quiet: boolean
}

const [OK, FAILED, MISUSED, INTERRUPTED] = [0, 1, 2, 130]

const HELP =
  '/new starts a new session, /plan turns plan mode on or off, /exit or Ctrl-D quits. Ctrl-C stops the answer.'

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** `12.3K tokens in (94% cached), 1.2K out, $0.03` */
const describeUsage = (usage: Usage): string => {
  const { input_tokens: input, output_tokens: output, cache_read_tokens: cached = 0 } = usage
  const share = cached > 0 ? ` (${Math.round((100 * cached) / input)}% cached)` : ''
  const cost = usage.estimated_cost
  const dollars = cost > 0 ? `, $${cost.toFixed(cost < 0.1 ? 4 : 2)}` : ''
  return `${compact.format(input)} tokens in${share}, ${compact.format(output)} out${dollars}`
}

/** The message of the command line or of a pipe; null for a prompt, undefined when a pipe is empty. */
const firstMessage = async (
  { message }: ChatArguments,
  terminal: Terminal,
): Promise<string | null | undefined> => {
  if (message !== null) return message
  if (terminal.interactive) return null
  return (await terminal.readAll()).trim() || undefined
}

/** One run of the command: at most one session at a time. */
class Chat {
  readonly #terminal: Terminal
  readonly #cwd: string
  readonly #output: TurnOutput
  readonly #sessions: RecordedSessions
  readonly #engine: TerminalEngine
  #arguments: ChatArguments
  #session: RecordedSession | null = null
  #streamId: string | null = null
  #isStopping = false

  constructor(
    chatArguments: ChatArguments,
    { terminal, cwd }: CommandContext,
    output: TurnOutput,
    sessions: RecordedSessions,
  ) {
    this.#arguments = chatArguments
    this.#terminal = terminal
    this.#cwd = cwd
    this.#output = output
    this.#sessions = sessions
    this.#engine = sessions.engine
  }

  /** Whether a turn is running that was not stopped yet. */
  get isRunning(): boolean {
    return this.#streamId !== null && !this.#isStopping
  }

  stop(): void {
    this.#isStopping = true
    if (this.#streamId !== null) this.#engine.turns.cancel(this.#streamId)
  }

  retryNow(): void {
    if (this.#streamId !== null) this.#engine.turns.retryNow(this.#streamId)
  }

  /** Sends one message and shows the answer. Returns the exit code. */
  async send(text: string): Promise<number> {
    this.#isStopping = false
    this.#session ??= this.#openSession()
    const { turn, result } = await this.#sessions.send(this.#session, text, {
      requireModel: this.#arguments.model !== null,
    })
    this.#streamId = turn.streamId
    if (this.#isStopping) this.#engine.turns.cancel(turn.streamId)
    const outcome = await result
    this.#streamId = null
    this.#output.endLine()
    const usage = outcome?.usage ?? turn.usage
    if (!this.#arguments.quiet && usage.input_tokens > 0)
      this.#terminal.note(`· ${describeUsage(usage)}`)
    if (this.#isStopping) {
      this.#terminal.note('Stopped.')
      return INTERRUPTED
    }
    if (outcome?.status === 'finished') return OK
    const { message, hint } = outcome?.failure ?? { message: 'The turn failed.' }
    this.#terminal.note([message, hint].filter(Boolean).join(' '))
    return FAILED
  }

  /** Reads messages until /exit or the end of the input. */
  async prompt(): Promise<number> {
    this.#terminal.note(HELP)
    for (;;) {
      const line = (await this.#terminal.ask('> '))?.trim()
      if (line === undefined || line === '/exit' || line === '/quit') return OK
      if (line === '/help') this.#terminal.note(HELP)
      else if (line === '/plan') this.#setPlanning(!this.#isPlanning())
      else if (line === '/new') {
        this.#endSession()
        this.#arguments = { ...this.#arguments, newest: false, resume: null }
      } else if (line !== '') await this.send(line)
    }
  }

  async close(): Promise<void> {
    await this.#engine.close()
    this.#endSession()
    await this.#sessions.flush()
  }

  #endSession(): void {
    if (this.#session) this.#sessions.end(this.#session.id, 'cli_close')
    this.#session = null
  }

  /** The session to continue, or a new one, in the transcript of the engine. */
  #openSession(): RecordedSession {
    const { newest, resume, model } = this.#arguments
    const id = newest ? this.#sessions.newest() : (resume ?? undefined)
    if (newest && id === undefined) throw missing('There is no session to continue.')
    const place = { cwd: this.#cwd, model }
    const session =
      id === undefined ? this.#sessions.create(place) : this.#sessions.resume(id, place).session
    if (this.#arguments.plan) this.#recordMode(session.id, 'plan')
    return session
  }

  #recordMode(id: string, mode: SessionMode): void {
    this.#engine.sessions.append(id, [{ t: 'meta', patch: { mode } }])
  }

  /** An approved plan has ended it. */
  #isPlanning(): boolean {
    return this.#session
      ? isPlanning(this.#engine.sessions.head(this.#session.id).meta)
      : this.#arguments.plan
  }

  #setPlanning(plan: boolean): void {
    this.#arguments = { ...this.#arguments, plan }
    if (this.#session) this.#recordMode(this.#session.id, plan ? 'plan' : 'normal')
    this.#terminal.note(
      plan
        ? 'Plan mode is on: the agent changes nothing until you approve its plan.'
        : 'Plan mode is off.',
    )
  }
}

/** Runs the command. Returns the exit code: 0 done, 1 failed, 2 misused, or that of a signal. */
export const chat = async (
  chatArguments: ChatArguments,
  context: CommandContext,
): Promise<number> => {
  const { terminal } = context
  const message = await firstMessage(chatArguments, terminal)
  if (message === undefined) {
    terminal.note('No message. Pass one as an argument, or pipe one in.')
    return MISUSED
  }
  const output = new TurnOutput(
    terminal,
    chatArguments.quiet,
    () => fromSeconds(sessions.home.config().approvals.timeout),
    () => session.stop(),
    () => session.retryNow(),
  )
  const sessions = await openRecordedSessions(context, chatArguments.profile, 'cli', {
    observer: {
      event: event => output.event(event),
      warning: message => output.warning(message),
      approve: (...question) => output.questions.approve(...question),
      clarify: (...question) => output.questions.clarify(...question),
    },
    surface: 'terminal',
    problem: line => output.warning(line),
  })
  const session = new Chat(chatArguments, context, output, sessions)
  const interrupted = Promise.withResolvers<number>()
  // The first Ctrl-C stops a running answer. A second one, and every other signal, ends the program.
  const removeListener = context.onInterrupt(code => {
    const onlyStop = code === INTERRUPTED && session.isRunning
    session.stop()
    if (!onlyStop) interrupted.resolve(code)
  })
  try {
    const work = message === null ? session.prompt() : session.send(message)
    // Not awaited after a signal: it was stopped.
    work.catch(() => undefined)
    return await Promise.race([work, interrupted.promise])
  } finally {
    removeListener()
    await session.close()
  }
}
