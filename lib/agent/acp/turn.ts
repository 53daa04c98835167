/** One turn of another program's agent, behind the same door as our own loop: a prompt, what it streams, an outcome. */
import { messageOf } from '../../errors.ts'
import type { Usage } from '../../schema/usage.ts'
import type { ExternalAgentContext } from '../external-agent.ts'
import type {
  Agent,
  AgentRequest,
  Emit,
  Failure,
  LoopMessage,
  ModelEndpoint,
  Outcome,
} from '../types.ts'
import type { RunningAgent, Timing } from './agents.ts'
import { historyHash } from './history-hash.ts'
import { chooseModel } from './options.ts'
import { type AttachedSession, attachSession, toSavedSession } from './attach-session.ts'
import type { Session } from './session.ts'
import { createTranscript, type Transcript } from './transcript.ts'
import { PromptResult } from './updates.ts'
import { rpcErrorCode, TurnFailure, isUnknownSession, toFailure } from './failures.ts'
import { isSlashCommand, toPromptBlocks, stripWorkspacePrefix } from './prompt.ts'
import { readImages, readForDiff } from './client-files.ts'
import { toolContextOf } from './services.ts'

export type TurnOptions = {
  use: <T>(
    endpoint: ModelEndpoint,
    external: ExternalAgentContext,
    work: (running: RunningAgent) => Promise<T>,
    /** Told what is going on while the agent starts. */
    say?: (words: string) => void,
  ) => Promise<T>
  timing: Timing
  redact: (text: string) => string
}

const nothing: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  estimated_cost: 0,
  context_length: 0,
  threshold_tokens: 0,
  last_prompt_tokens: 0,
}

export const createTurn =
  (options: TurnOptions): Agent =>
  async (request, emit) => {
    const { endpoint, external } = request
    const base = {
      text: '',
      steps: 0,
      usage: nothing,
      provider: endpoint.provider,
      model: endpoint.model,
    }
    const fail = (failure: Failure): Outcome => ({
      ...base,
      status: request.signal.aborted ? 'stopped' : 'failed',
      failure: { ...failure, message: options.redact(failure.message) },
    })
    if (!external || !endpoint.command?.length)
      return fail({ type: 'error', message: 'This agent cannot be run here.' })
    // It runs commands by itself, and asks about some of them at best.
    const forbidden = request.guards?.commands() ?? null
    if (forbidden !== null) return fail({ type: 'error', message: forbidden })
    try {
      return await options.use(
        endpoint,
        external,
        running => runTurn({ request, external, emit, running, options, base }),
        message => emit({ type: 'warning', kind: 'external_agent', message }),
      )
    } catch (error) {
      if (error instanceof TurnFailure) return fail(error.failure)
      return fail({ type: 'error', message: messageOf(error) })
    }
  }

type TurnContext = {
  request: AgentRequest
  external: ExternalAgentContext
  emit: Emit
  running: RunningAgent
  options: TurnOptions
  base: Omit<Outcome, 'status'>
}

const runTurn = async (turn: TurnContext): Promise<Outcome> => {
  const { request, external, running, emit } = turn
  const { signal, endpoint } = request
  const history = stripWorkspacePrefix(request.history, request.workspace)
  const owner = request.sessionKey ?? ''
  const agentId = endpoint.agent?.id ?? endpoint.provider
  const warn = (message: string) =>
    emit({ type: 'warning', kind: 'external_agent', message: turn.options.redact(message) })

  const known = running.sessions.get(owner)
  // The last prompt may still be winding down after it was cancelled.
  await known?.busy
  // It changes files by itself, and says so afterwards at best.
  await request.beforeChange?.('workspace')
  signal.throwIfAborted()

  const side = { external, agent: endpoint.agent }
  const attach = async (
    saved: ReturnType<ExternalAgentContext['load']>,
  ): Promise<AttachedSession> => {
    const attached = await untilAborted(
      () => attachSession(running, history, request, saved, side),
      turn,
    )
    running.sessions.set(owner, attached.session)
    attached.session.isOpening = true
    attached.session.onTitle = external.onTitle ?? null
    return attached
  }

  const saved = external.load(agentId)
  let attached = await attach(saved)
  const message = history.at(-1)
  const newest = historyHash(history)
  const saveState = (at: { mark: string; sent?: string; cost?: number }) =>
    ignoreDeleted(() =>
      external.save(
        agentId,
        toSavedSession(attached.session, request, { cost: attached.cost, ...at }),
      ),
    )
  const prompt = async (): ReturnType<typeof promptOnce> => {
    const { session, context, mark } = attached
    await selectModel(turn, session, warn).catch((error: unknown) => {
      session.isOpening = false
      throw error
    })
    // A command has to stand alone: what it has missed is told with the next message.
    const isAlone = context !== '' && isSlashCommand(message, session.commands)
    // Until it has answered, nobody knows whether it has taken this message in.
    saveState(isAlone ? { mark } : { mark, sent: newest })
    return promptOnce(turn, isAlone ? { ...attached, context: '' } : attached, history, warn, end =>
      saveState(end.isAnswered && !isAlone ? { mark: newest, cost: end.cost } : { mark }),
    )
  }
  if (attached.isHistoryLost) warn(historyLost(running.name))
  let outcome = await prompt()
  if (outcome === 'unknown') {
    attached = await attach(null)
    warn(historyLost(running.name))
    outcome = await prompt()
  }
  if (outcome === 'unknown')
    throw new TurnFailure({
      type: 'error',
      message: `${running.name} does not know its own session.`,
    })
  return outcome
}

