/** `agent-webui chat`: a chat at the terminal, in the current directory, recorded in the host agent's state.db. */
import type { Config } from '../config.ts'
import { invalid, messageOf, missing, UserError } from '../errors.ts'
import {
  createSessionRecorder,
  newestHostSession,
  newHostSessionId,
  readHostSession,
  type RecordedMessage,
} from '../host-db/session-recorder.ts'
import { stateDbPath } from '../host-db/state-db.ts'
import type { Home } from '../profiles/home.ts'
import type { Usage } from '../schema/usage.ts'
import { provisionalTitle } from '../sessions/title.ts'
import { makeDir } from '../store/make-dir.ts'
import type { ChatArguments } from './arguments.ts'
import type { Terminal } from './terminal.ts'
import { createTerminalEngine, type TerminalEngine } from './terminal-engine.ts'
import { createTurnOutput, type TurnOutput } from './turn-output.ts'

export type ChatOptions = {
  config: Config
  addon: string | undefined
  version: string
  terminal: Terminal
  cwd: string
  /** Calls `interrupt` with the exit code of a signal; returns a function that removes the listener. */
  onInterrupt: (interrupt: (code: number) => void) => () => void
}

const [OK, FAILED, MISUSED, INTERRUPTED] = [0, 1, 2, 130]

const HELP = '/new starts a new session, /exit or Ctrl-D quits. Ctrl-C stops the answer.'

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** `12.3K tokens in (94% cached), 1.2K out, $0.03` */
const describeUsage = (usage: Usage): string => {
  const { input_tokens: input, output_tokens: output, cache_read_tokens: cached = 0 } = usage
  const share = cached > 0 ? ` (${Math.round((100 * cached) / input)}% cached)` : ''
  const cost = usage.estimated_cost
  const dollars = cost > 0 ? `, $${cost.toFixed(cost < 0.1 ? 4 : 2)}` : ''
  return `${compact.format(input)} tokens in${share}, ${compact.format(output)} out${dollars}`
}

type OpenSession = { id: string; model: string | null }

/** The message of the command line or of a pipe; null for a prompt, undefined when a pipe is empty. */
const firstMessage = async (
  { message }: ChatArguments,
  terminal: Terminal,
): Promise<string | null | undefined> => {
  if (message !== null) return message
  if (terminal.interactive) return null
  return (await terminal.readAll()).trim() || undefined
}

/** One run of the command: an engine, a home, and at most one session at a time. */
class Chat {
  readonly #terminal: Terminal
  readonly #cwd: string
  readonly #addon: string | undefined
  readonly #output: TurnOutput
  readonly #engine: TerminalEngine
  readonly #home: Home
  readonly #recorder: ReturnType<typeof createSessionRecorder>
  readonly #file: string
  #arguments: ChatArguments
  #session: OpenSession | null = null
  #streamId: string | null = null
  #isStopping = false

  private constructor(
    chatArguments: ChatArguments,
    options: ChatOptions,
    parts: {
      engine: TerminalEngine
      home: Home
      output: TurnOutput
      recorder: ReturnType<typeof createSessionRecorder>
      file: string
    },
  ) {
    this.#arguments = chatArguments
    this.#terminal = options.terminal
    this.#cwd = options.cwd
    this.#addon = options.addon
    this.#engine = parts.engine
    this.#home = parts.home
    this.#output = parts.output
    this.#recorder = parts.recorder
    this.#file = parts.file
  }

