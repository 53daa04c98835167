/** One session of a client: its settings, its turns, and what the client is shown of them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import type {
  AgentContext,
  ClientCapabilities,
  ContentBlock,
  PromptResponse,
  SessionConfigOption,
  SessionUpdate,
  StopReason,
} from '@agentclientprotocol/sdk'
import { waitAtMost } from '../../base/clock.ts'
import { isPlanApproval } from '../../base/plan-answers.ts'
import { formatTokens } from '../../agent/tokens.ts'
import type { AgentEvent, AgentRequest, Failure, Outcome } from '../../agent/types.ts'
import type { Effort } from '../../base/efforts.ts'
import { conflict, UserError } from '../../errors.ts'
import type { McpHome } from '../../mcp/mcp.ts'
import { redact } from '../../base/redact/redact.ts'
import type { ApprovalChoice } from '../../schema/question.ts'
import type { Usage } from '../../schema/usage.ts'
import type { Questions } from '../../turns/questions.ts'
import type { RecordedSession, RecordedSessions, RecordedTurn } from '../recorded-sessions.ts'
import { inClientTerminals } from './client-terminals.ts'
import { editorFiles } from './editor-files.ts'
import { configOptions, type ModeId } from './options.ts'
import { Outbox } from './outbox.ts'
import { readPrompt } from './prompt-blocks.ts'
import { askApproval, askQuestion, type QuestionsOptions } from './questions.ts'
import { TurnUpdates } from './turn-updates.ts'

/** In the form of `mcp_servers` in config.yaml. */
type McpServers = Readonly<Record<string, unknown>>

/** What all sessions of a connection share. */
export type SessionContext = {
  sessions: RecordedSessions
  client: () => AgentContext
  /** What the client can do, since `initialize`. */
  capabilities: ClientCapabilities
  /** The environment of this process. */
  env: Readonly<Record<string, string>>
  log: (line: string) => void
}

/** A turn that failed, as the client shows it. */
export class TurnFailure extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super([failure.message, failure.hint].filter(Boolean).join(' '))
    this.name = 'TurnFailure'
    this.failure = failure
  }
}

/** How long a cancelled turn may take to end its commands before the client gets its answer. */
const CANCEL_MS = 800
/** A provider that does not answer must not delay the start of a session. */
const MODELS_MS = 2_500

type Running = {
  updates: TurnUpdates | null
  streamId: string | null
  /** Aborted when the client cancels. */
  cancel: AbortController
}

export class EditorSession {
  readonly #context: SessionContext
  readonly #session: RecordedSession
  readonly #outbox: Outbox
  /** The tool call whose question is being asked. */
  readonly #asking = new AsyncLocalStorage<string>()
  #mode: ModeId = 'default'
  /** Null: that of the profile. */
  effort: Effort | null = null
  #running: Running | null = null
  /** Of the turns before the running one, in dollars. */
  #cost = 0
  #hasTitle: boolean
  /** Its own MCP servers; undefined when the client named none. */
  readonly servers: McpHome | undefined

