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
import type { Running, Timing } from './agents.ts'
import { markOf } from './history-hash.ts'
import { chooseModel } from './options.ts'
import { type Joined, joinSession, toSaved } from './attach-session.ts'
import type { Session } from './session.ts'
import { createTranscript, type Transcript } from './transcript.ts'
import { Prompted } from './updates.ts'
import { codeOf, Ending, isUnknownSession, toFailure } from './failures.ts'
import { isCommand, toBlocks, withoutPlace } from './prompt.ts'
import { picturesFor, readForPerson } from './client-files.ts'
import { contextOf } from './services.ts'

export type TurnDeps = {
  use: <T>(
    endpoint: ModelEndpoint,
    external: ExternalAgentContext,
    work: (running: Running) => Promise<T>,
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
  (deps: TurnDeps): Agent =>
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
      failure: { ...failure, message: deps.redact(failure.message) },
    })
    if (!external || !endpoint.command?.length)
      return fail({ type: 'error', message: 'This agent cannot be run here.' })
    // It runs commands by itself, and asks about some of them at best.
    const forbidden = request.guards?.commands() ?? null
    if (forbidden !== null) return fail({ type: 'error', message: forbidden })
    try {
      return await deps.use(
        endpoint,
        external,
        running => converse({ request, external, emit, running, deps, base }),
        message => emit({ type: 'warning', kind: 'external_agent', message }),
      )
    } catch (error) {
      if (error instanceof Ending) return fail(error.failure)
      return fail({ type: 'error', message: messageOf(error) })
    }
  }

type Given = {
  request: AgentRequest
  external: ExternalAgentContext
  emit: Emit
  running: Running
  deps: TurnDeps
  base: Omit<Outcome, 'status'>
}

const converse = async (given: Given): Promise<Outcome> => {
  const { request, external, running, emit } = given
  const { signal, endpoint } = request
  const history = withoutPlace(request.history, request.workspace)
  const owner = request.sessionKey ?? ''
  const agentId = endpoint.agent?.id ?? endpoint.provider
  const warn = (message: string) =>
    emit({ type: 'warning', kind: 'external_agent', message: given.deps.redact(message) })

  const known = running.sessions.get(owner)
  // The last prompt may still be winding down after it was cancelled.
  await known?.busy
  // It changes files by itself, and says so afterwards at best.
  await request.beforeChange?.('workspace')
  signal.throwIfAborted()

  const side = { external, agent: endpoint.agent }
  const join = async (saved: ReturnType<ExternalAgentContext['load']>): Promise<Joined> => {
    const joined = await guarded(() => joinSession(running, history, request, saved, side), given)
    running.sessions.set(owner, joined.session)
    joined.session.isOpening = true
    joined.session.titled = external.onTitle ?? null
    return joined
  }

  const saved = external.load(agentId)
  let joined = await join(saved)
  const message = history.at(-1)
  const newest = markOf(history)
  const keep = (at: { mark: string; sent?: string; cost?: number }) =>
    keepQuietly(() =>
      external.save(agentId, toSaved(joined.session, request, { cost: joined.cost, ...at })),
    )
  const prompt = async (): ReturnType<typeof promptOnce> => {
    const { session, context, mark } = joined
    await pickModel(given, session, warn).catch((error: unknown) => {
      session.isOpening = false
      throw error
    })
    // A command has to stand alone: what it has missed is told with the next message.
    const isAlone = context !== '' && isCommand(message, session.commands)
    // Until it has answered, nobody knows whether it has taken this message in.
    keep(isAlone ? { mark } : { mark, sent: newest })
    return promptOnce(given, isAlone ? { ...joined, context: '' } : joined, history, warn, end =>
      keep(end.isAnswered && !isAlone ? { mark: newest, cost: end.cost } : { mark }),
    )
  }
  if (joined.isForgotten) warn(forgotten(running.name))
  let told = await prompt()
  if (told === 'unknown') {
    joined = await join(null)
    warn(forgotten(running.name))
    told = await prompt()
  }
  if (told === 'unknown')
    throw new Ending({ type: 'error', message: `${running.name} does not know its own session.` })
  return told
}

/** A session that was deleted while its agent wound down has no record any more. */
const keepQuietly = (keep: () => void): void => {
  try {
    keep()
  } catch {
    // What the agent remembers is then of no use to anybody.
  }
}

const forgotten = (name: string): string =>
  `${name} does not have this conversation any more. It was told what has been said so far.`

const pickModel = async (
  given: Given,
  session: Session,
  warn: (message: string) => void,
): Promise<void> => {
  const { agent } = given.request.endpoint
  if (!agent?.model) return
  const isThere = await guarded(
    () => chooseModel(given.running.connection, session, agent.model ?? ''),
    given,
  )
  if (!isThere)
    warn(`${agent.name} does not offer the model ${agent.model}; it uses its own choice.`)
}

