/** The agent: speak, record what was said, run the tools it asked for, and again, until it has nothing more to do. */
import { setMaxListeners } from 'node:events'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { parseInlineMarkup } from './inline-tool-calls.ts'
import { stepWarning, withWarning } from './step-limit.ts'
import type { ToolCall } from '../schema/message.ts'
import { type NormalizedCall, normalizeCalls, toolSchemas, stripCallMarkup } from './tool-calls.ts'
import { mergeSummaries } from './compress.ts'
import { thresholdOf } from './compress-plan.ts'
import { ProviderFailure, toFailure } from './failure.ts'
import { createFit } from './context-window.ts'
import { repairHistory } from './repair-history.ts'
import { providerFor } from './providers/registry.ts'
import { raceAbort, type Wait, wait } from './retry.ts'
import { isValidCall, runTools } from './run-tools.ts'
import { type Reply, complete } from './complete.ts'
import { createSpawn } from './subagent.ts'
import { createUsageMeter } from './usage-meter.ts'
import type {
  Agent,
  AgentRequest,
  ProviderState,
  Emit,
  ModelEndpoint,
  Outcome,
  ProviderRequest,
  RunMessage,
} from './types.ts'

/** Messages in a row in which no call could be understood, before we give up. */
const MAX_STRIKES = 3

/** Chance and waiting as values, so that tests need neither. */
export type AgentOptions = { wait?: Wait; random?: () => number }

/** The only border of the engine: whatever is thrown below becomes an outcome here. */
export const createAgent = (options: AgentOptions = {}): Agent => {
  const agent: Agent = async (request, emit) => {
    const run = openRun(request, emit, options, agent)
    try {
      await converse(run)
      return run.outcome('finished')
    } catch (error) {
      if (request.signal.aborted) return run.outcome('stopped')
      const failure =
        error instanceof ProviderFailure
          ? toFailure(error)
          : { type: 'error' as const, message: messageOf(error) }
      return { ...run.outcome('failed'), failure }
    } finally {
      // A tool of an aborted batch may still be at work.
      run.close()
    }
  }
  return agent
}

export const runAgent: Agent = createAgent()

const openRun = (request: AgentRequest, emit: Emit, options: AgentOptions, agent: Agent) => {
  const own = new AbortController()
  const { compression } = request
  const meter = createUsageMeter(
    request.endpoint,
    request.onUsage,
    compression && (endpoint => thresholdOf(compression.settings, endpoint)),
  )
  const signal = AbortSignal.any([request.signal, own.signal])
  // Every tool of a batch listens to it.
  setMaxListeners(0, signal)
  const run = {
    request,
    emit,
    meter,
    signal,
    wait: options.wait ?? wait,
    random: options.random ?? Math.random,
    now: request.now ?? Date.now,
    /** The one that is called now; another takes its place for the rest of the turn when it fails. */
    endpoint: request.endpoint,
    /** The one that answered last. */
    good: null as ModelEndpoint | null,
    messages: repairHistory(request.history),
    /** Ids of tool calls in this conversation, so that none is given twice. */
    ids: new Set(request.history.flatMap(message => message.tool_calls ?? []).map(call => call.id)),
    memo: new Map<string, unknown>(),
    steps: 0,
    /** Share of the steps at which the model was last told that they run out. */
    told: 0,
    /** What the person was told of how the model has to be asked. */
    notices: new Set<string>(),
    text: '',
    outcome(status: Outcome['status']): Outcome {
      const { provider, model } = this.endpoint
      const usage = meter.total()
      return { status, text: this.text, steps: this.steps, usage, provider, model }
    },
    close: () => own.abort(new Error('The turn is over.')),
  }
  return Object.assign(run, {
    spawn: createSpawn(run, agent),
    fit: createFit(run, () => toolSchemas(request.tools, toJsonSchema)),
  })
}

type Run = ReturnType<typeof openRun>