/** A session that was deleted while its agent wound down has no record any more. */
const ignoreDeleted = (saveState: () => void): void => {
  try {
    saveState()
  } catch {
    // What the agent remembers is then of no use to anybody.
  }
}

const historyLost = (name: string): string =>
  `${name} does not have this conversation any more. It was told what has been said so far.`

const selectModel = async (
  turn: TurnContext,
  session: Session,
  warn: (message: string) => void,
): Promise<void> => {
  const { agent } = turn.request.endpoint
  if (!agent?.model) return
  const isOffered = await untilAborted(
    () => chooseModel(turn.running.connection, session, agent.model ?? ''),
    turn,
  )
  if (!isOffered)
    warn(`${agent.name} does not offer the model ${agent.model}; it uses its own choice.`)
}

/** `unknown`: the agent has no such session, and nothing was said. */
const promptOnce = async (
  turn: TurnContext,
  { session, context, cost }: AttachedSession,
  history: readonly LoopMessage[],
  warn: (message: string) => void,
  /** It has answered, or has refused the message before it did anything. */
  onSettled: (end: { isAnswered: boolean; cost: number }) => void,
): Promise<Outcome | 'unknown'> => {
  const { request, running, options, base } = turn
  const { connection, child, name } = running
  const { signal } = request
  const { graceMs, silenceMs } = options.timing
  const stop = Promise.withResolvers<Failure>()
  const transcript = createTranscript({
    request,
    emit: turn.emit,
    now: request.now ?? Date.now,
    served: { provider: base.provider, model: base.model },
    terminals: ids => session.terminals.view(ids),
    onTerminals(callId, ids) {
      for (const id of ids)
        session.terminals.watch(id, text => turn.emit({ type: 'tool_output', callId, text }))
    },
    readFile: path => readForDiff(toolContextOf(request, 'diff'), path),
    onFlood: () =>
      stop.resolve({ type: 'error', message: `${name} said more than can be kept in one turn.` }),
  })

  let serving = 0
  let clock: NodeJS.Timeout | undefined
  const noteActivity = () => {
    clearTimeout(clock)
    clock = setTimeout(() => {
      // It waits for us, or for the person.
      if (serving > 0) return noteActivity()
      const minutes = Math.max(1, Math.round(silenceMs / 60_000))
      const message = `${name} said nothing for ${minutes} minutes and was stopped.`
      stop.resolve({ type: 'no_response', message })
    }, silenceMs)
    clock.unref()
  }
  session.turn = {
    request,
    transcript,
    warn,
    allowed: new Set(),
    noteActivity,
    async whileServing(work) {
      serving++
      try {
        return await work
      } finally {
        serving--
        noteActivity()
      }
    },
  }
  noteActivity()

  const blocks = toPromptBlocks(
    history.at(-1),
    context,
    connection.capabilities,
    readImages(toolContextOf(request, 'picture'), request.attachments ?? [], warn),
    warn,
  )
  const prompt = connection.request('session/prompt', { sessionId: session.id, prompt: blocks })
  const answered = prompt.then(
    answer => ({ answer }),
    (error: unknown) => ({ error }),
  )
  const aborted = new Promise<Failure>(resolve => {
    const cancel = () => resolve({ type: 'interrupted', message: 'Stopped.' })
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
  })
  const dead = child.ended.then(how => ({ dead: `${name} ${how}.` }))
  session.busy = Promise.race([answered, dead])
  try {
    const first = await Promise.race([
      answered,
      dead,
      Promise.race([stop.promise, aborted]).then(failure => ({ failure })),
    ])
    if ('failure' in first) {
      // Asked to stop, and then made to.
      session.terminals.stopAll()
      await connection.notify('session/cancel', { sessionId: session.id }).catch(() => undefined)
      await waitAtMost(session.busy, graceMs, () => running.retire())
      throw new TurnFailure(first.failure)
    }
    if ('dead' in first)
      throw new TurnFailure({ type: 'interrupted', message: first.dead, hint: RESTART_HINT })
    if ('error' in first) {
      const { steps, isEmpty } = transcript.abandon()
      if (isUnknownSession(first.error) && steps === 0) return 'unknown'
      // A connection that breaks says less than the end of its process.
      const how = rpcErrorCode(first.error) === null ? await child.exitReason() : null
      if (how)
        throw new TurnFailure({
          type: 'interrupted',
          message: `${name} ${how}.`,
          hint: RESTART_HINT,
        })
      if (isEmpty) onSettled({ isAnswered: false, cost })
      throw new TurnFailure(toFailure(first.error, name, connection.capabilities))
    }
    // What was written with the answer has been read by then.
    await new Promise(resolve => setImmediate(resolve))
    onSettled({ isAnswered: true, cost: session.usage?.cost ?? cost })
    return end(turn, session, transcript, first.answer, cost, warn)
  } finally {
    clearTimeout(clock)
    transcript.abandon()
    if (session.turn?.transcript === transcript) session.turn = null
    session.isOpening = false
    session.usedAt = performance.now()
  }
}