/** `unknown`: the agent has no such session, and nothing was said. */
const promptOnce = async (
  given: Given,
  { session, context, cost }: Joined,
  history: readonly LoopMessage[],
  warn: (message: string) => void,
  /** It has answered, or has refused the message before it did anything. */
  settled: (end: { isAnswered: boolean; cost: number }) => void,
): Promise<Outcome | 'unknown'> => {
  const { request, running, deps, base } = given
  const { connection, child, name } = running
  const { signal } = request
  const { graceMs, silenceMs } = deps.timing
  const stop = Promise.withResolvers<Failure>()
  const transcript = createTranscript({
    request,
    emit: given.emit,
    now: request.now ?? Date.now,
    served: { provider: base.provider, model: base.model },
    terminals: ids => session.terminals.view(ids),
    onTerminals(callId, ids) {
      for (const id of ids)
        session.terminals.watch(id, text => given.emit({ type: 'tool_output', callId, text }))
    },
    readFile: path => readForPerson(contextOf(request, 'diff'), path),
    onFlood: () =>
      stop.resolve({ type: 'error', message: `${name} said more than can be kept in one turn.` }),
  })

  let serving = 0
  let clock: NodeJS.Timeout | undefined
  const heard = () => {
    clearTimeout(clock)
    clock = setTimeout(() => {
      // It waits for us, or for the person.
      if (serving > 0) return heard()
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
    heard,
    async serving(work) {
      serving++
      try {
        return await work
      } finally {
        serving--
        heard()
      }
    },
  }
  heard()

  const blocks = toBlocks(
    history.at(-1),
    context,
    connection.can,
    picturesFor(contextOf(request, 'picture'), request.attachments ?? [], warn),
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
      await patience(session.busy, graceMs, () => running.retire())
      throw new Ending(first.failure)
    }
    if ('dead' in first) throw new Ending({ type: 'interrupted', message: first.dead, hint: GO_ON })
    if ('error' in first) {
      const { steps, isEmpty } = transcript.leave()
      if (isUnknownSession(first.error) && steps === 0) return 'unknown'
      // A connection that breaks says less than the end of its process.
      const how = codeOf(first.error) === null ? await child.lastWords() : null
      if (how) throw new Ending({ type: 'interrupted', message: `${name} ${how}.`, hint: GO_ON })
      if (isEmpty) settled({ isAnswered: false, cost })
      throw new Ending(toFailure(first.error, name, connection.can))
    }
    // What was written with the answer has been read by then.
    await new Promise(resolve => setImmediate(resolve))
    settled({ isAnswered: true, cost: session.usage?.cost ?? cost })
    return end(given, session, transcript, first.answer, cost, warn)
  } finally {
    clearTimeout(clock)
    transcript.leave()
    if (session.turn?.transcript === transcript) session.turn = null
    session.isOpening = false
    session.usedAt = performance.now()
  }
}

const GO_ON = 'It is started again with your next message.'

/** Undefined when it takes longer; `late` is then called. */
const patience = async <T>(
  work: Promise<T>,
  ms: number,
  late: () => void,
): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<undefined>(resolve => {
    timer = setTimeout(() => {
      late()
      resolve(undefined)
    }, ms)
  })
  const first = await Promise.race([work, waited])
  clearTimeout(timer)
  return first
}

const end = (
  { base, running, request }: Given,
  session: Session,
  transcript: Transcript,
  answer: unknown,
  costBefore: number,
  warn: (message: string) => void,
): Outcome => {
  const { name } = running
  const parsed = Prompted.safeParse(answer)
  const reason = parsed.success ? parsed.data.stopReason : ''
  if (reason === 'cancelled')
    throw new Ending({ type: 'interrupted', message: `${name} stopped by itself.` })
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
const guarded = async <T>(work: () => Promise<T>, { running, request }: Given): Promise<T> => {
  const dead = running.child.ended.then((how): never => {
    throw new Ending({ type: 'interrupted', message: `${running.name} ${how}.`, hint: GO_ON })
  })
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new Ending({ type: 'interrupted', message: 'Stopped.' }))
    if (request.signal.aborted) stop()
    else request.signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work(), dead, aborted])
  } catch (error) {
    if (error instanceof Ending) throw error
    const how = codeOf(error) === null ? await running.child.lastWords() : null
    if (how)
      throw new Ending({ type: 'interrupted', message: `${running.name} ${how}.`, hint: GO_ON })
    throw new Ending(toFailure(error, running.name, running.connection.can))
  }
}