const converse = async (run: Run): Promise<void> => {
  const { request } = run
  let strikes = 0
  while (run.steps < request.maxSteps) {
    hearPerson(run)
    const calls = await takeStep(run, true)
    if (calls.length === 0) {
      if (!hearPerson(run)) return
      continue
    }
    strikes = calls.some(call => isValidCall(call, request.tools)) ? 0 : strikes + 1
    await answerCalls(run, calls)
    if (run.signal.aborted) throw run.signal.reason
    if (strikes >= MAX_STRIKES)
      throw new ProviderFailure(
        'error',
        'The model keeps calling tools in a way that cannot be read.',
      )
    warnOfSteps(run)
  }
  const message = `The limit of ${request.maxSteps} steps is reached.`
  run.emit({ type: 'warning', kind: 'step_limit', message })
  await takeStep(run, false)
}

/** What a person said meanwhile takes its place in the conversation. False when nobody said anything. */
const hearPerson = (run: Run): boolean => {
  const heard = run.request.takeSteeringMessages?.() ?? []
  for (const { key, text: said, modelText: read, attachments } of heard) {
    const id = run.request.nextMessageId()
    const more = attachments.length > 0 ? { attachments: [...attachments] } : {}
    const message: RunMessage = { id, role: 'user', content: said, ...more }
    run.emit({ type: 'message', message, steeringKey: key })
    run.messages.push({ id, role: 'user', content: read })
  }
  return heard.length > 0
}

/** For the model alone: the transcript keeps what the tool really answered. */
const warnOfSteps = (run: Run): void => {
  const warning = stepWarning(run.steps, run.request.maxSteps, run.told)
  const last = run.messages.at(-1)
  if (!warning || last?.role !== 'tool' || typeof last.content !== 'string') return
  run.told = warning.share
  run.messages[run.messages.length - 1] = {
    ...last,
    content: withWarning(last.content, warning.text),
  }
}

/** Nothing more is spent than was allowed before this call. */
const requireBudget = async (run: Run): Promise<void> => {
  const { checkBudget: allow } = run.request
  const refusal = allow ? await raceAbort(allow(), run.signal) : null
  if (refusal !== null) throw new ProviderFailure('budget_reached', refusal)
}

/** One answer of the model, recorded. Returns the calls it made. */
const takeStep = async (run: Run, withTools: boolean): Promise<ToolCall[]> => {
  const { request } = run
  if (run.signal.aborted) throw run.signal.reason
  await requireBudget(run)
  const messageId = request.nextMessageId()
  const said = await speakSomehow(run, messageId, withTools)
  run.steps++
  const known = request.tools.map(tool => tool.name)
  const reply = run.endpoint.apiMode === 'chat_completions' ? parseInlineMarkup(said, known) : said
  const settled = withTools ? normalizeCalls(reply.calls, known, run.ids, messageId) : []
  const calls = settled.map(({ call }) => call)
  run.text = reply.text
  const message = toMessage(run, messageId, reply, calls)
  record(run, message, reply.reasoning, toCarry(run.endpoint, reply, settled))
  return calls
}

/** Asks the endpoint of the run; when it fails for good, whoever stands in for it. */
const speakSomehow = async (run: Run, messageId: string, withTools: boolean): Promise<Reply> => {
  const { recover, attemptLimit: attempts, onEndpointSuccess: answered } = run.request
  let first: ProviderFailure | undefined
  for (;;) {
    const { endpoint } = run
    await run.fit.before()
    const sent = run.messages.length
    const counted = run.meter.lastPromptTokens()
    try {
      const reply = await complete({
        provider: providerFor(run.request.providers, endpoint.apiMode),
        request: toProviderRequest(run, withTools),
        messageId,
        emit: run.emit,
        meter: run.meter,
        wait: run.wait,
        random: run.random,
        notice: text => tellOnce(run, text),
        maxAttempts: run.request.maxAttempts,
        attemptLimit: failure => attempts?.(failure, endpoint),
      })
      if (run.good !== endpoint) answered?.(endpoint)
      run.good = endpoint
      const now = run.meter.lastPromptTokens()
      run.fit.heard(now === counted ? 0 : now, sent)
      return reply
    } catch (error) {
      if (run.signal.aborted || !(error instanceof ProviderFailure)) throw error
      const isTooLong =
        error.type === 'context_overflow' && (!error.isBodyEmpty || run.fit.isLarge())
      const failure = isTooLong ? await run.fit.refused(error) : plainly(error)
      if (failure === null) {
        withdraw(run, messageId, error)
        continue
      }
      first ??= failure
      const recovery = await recover?.(failure, endpoint)
      // The person is told why their own model failed; of what failed behind it only the length is news.
      if (!recovery) throw isTooLong ? failure : first
      if (run.signal.aborted) throw run.signal.reason
      withdraw(run, messageId, error)
      run.endpoint = recovery.endpoint
      run.meter.setEndpoint(recovery.endpoint)
      const { kind, message } = recovery
      run.emit({ type: 'warning', kind, message })
    }
  }
}

