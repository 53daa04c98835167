/** Sends one prompt to an external agent, streams its updates, and returns the outcome. */
import { type Sentence, sentence, type Words } from '../../base/sentences.ts'
import type { ExternalAgentContext } from '../external-agent.ts'
import type { Usage } from '../../schema/usage.ts'
import { raceAbort } from '../retry.ts'
import type { AgentRequest, Emit, Failure, LoopMessage, Outcome } from '../types.ts'
import type { AttachedSession } from './attach-session.ts'
import { readForDiff, readImages } from './client-files.ts'
import { isUnknownSession, rpcErrorCode, toTurnFailure, TurnFailure } from './failures.ts'
import { AgentHooks } from './hooks.ts'
import { toPromptBlocks } from './prompt.ts'
import type { RunningAgent } from './running-agent.ts'
import { toolContextOf, usesOwnFiles } from './services.ts'
import type { Session } from './session.ts'
import { systemClock, waitAtMost } from '../../base/clock.ts'
import { Transcript } from './transcript.ts'
import { PromptResult } from './updates.ts'
import { countsOf, NO_TOKENS, reportsTotals, tokensSince, toUsage } from './usage.ts'

export type ExternalTurn = {
  request: AgentRequest
  external: ExternalAgentContext
  emit: Emit
  running: RunningAgent
  /** Its usage is set when the turn ends, however it ends. */
  base: Omit<Outcome, 'status'>
}

export type PromptEnd = {
  how: 'answered' | 'rejected' | 'cut'
  /** What the agent's session has cost so far, in US dollars. */
  cost: number
}

/** After this silence an agent counts as hung. */
const SILENCE_MS = 15 * 60_000
/** How many notices of a chat are remembered. */
const MAX_TOLD = 200