  constructor(
    context: SessionContext,
    session: RecordedSession,
    { servers, hasTitle }: { servers: McpServers; hasTitle: boolean },
  ) {
    const { home } = context.sessions
    this.#context = context
    this.#session = session
    this.#hasTitle = hasTitle
    this.#outbox = new Outbox(update =>
      context.client().notify('session/update', { sessionId: session.id, update }),
    )
    if (Object.keys(servers).length > 0)
      this.servers = {
        dir: `${home.dir}#${session.id}`,
        env: () => home.env(),
        config: () => ({ ...home.config(), mcp_servers: servers }),
      }
  }

  get id(): string {
    return this.#session.id
  }

  get cwd(): string {
    return this.#session.cwd
  }

  get model(): string | null {
    return this.#session.model
  }

  set model(model: string | null) {
    this.#session.model = model
  }

  get mode(): ModeId {
    return this.#mode
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  push(update: SessionUpdate): void {
    this.#outbox.push(update)
  }

  whenSent(): Promise<void> {
    return this.#outbox.whenSent()
  }

  // ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────

  setMode(mode: ModeId): void {
    const { sessions } = this.#context.sessions.engine
    this.#mode = mode
    // A session that was never in plan mode does not mention modes to the model.
    const wasPlanning = sessions.head(this.id).meta.mode != null
    const planning = mode === 'plan' ? { mode } : wasPlanning ? { mode: 'normal' as const } : {}
    const patch = { yolo: mode === 'auto' || null, ...planning }
    sessions.append(this.id, [{ t: 'meta', patch }])
  }

  async options(): Promise<SessionConfigOption[]> {
    const { engine, home } = this.#context.sessions
    const models = (await waitAtMost(engine.clock, MODELS_MS, engine.models.list(home))) ?? {
      active_provider: null,
      default_model: '',
      groups: [],
    }
    const { model } = engine.models.compatible(home, this.#session.model)
    return configOptions({ mode: this.#mode, model, effort: this.effort, models })
  }

  // ── Turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Runs one turn. Throws `TurnFailure`, or a UserError when it cannot start. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.#running)
      throw conflict('A prompt is running in this session. Wait for its end, or cancel it.')
    const running: Running = { updates: null, streamId: null, cancel: new AbortController() }
    this.#running = running
    const cancel = () => this.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const compact = /^\/compact(?:\s+([\s\S]*))?$/.exec(plainText(blocks))
      const stopReason = compact
        ? await this.#compact(compact[1] ?? '', running)
        : await this.#turn(blocks, running)
      return { stopReason }
    } finally {
      signal.removeEventListener('abort', cancel)
      running.updates?.end()
      await this.#outbox.whenSent()
      this.#running = null
    }
  }

  /** Stops the running turn, if there is one. */
  cancel(): void {
    const running = this.#running
    if (!running) return
    running.cancel.abort()
    const { turns } = this.#context.sessions.engine
    if (running.streamId !== null) turns.cancel(running.streamId)
    turns.interrupt(this.id)
  }

  /** For the engine's observer. */
  onEvent(event: AgentEvent): void {
    this.#running?.updates?.event(event)
  }

  /** Adds to the request of a turn what only the client can do. */
  withClient(request: AgentRequest): AgentRequest {
    const running = this.#running
    if (!running) return request
    const { capabilities, env, log, sessions } = this.#context
    const client = this.#context.client()
    const { planMode } = request
    running.updates = new TurnUpdates(
      request,
      update => this.push(update),
      text => this.#notice(text),
    )
    const editor = editorFiles({
      client,
      capabilities: capabilities.fs,
      sessionId: this.id,
      cwd: this.cwd,
      log,
    })
    const { updates } = running
    const isLasting = sessions.home.config().terminal.persistent_shell
    const tools =
      capabilities.terminal && !isLasting
        ? request.tools.map(tool =>
            tool.name === 'terminal'
              ? inClientTerminals(tool, {
                  client,
                  sessionId: this.id,
                  env,
                  isShown: id => updates.has(id),
                  show: (...of) => updates.showTerminal(...of),
                  log,
                })
              : tool,
          )
        : request.tools
    return {
      ...request,
      tools,
      ...(editor && { editor }),
      approve: (ask, callId) => this.#asking.run(callId, () => request.approve(ask, callId)),
      ...(planMode && {
        planMode: {
          isOn: () => planMode.isOn(),
          present: (plan, callId) => this.#asking.run(callId, () => planMode.present(plan, callId)),
        },
      }),
      clarify: (question, choices, callId) =>
        this.#asking.run(callId, () => request.clarify(question, choices, callId)),
      onUsage: usage => {
        request.onUsage?.(usage)
        this.#showUsage(usage)
      },
    }
  }

  approve(ask: Parameters<Questions['approve']>[0], timeoutMs: number): Promise<ApprovalChoice> {
    const options = this.#questionOptions()
    return options ? askApproval(options, ask, timeoutMs) : Promise.resolve('deny')
  }

  async clarify(
    question: Parameters<Questions['clarify']>[0],
    timeoutMs: number,
  ): Promise<string | null> {
    const options = this.#questionOptions()
    const answer = options ? await askQuestion(options, question, timeoutMs) : null
    if (question.plan && answer !== null && isPlanApproval(answer)) {
      this.#mode = 'default'
      this.push({ sessionUpdate: 'current_mode_update', currentModeId: this.#mode })
    }
    return answer
  }

  #questionOptions(): QuestionsOptions | null {
    const running = this.#running
    if (!running) return null
    const { client, capabilities, log } = this.#context
    const callId = this.#asking.getStore()
    const isKnown = callId !== undefined && running.updates?.has(callId)
    return {
      client: client(),
      capabilities,
      sessionId: this.id,
      signal: running.cancel.signal,
      call: isKnown ? { id: callId, content: running.updates?.contentOf(callId) ?? [] } : null,
      whenSent: () => this.#outbox.whenSent(),
      onAnswer: () => {
        if (isKnown)
          this.push({
            sessionUpdate: 'tool_call_update',
            toolCallId: callId,
            status: 'in_progress',
          })
      },
      log,
    }
  }

  async #turn(blocks: readonly ContentBlock[], running: Running): Promise<StopReason> {
    const { sessions } = this.#context
    const { engine } = sessions
    const { text, attachments } = readPrompt(blocks, join(engine.dir, 'prompts', this.id))
    const started = await sessions.send(this.#session, text, {
      attachments,
      effort: this.effort ?? undefined,
    })
    running.streamId = started.turn.streamId
    if (running.cancel.signal.aborted) engine.turns.cancel(running.streamId)
    const outcome = await this.#ending(started, running.cancel.signal)
    this.#cost += started.turn.usage.estimated_cost
    running.updates?.end()
    this.#showTitle(text)
    if (running.cancel.signal.aborted) return 'cancelled'
    if (outcome?.status === 'finished') return running.updates?.stopReason() ?? 'end_turn'
    throw new TurnFailure(outcome?.failure ?? { type: 'error', message: 'The turn failed.' })
  }

  /** A cancelled turn has ended for the client once its commands had a moment to stop. */
  #ending({ result }: RecordedTurn, signal: AbortSignal): Promise<Outcome | null> {
    const { promise, resolve } = Promise.withResolvers<null>()
    const stop = () =>
      void this.#context.sessions.engine.clock.timer(CANCEL_MS, () => resolve(null))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    return Promise.race([result, promise])
  }

  async #compact(topic: string, running: Running): Promise<StopReason> {
    const { compressions } = this.#context.sessions.engine
    try {
      const { tokens } = await compressions.compress(this.id, topic.trim(), running.cancel.signal)
      const [before, after] = tokens.map(formatTokens)
      this.#say(`Earlier messages are summarized: about ${before} → ${after} tokens.`)
    } catch (error) {
      if (running.cancel.signal.aborted) return 'cancelled'
      if (!(error instanceof UserError)) throw error
      this.#say(error.message)
    }
    return 'end_turn'
  }

  // ── What the client is shown ──────────────────────────────────────────────────────────────────────────────────────

  #say(text: string): void {
    this.push({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  }

  /** Clients without notices show thoughts, which are not part of the answer either. */
  #notice(text: string): void {
    const title = redact(text)
    if (this.#context.capabilities.session?.notices)
      this.push({ sessionUpdate: 'notice', severity: 'info', title })
    else
      this.push({
        sessionUpdate: 'agent_thought_chunk',
        content: { type: 'text', text: `\n\n${title}\n\n` },
      })
  }

  warn(text: string): void {
    if (this.#running) this.#notice(text)
    else this.#context.log(text)
  }

  #showUsage({ last_prompt_tokens: used, context_length: size, estimated_cost }: Usage): void {
    if (used === 0 || size === 0) return
    const amount = this.#cost + estimated_cost
    this.push({
      sessionUpdate: 'usage_update',
      used,
      size,
      ...(amount > 0 && { cost: { amount, currency: 'USD' } }),
    })
  }

  #showTitle(text: string): void {
    const title = this.#hasTitle ? null : this.#context.sessions.titleOf(text)
    this.#hasTitle = true
    this.push({
      sessionUpdate: 'session_info_update',
      ...(title && { title }),
      updatedAt: new Date(this.#context.sessions.engine.clock.now()).toISOString(),
    })
  }
}

const plainText = (blocks: readonly ContentBlock[]): string =>
  blocks.every(({ type }) => type === 'text')
    ? blocks
        .map(block => (block.type === 'text' ? block.text : ''))
        .join('')
        .trim()
    : ''