  static async open(chatArguments: ChatArguments, options: ChatOptions): Promise<Chat> {
    const { config, addon, version, terminal } = options
    const output = createTurnOutput(terminal, {
      quiet: chatArguments.quiet,
      approvalTimeoutMs: () => home.settings().approvals.timeout * 1_000,
      stop: () => chat.stop(),
      retryNow: () => chat.retryNow(),
    })
    const engine = await createTerminalEngine(config, {
      addon,
      version,
      observer: {
        ...output,
        prompt: (id, text) => recorder.prompt(id, text),
        message(id, message) {
          // Error notices are not part of the session.
          if (message._error !== true) recorder.message(id, message as RecordedMessage)
        },
      },
      problem: line => output.warning(line),
    })
    const openHome = (): Home => engine.homes.open(chatArguments.profile ?? engine.homes.active())
    const home = await Promise.resolve()
      .then(openHome)
      .catch(async (error: unknown) => {
        await engine.close()
        throw error
      })
    // The server creates the active home at its first start as well. Other profiles are created explicitly.
    makeDir(home.dir)
    const file = stateDbPath(home)
    let hasWarned = false
    const recorder = createSessionRecorder({
      file,
      addon,
      now: engine.now,
      onError(error) {
        if (!hasWarned) output.warning(`Couldn't save this session in ${file}: ${messageOf(error)}`)
        hasWarned = true
      },
    })
    const chat = new Chat(chatArguments, options, { engine, home, output, recorder, file })
    return chat
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

  /** Throws a 400 when config.yaml of the profile cannot be read. */
  requireConfig(): void {
    const problem = this.#home.config.problem()
    if (problem) throw invalid(`config.yaml: ${problem}`)
  }

  /** Sends one message and shows the answer. Returns the exit code. */
  async send(text: string): Promise<number> {
    this.#isStopping = false
    await this.#engine.models.ready(this.#home)
    this.#session ??= this.#openSession()
    const { id } = this.#session
    const { model } = this.#engine.models.compatible(this.#home, this.#session.model)
    const endpoint = this.#resolveEndpoint(model)
    const recorder = this.#recorder
    if (this.#arguments.model !== null && endpoint instanceof UserError) throw endpoint
    recorder.begin(id, {
      model: endpoint instanceof UserError ? model : endpoint.model,
      cwd: this.#cwd,
      maxSteps: this.#home.settings().agent.max_turns,
    })
    recorder.message(id, { role: 'user', content: text })
    recorder.title(id, provisionalTitle(text))
    const { turn, result } = await this.#engine.turns.start({
      sessionId: id,
      text,
      attachments: [],
      patch: {},
      endpoint,
    })
    this.#streamId = turn.streamId
    if (this.#isStopping) this.#engine.turns.cancel(turn.streamId)
    const outcome = await result
    this.#streamId = null
    this.#output.endLine()
    const usage = outcome?.usage ?? turn.usage
    if (!this.#arguments.quiet && usage.input_tokens > 0)
      this.#terminal.note(`· ${describeUsage(usage)}`)
    recorder.usage(id, {
      ...usage,
      provider: outcome?.provider ?? '',
      baseUrl: endpoint instanceof UserError ? '' : endpoint.baseUrl,
    })
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
      else if (line === '/new') {
        this.#endSession()
        this.#arguments = { ...this.#arguments, newest: false, resume: null }
      } else if (line !== '') await this.send(line)
    }
  }

  async close(): Promise<void> {
    await this.#engine.close()
    this.#endSession()
    await this.#recorder.flush()
    await this.#terminal.drain()
  }

  #endSession(): void {
    if (this.#session) this.#recorder.end(this.#session.id, 'cli_close')
    this.#session = null
  }

  /** The session to continue, or a new one, in the transcript of the engine. */
  #openSession(): OpenSession {
    const { newest, resume, model } = this.#arguments
    const file = this.#file
    const id = newest ? newestHostSession(file, this.#addon) : (resume ?? undefined)
    if (newest && id === undefined) throw missing('There is no session to continue.')
    const meta = { workspace: this.#cwd, profile: this.#home.name, llm_title_generated: true }
    if (id === undefined) {
      const newId = newHostSessionId(new Date())
      this.#engine.sessions.adopt(newId, { ...meta, model, title: newId }, [])
      return { id: newId, model }
    }
    const stored = /^[\w-]+$/.test(id) ? readHostSession(file, this.#addon, id) : undefined
    if (!stored) throw missing(`There is no session "${id}" in ${file}.`)
    const storedModel = model ?? stored.model
    this.#engine.sessions.adopt(id, { ...meta, model: storedModel, title: id }, stored.messages)
    return { id, model: storedModel }
  }

  #resolveEndpoint(model: string) {
    try {
      return this.#engine.models.endpoint(this.#home, model)
    } catch (error) {
      // The turn reports it, so that the message is recorded.
      if (error instanceof UserError) return error
      throw error
    }
  }
}

/** Runs the command. Returns the exit code: 0 done, 1 failed, 2 misused, or that of a signal. */
export const chat = async (chatArguments: ChatArguments, options: ChatOptions): Promise<number> => {
  const { terminal } = options
  const message = await firstMessage(chatArguments, terminal)
  if (message === undefined) {
    terminal.note('No message. Pass one as an argument, or pipe one in.')
    return MISUSED
  }
  const session = await Chat.open(chatArguments, options)
  const interrupted = Promise.withResolvers<number>()
  // The first Ctrl-C stops a running answer. A second one, and every other signal, ends the program.
  const removeListener = options.onInterrupt(code => {
    const onlyStop = code === INTERRUPTED && session.isRunning
    session.stop()
    if (!onlyStop) interrupted.resolve(code)
  })
  try {
    session.requireConfig()
    const work = message === null ? session.prompt() : session.send(message)
    // Not awaited after a signal: it was stopped.
    work.catch(() => undefined)
    return await Promise.race([work, interrupted.promise])
  } finally {
    removeListener()
    await session.close()
  }
}