/** `unknown`: the agent doesn't have the session, and no output was produced. */
export const promptOnce = async (
  turn: ExternalTurn,
  { session, context, cost }: AttachedSession,
  history: readonly LoopMessage[],
  warn: (message: Words) => void,
  /** Called when the agent has answered, has rejected the message without acting on it, or was cut off. */
  onSettled: (end: PromptEnd) => void,
): Promise<Outcome | 'unknown'> => {
  const { request, running, base } = turn
  const { connection, child, name, clock } = running
  const { signal } = request
  const { sessionKey: owner = '' } = request
  const stop = Promise.withResolvers<Failure>()
  const hooks = new AgentHooks(request, name, warn)
  const startedAt = clock.monotonic()
  const transcript = new Transcript({
    workspace: request.workspace,
    history: request.history,
    nextMessageId: request.nextMessageId,
    saveImage: request.saveImage,
    secrets: request.secrets,
    hooks,
    emit: turn.emit,
    clock,
    served: { provider: base.provider, model: base.model },
    terminals: ids => session.terminals.view(ids),
    onTerminals(callId, ids) {
      for (const id of ids)
        session.terminals.watch(id, text => turn.emit({ type: 'tool_output', callId, text }))
    },
    readFile: path =>
      usesOwnFiles(request) ? undefined : readForDiff(toolContextOf(request, 'diff'), path),
    onFlood: () =>
      stop.resolve({
        type: 'error',
        message: `${name} produced more output than one turn can hold.`,
      }),
  })

  let serving = 0
  let endSilence = (): void => undefined
  const noteActivity = () => {
    endSilence()
    endSilence = clock.timer(SILENCE_MS, () => {
      // It is waiting for us or for the user.
      if (serving > 0) return noteActivity()
      const message = `${name} did not respond for ${SILENCE_MS / 60_000} minutes and was stopped.`
      stop.resolve({ type: 'no_response', message })
    })
  }
  session.turn = {
    request,
    transcript,
    warn,
    notice(message) {
      const notices = running.notices.get(owner) ?? new Set()
      running.notices.set(owner, notices)
      if (!notices.has(message)) warn(message)
      if (notices.size > MAX_TOLD) notices.clear()
      notices.add(message)
    },
    allowed: new Set(),
    hooks,
    noteActivity,
    calls: { spent: NO_TOKENS, lastInput: 0 },
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
  const abort = () => stop.resolve(STOPPED)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const dead = child.ended.then(how => ({ dead: how }))
  const settle = (how: PromptEnd['how']) => onSettled({ how, cost: session.usage?.cost ?? cost })
  session.busy = Promise.race([answered, dead])
  try {
    const first = await Promise.race([answered, dead, stop.promise.then(failure => ({ failure }))])
    if ('failure' in first) {
      // Cancelled first, then retired after the grace period.
      session.terminals.stopAll()
      await connection.notify('session/cancel', { sessionId: session.id }).catch(() => undefined)
      const end = Promise.race([answered, dead])
      const late = await waitAtMost(systemClock, running.graceMs, end)
      if (late === undefined) running.retire()
      // What was used until then counts too.
      base.usage = measureUsage(turn, session, late && 'answer' in late ? late.answer : null, cost)
      settle('cut')
      throw new TurnFailure(first.failure)
    }
    if (!('answer' in first)) {
      base.usage = measureUsage(turn, session, null, cost)
      settle('cut')
    }
    if ('dead' in first) throw ended(running, first.dead)
    if ('error' in first) {
      const { steps, isEmpty } = transcript.abandon()
      if (isUnknownSession(first.error) && steps === 0) return 'unknown'
      if (isEmpty) settle('rejected')
      throw await failureOf(first.error, running)
    }
    // By then all updates written before the response have been handled.
    await new Promise(resolve => setImmediate(resolve))
    base.usage = measureUsage(turn, session, first.answer, cost)
    settle('answered')
    const outcome = end(turn, transcript, first.answer, warn)
    await hooks.ended(outcome.text, clock.monotonic() - startedAt)
    return outcome
  } finally {
    signal.removeEventListener('abort', abort)
    endSilence()
    transcript.abandon()
    if (session.turn?.transcript === transcript) session.turn = null
    session.isOpening = false
    session.usedAt = clock.monotonic()
  }
}

/** The usage of the turn: what its end reports, otherwise the model calls that were reported one by one. */
const measureUsage = (
  { running, request }: ExternalTurn,
  session: Session,
  answer: unknown,
  costBefore: number,
): Usage => {
  const parsed = PromptResult.safeParse(answer)
  const used = parsed.success ? parsed.data.usage : null
  const quota = parsed.success ? parsed.data._meta?.quota.token_count : null
  const { spent: called, lastInput } = session.turn?.calls ?? { spent: NO_TOKENS, lastInput: 0 }
  const { endpoint } = request
  let spent = quota
    ? countsOf({ inputTokens: quota.input_tokens, outputTokens: quota.output_tokens })
    : called
  if (used) {
    spent = countsOf(used)
    if (reportsTotals(endpoint.agent?.id ?? '', running.connection.capabilities.agentInfo)) {
      const total = spent
      spent = tokensSince(total, session.reported?.last ?? null)
      session.reported = { last: total }
    }
  }
  const { usage } = session
  return {
    ...toUsage(spent),
    threshold_tokens: 0,
    estimated_cost: Math.max(0, (usage?.cost ?? costBefore) - costBefore),
    context_length: usage?.size ?? endpoint.contextLength,
    last_prompt_tokens: usage?.used ?? (lastInput || spent.input),
  }
}

const end = (
  { base, running }: ExternalTurn,
  transcript: Transcript,
  answer: unknown,
  warn: (message: Words) => void,
): Outcome => {
  const { name } = running
  const parsed = PromptResult.safeParse(answer)
  const reason = parsed.success ? parsed.data.stopReason : ''
  if (reason === 'cancelled')
    throw new TurnFailure({
      type: 'interrupted',
      message: sentence('turn.agent_stopped', { name }),
    })
  const { text, steps } = transcript.end('The agent ended its turn before this call did.')
  const notes: Readonly<Record<string, Sentence>> = {
    max_tokens: sentence('turn.agent_token_limit', { name }),
    max_turn_requests: sentence('turn.agent_step_limit', { name }),
    refusal: sentence('turn.agent_declined', { name }),
  }
  const note = notes[reason]
  if (note) warn(note)
  else if (steps === 0) warn(sentence('turn.agent_silent', { name }))
  return { ...base, status: 'finished', text, steps }
}

/** Runs requests before the prompt; aborts, exits, and errors become TurnFailure. */
export const untilAborted = async <T>(
  work: () => Promise<T>,
  { running, request }: ExternalTurn,
): Promise<T> => {
  const dead = running.child.ended.then((how): never => {
    throw ended(running, how)
  })
  try {
    return await raceAbort(Promise.race([work(), dead]), request.signal)
  } catch (error) {
    if (request.signal.aborted) throw new TurnFailure(STOPPED)
    if (error instanceof TurnFailure) throw error
    throw await failureOf(error, running)
  }
}

const STOPPED: Failure = { type: 'interrupted', message: 'Stopped.' }

const ended = ({ name }: RunningAgent, how: string): TurnFailure =>
  new TurnFailure({
    type: 'interrupted',
    message: `${name} ${how}.`,
    hint: sentence('turn.agent_restarts'),
  })

/** The exit of the process explains more than a broken connection. */
const failureOf = async (error: unknown, running: RunningAgent): Promise<TurnFailure> => {
  const how = rpcErrorCode(error) === null ? await running.child.exitReason() : null
  return how ? ended(running, how) : toTurnFailure(error, running)
}