const RESTART_HINT = 'It is started again with your next message.'

/** Undefined when it takes longer; `late` is then called. */
const waitAtMost = async <T>(
  work: Promise<T>,
  ms: number,
  onTimeout: () => void,
): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<undefined>(resolve => {
    timer = setTimeout(() => {
      onTimeout()
      resolve(undefined)
    }, ms)
  })
  const first = await Promise.race([work, waited])
  clearTimeout(timer)
  return first
}

const end = (
  { base, running, request }: TurnContext,
  session: Session,
  transcript: Transcript,
  answer: unknown,
  costBefore: number,
  warn: (message: string) => void,
): Outcome => {
  const { name } = running
  const parsed = PromptResult.safeParse(answer)
  const reason = parsed.success ? parsed.data.stopReason : ''
  if (reason === 'cancelled')
    throw new TurnFailure({ type: 'interrupted', message: `${name} stopped by itself.` })
  const { text, steps } = transcript.end('The agent ended its turn before this call did.')
  const notes: Readonly<Record<string, string>> = {
    max_tokens: `${name} stopped at its limit of tokens.`,
    max_turn_requests: `${name} stopped at its limit of steps.`,
    refusal: `${name} refused to go on.`,
  }
  const note = notes[reason]
  if (note) warn(note)
  else if (steps === 0) warn(`${name} ended its turn without saying anything.`)
  const used = parsed.success ? parsed.data.usage : null
  const { usage } = session
  const cost = usage?.cost ?? costBefore
  const size = usage?.size ?? request.endpoint.contextLength
  return {
    ...base,
    status: 'finished',
    text,
    steps,
    usage: {
      input_tokens: used?.inputTokens ?? 0,
      output_tokens: used?.outputTokens ?? 0,
      estimated_cost: Math.max(0, cost - costBefore),
      context_length: size,
      threshold_tokens: 0,
      last_prompt_tokens: usage?.used ?? used?.inputTokens ?? 0,
    },
  }
}

/** Errors of the requests before the prompt, in the same words. */
const untilAborted = async <T>(
  work: () => Promise<T>,
  { running, request }: TurnContext,
): Promise<T> => {
  const dead = running.child.ended.then((how): never => {
    throw new TurnFailure({
      type: 'interrupted',
      message: `${running.name} ${how}.`,
      hint: RESTART_HINT,
    })
  })
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new TurnFailure({ type: 'interrupted', message: 'Stopped.' }))
    if (request.signal.aborted) stop()
    else request.signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work(), dead, aborted])
  } catch (error) {
    if (error instanceof TurnFailure) throw error
    const how = rpcErrorCode(error) === null ? await running.child.exitReason() : null
    if (how)
      throw new TurnFailure({
        type: 'interrupted',
        message: `${running.name} ${how}.`,
        hint: RESTART_HINT,
      })
    throw new TurnFailure(toFailure(error, running.name, running.connection.capabilities))
  }
}