/** A short conversation was refused without a word for another reason than its length. */
const plainly = (failure: ProviderFailure): ProviderFailure =>
  failure.isBodyEmpty
    ? new ProviderFailure('error', failure.message, { status: 400, retryable: false })
    : failure

/** What was shown of an answer that nobody finishes: the message is begun anew by whoever is asked next. */
const withdraw = (
  run: Run,
  messageId: string,
  { hasStreamed: spoken, message }: ProviderFailure,
): void => {
  if (spoken) run.emit({ type: 'retry', messageId, attempt: 1, attempts: 2, delayMs: 0, message })
}

const tellOnce = (run: Run, message: string): void => {
  if (run.notices.has(message)) return
  run.notices.add(message)
  run.emit({ type: 'warning', kind: 'model', message })
}

const toProviderRequest = (run: Run, withTools: boolean): ProviderRequest => ({
  endpoint: run.endpoint,
  messages: toSend(run, withTools),
  tools: withTools ? toolSchemas(run.request.tools, toJsonSchema) : [],
  signal: run.signal,
  workspace: run.request.workspace,
  sessionKey: run.request.sessionKey,
})

const toSend = (run: Run, withTools: boolean): ProviderRequest['messages'] => [
  ...(run.request.system === '' ? [] : [{ role: 'system' as const, content: run.request.system }]),
  ...(run.request.prefill ?? []),
  ...mergeSummaries(repairHistory(run.messages)).map(
    ({ id: _, position: __, summary: ___, providerState, ...wire }) =>
      providerState?.endpointKey === sayerOf(run.endpoint) ? { ...wire, providerState } : wire,
  ),
  ...(withTools ? [] : [{ role: 'user' as const, content: LAST_WORD }]),
]

/** Signatures and encrypted reasoning are understood only where they were made. */
const sayerOf = ({ apiMode, provider, model, baseUrl }: ModelEndpoint) =>
  `${apiMode} ${provider} ${model} ${baseUrl}`

const toCarry = (
  endpoint: ModelEndpoint,
  { providerState, calls }: Reply,
  settled: readonly NormalizedCall[],
): ProviderState | undefined => {
  if (providerState.length === 0) return undefined
  const from = settled.map(call => call.from)
  return {
    endpointKey: sayerOf(endpoint),
    items: providerState,
    ...(from.length < calls.length && { callSources: from }),
  }
}

const LAST_WORD =
  'The limit of steps for this turn is reached and no further tool can be called. Say briefly what was done, what was found, and what remains.'

/** OpenAI-style parameters have no `$schema`. */
const toJsonSchema = (schema: z.ZodType): unknown => {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' })
  return parameters
}

const toMessage = (run: Run, id: string, reply: Reply, calls: ToolCall[]): RunMessage => ({
  id,
  role: 'assistant',
  // As it is recorded: what the model reads of it may not change with the next turn.
  content: stripCallMarkup(reply.text),
  ...(calls.length > 0 && { tool_calls: calls }),
  ...(reply.refusal !== '' && { refusal: reply.refusal }),
  model: run.endpoint.model,
  provider: run.endpoint.provider,
})

/** The caller gets all of it; the next call gets the six standard keys, and what the provider wants carried back. */
const record = (
  run: Run,
  message: RunMessage,
  reasoning = '',
  providerState?: ProviderState,
): void => {
  run.emit({
    type: 'message',
    message: reasoning === '' ? message : { ...message, reasoning },
  })
  const { model: _model, provider: _provider, _output, ...wire } = message
  run.messages.push(providerState ? { ...wire, providerState } : wire)
}

const answerCalls = (run: Run, calls: ToolCall[]): Promise<void> =>
  runTools(calls, run, (call, result) => {
    record(run, {
      id: run.request.nextMessageId(),
      role: 'tool',
      tool_call_id: call.id,
      name: call.function.name,
      content: result.content,
      ...(result.colored !== undefined && { _output: result.colored }),
    })
  })
