/**
 * The engine: calls the model, records the message, runs its tool calls, and repeats until there are none. Others start a turn
 * with `runEngine`; `types.ts` has the contract.
 */
import { FILTER_STOPPED } from './complete.ts'
import { sentence } from '../base/sentences.ts'
import { withField } from './error-result.ts'
import { wordsOf } from '../errors.ts'
import type { StoredImage } from '../schema/image.ts'
import type { ToolCall } from '../schema/message.ts'
import type { Reply } from './complete.ts'
import { type AnswerForm, demandAfter } from './answer-form.ts'
import {
  type ModelCall,
  completeWithRecovery,
  endpointKeyOf,
  lastStep,
  REPEATED_PROMPT,
  STEP,
  voidPartial,
} from './complete-with-recovery.ts'
import { unwrapCall } from './deferred-calls.ts'
import { ProviderFailure, toFailure } from './failure.ts'
import { holdMarkup } from './held-markup.ts'
import { parseInlineMarkup } from './inline-tool-calls.ts'
import { raceAbort, type RetryTiming } from './retry.ts'
import { Run } from './run.ts'
import { isValidCall, runTools } from './run-tools.ts'
import { type NormalizedCall, normalizeCalls } from './normalize-calls.ts'
import { RepeatCounter, REPEATS_MAX, REPEATS_TOLD } from './repetition.ts'
import { parseArguments } from './tool-calls.ts'
import type {
  AgentRequest,
  Emit,
  LoopMessage,
  ModelEndpoint,
  Outcome,
  ProviderState,
  RunMessage,
} from './types.ts'

const NOT_RECOGNIZED =
  'Your tool call was not recognized, because it was written as text in a form that cannot be read. Nothing was run. Make the call again through the tool interface.'
/** A step that takes longer waits for something, so its calls may be repeated. */
const WAITING_MS = 5_000

/** Consecutive messages without a single valid call before the turn fails. */
const MAX_INVALID_BATCHES = 3

/** Runs one turn, or one subagent. The engine's only error boundary: any error below becomes an outcome. */
export const runEngine = async (
  request: AgentRequest,
  emit: Emit,
  timing: RetryTiming = {},
): Promise<Outcome> => {
  const markup = holdMarkup(
    emit,
    request.tools.map(({ name }) => name),
  )
  const run = new Run(request, markup.emit, timing, (inner, emitInner) =>
    runEngine(inner, emitInner, timing),
  )
  const startedAt = run.clock.monotonic()
  const observed = async (outcome: Outcome): Promise<Outcome> => {
    const { text, model } = outcome
    const status = outcome.status === 'finished' ? 'finished' : 'failed'
    const durationMs = run.clock.monotonic() - startedAt
    await request.hooks?.ended({ status, text, model, durationMs }, run.signal)
    return outcome
  }
  try {
    await runLoop(run)
    return await observed(run.outcome('finished'))
  } catch (error) {
    // Any other error may come from `emit` itself.
    if (error instanceof ProviderFailure || request.signal.aborted) markup.flush()
    if (request.signal.aborted) return run.outcome('stopped')
    const failure =
      error instanceof ProviderFailure
        ? toFailure(error)
        : { type: 'error' as const, message: wordsOf(error) }
    const outcome = { ...run.outcome('failed'), failure }
    return observed(outcome).catch(() => run.outcome('stopped'))
  } finally {
    run.close()
  }
}

const runLoop = async (run: Run): Promise<void> => {
  const { request } = run
  let invalidBatches = 0
  const repeats = new RepeatCounter()
  if (request.resumed?.calls.length) await runToolCalls(run, [...request.resumed.calls])
  while (run.steps < request.maxSteps) {
    request.onStepBoundary?.()
    if (run.signal.aborted) throw run.signal.reason
    if (isStoppedByHook(run)) return
    if (await readSteering(run)) repeats.forget()
    const calls = await runStep(run, STEP)
    if (calls.length === 0) {
      if ((await readSteering(run)) || (await continueForHook(run))) continue
      return
    }
    const isAnyValid = calls.some(call => isValidCall(call, run.request.tools))
    invalidBatches = isAnyValid ? 0 : invalidBatches + 1
    const theirs = clientCalls(run, calls)
    const begunAt = run.clock.monotonic()
    await runToolCalls(
      run,
      calls.filter(call => !theirs.includes(call)),
    )
    if (run.signal.aborted) throw run.signal.reason
    if (isStoppedByHook(run)) return
    if (theirs.length > 0) return
    if (invalidBatches >= MAX_INVALID_BATCHES)
      throw new ProviderFailure('error', sentence('turn.unparsed_calls'))
    const repeated = warnOfRepeats(run, repeats)
    const isWaiting = run.clock.monotonic() - begunAt > WAITING_MS
    if (repeated >= REPEATS_MAX && !isWaiting) {
      const message = sentence('turn.repeated', { count: repeated })
      run.emit({ type: 'warning', kind: 'repeated_calls', message })
      await runStep(run, lastStep(REPEATED_PROMPT))
      return
    }
    appendStepWarning(run)
  }
  run.limitedAt = request.maxSteps
  const message = sentence('turn.step_limit', { steps: request.maxSteps })
  run.emit({ type: 'warning', kind: 'step_limit', message })
  await runStep(run, lastStep())
}

/** True when a hook wants the agent to continue: what it said is the next message. */
const continueForHook = async (run: Run): Promise<boolean> => {
  const answer = await run.request.hooks?.atEnd(run.text, run.signal)
  if (!answer || isStoppedByHook(run)) return false
  const id = run.request.nextMessageId()
  const content = `[A hook of the user wants you to continue: ${answer.text}]`
  const message: RunMessage = { id, role: 'user', content, _hooks: answer.activity }
  run.emit({ type: 'message', message })
  run.messages.push({ id, role: 'user', content })
  return true
}

/** The hook's reason was shown when it was given. */
const isStoppedByHook = ({ request }: Run): boolean => (request.hooks?.stopped() ?? null) !== null

/** Adds new steering messages to the conversation. False when there are none. */
const readSteering = async (run: Run): Promise<boolean> => {
  const steering = (await run.request.takeSteeringMessages?.()) ?? []
  for (const { key, text, modelText, images, attachments } of steering) {
    const id = run.request.nextMessageId()
    const files = attachments.length > 0 ? { attachments: [...attachments] } : {}
    const message: RunMessage = { id, role: 'user', content: text, ...files }
    run.emit({ type: 'message', message, steeringKey: key })
    run.messages.push({ id, role: 'user', content: modelText, ...withImages(images) })
  }
  return steering.length > 0
}

const withImages = (images: readonly StoredImage[] = []) => (images.length > 0 ? { images } : {})

/** The turn must not spend more than was allowed before this call. */
const requireBudget = async (run: Run): Promise<void> => {
  const { checkBudget } = run.request
  const refusal = checkBudget ? await raceAbort(checkBudget(), run.signal) : null
  if (refusal !== null) throw new ProviderFailure('budget_reached', refusal)
}

/** One model call; records its message and returns the tool calls in it. */
const runStep = async (run: Run, step: ModelCall): Promise<ToolCall[]> => {
  const { request } = run
  const messageId = request.nextMessageId()
  const first = await readReply(run, messageId, step)
  const again = askAgain(run, first, step)
  if (again) voidPartial(run, messageId, FORM_MISSED)
  const reply = again ? await readReply(run, messageId, again) : first
  const toolNames = run.request.tools.map(tool => tool.name)
  const unwrapped = reply.calls.map(call => unwrapCall(call, toolNames))
  // When the provider stopped an answer, none of its calls is run, in whatever form it was written.
  const mayCall = (again ?? step).tools !== 'none' && reply.refusal === ''
  const normalized = mayCall ? normalizeCalls(unwrapped, toolNames, run.callIds, messageId) : []
  const calls = normalized.map(({ call }) => call)
  run.text = textWithEnd(reply)
  const message = toMessage(run, messageId, reply, calls)
  // The last call of a turn that used all its steps has no tools.
  if (step.isLast && run.limitedAt > 0) message._step_limit = run.limitedAt
  record(run, message, reply.reasoning, toProviderState(run.endpoint, reply, normalized))
  return calls
}

/** The reply with the calls in its text. A model that wrote one that cannot be read is asked once more, in its place. */
const readReply = async (run: Run, messageId: string, ask: ModelCall): Promise<Reply> => {
  if (run.signal.aborted) throw run.signal.reason
  await requireBudget(run)
  const received = await completeWithRecovery(run, messageId, ask)
  run.steps++
  const { answerForm, tools } = run.request
  if (answerForm && hasForm(answerForm, received.text)) return received
  // A call in a text that was cut may lack the arguments that would have made it harmless.
  const { reply, isUnreadable } = parseInlineMarkup(received, received.isCut ? [] : tools)
  // Never an empty answer: without tools, a call in the text is all there is.
  if (ask.tools === 'none') return reply.text.trim() === '' ? received : reply
  // An answer that the provider stopped is not asked for again.
  if (!isUnreadable || run.isToldOfMarkup || ask.tools !== 'all' || received.refusal !== '')
    return reply
  run.isToldOfMarkup = true
  const message = 'A tool call in the text of the model could not be read.'
  voidPartial(run, messageId, message)
  const correction: LoopMessage[] = [
    { role: 'assistant', content: received.text },
    { role: 'user', content: NOT_RECOGNIZED },
  ]
  return readReply(run, messageId, { ...ask, followUp: [...ask.followUp, ...correction] })
}

/** JSON of the form that was asked for is the answer, though it may look like a call. Any object: only without a mark of a call. */
const hasForm = ({ schema, problemOf }: AnswerForm, text: string): boolean =>
  (schema !== null || /^\s*\{/.test(text)) && problemOf(text) === null

const FORM_MISSED = 'The answer is not what the program asked for.'

/**
 * An answer that the program could not use is written once more, in its place. A call is demanded once in a turn: what
 * the call leads to may be another answer.
 */
const askAgain = (run: Run, reply: Reply, { tools }: ModelCall): ModelCall | null => {
  const { answerForm, mustCall, planMode } = run.request
  if (tools === 'all' && reply.calls.length > 0) return null
  const isForced = mustCall && !run.hasDemandedCall && tools === 'all' && !planMode?.isOn()
  const demand = demandAfter({ answerForm, mustCall: isForced }, reply)
  if (demand === null) return null
  run.hasDemandedCall ||= demand.tools === 'client'
  const answer: LoopMessage = {
    role: 'assistant',
    content: reply.text,
    ...statePart(run.endpoint, reply),
  }
  return {
    tools: demand.tools,
    followUp: [
      ...(reply.text.trim() === '' ? [] : [answer]),
      { role: 'user', content: demand.sentence },
    ],
  }
}

const statePart = (endpoint: ModelEndpoint, reply: Reply) => {
  const providerState = toProviderState(endpoint, { ...reply, calls: [] }, [])
  return providerState && { providerState }
}

/** For who reads nothing but the text: a parent agent, a scheduled task, a notification. */
const textWithEnd = ({ text, refusal, isCut }: Reply): string => {
  const note = isCut ? 'The answer was cut off before its end.' : refusal
  return text.endsWith(note) ? text : `${text}\n\n[${note}]`
}

const toProviderState = (
  endpoint: ModelEndpoint,
  { providerState, calls }: Reply,
  normalized: readonly NormalizedCall[],
): ProviderState | undefined => {
  if (providerState.length === 0) return undefined
  const callSources = normalized.map(call => call.sources)
  return {
    endpointKey: endpointKeyOf(endpoint),
    items: providerState,
    callSources: callSources.length < calls.length ? callSources : undefined,
  }
}

const toMessage = (run: Run, id: string, reply: Reply, calls: ToolCall[]): RunMessage => ({
  id,
  role: 'assistant',
  // Exactly as it is recorded: the prefix the model reads must not change with the next turn.
  content: reply.text,
  ...(calls.length > 0 && { tool_calls: calls }),
  ...(reply.refusal !== '' && { refusal: reply.refusal }),
  ...(reply.refusal === FILTER_STOPPED.text && {
    _sentences: { refusal: FILTER_STOPPED.coded },
  }),
  model: run.endpoint.model,
  provider: run.endpoint.provider,
})

/** Emits the whole message with the provider state; later model calls get its six standard keys and the state. */
const record = (
  run: Run,
  message: RunMessage,
  reasoning = '',
  providerState?: ProviderState,
): void => {
  run.emit({
    type: 'message',
    message: reasoning === '' ? message : { ...message, reasoning },
    ...(providerState && { providerState }),
  })
  const {
    model: _model,
    provider: _provider,
    _output,
    _images,
    _hooks,
    _ran_in,
    _failed,
    _refused_by,
    ...wire
  } = message
  run.messages.push({ ...wire, ...withImages(_images), ...(providerState && { providerState }) })
}

/**
 * The calls that the client has to run. Those it could not run (invalid arguments, or more than it accepts) are left to
 * `runTools`, whose error results let the model correct them.
 */
const clientCalls = ({ request }: Run, calls: ToolCall[]): ToolCall[] => {
  const { tools, oneClientCall, planMode } = request
  // What a function of the client changes is unknown here, so plan mode refuses it like any other change.
  if (planMode?.isOn()) return []
  const theirs = calls.filter(({ function: { name, arguments: text } }) => {
    const tool = tools.find(each => each.name === name)
    return tool?.isClient && tool.input.safeParse(parseArguments(text)).success
  })
  return oneClientCall ? theirs.slice(0, 1) : theirs
}

const runToolCalls = (run: Run, calls: ToolCall[]): Promise<void> =>
  runTools(calls, run, (call, result) => {
    record(run, {
      id: run.request.nextMessageId(),
      role: 'tool',
      tool_call_id: call.id,
      name: call.function.name,
      content: result.content,
      ...(result.colored !== undefined && { _output: result.colored }),
      ...(result.images?.length && { _images: [...result.images] }),
      ...(result.hooks?.length && { _hooks: [...result.hooks] }),
      ...(result.ranIn && { _ran_in: result.ranIn }),
      ...(result.refusedBy
        ? { _refused_by: result.refusedBy }
        : result.isError && { _failed: true as const }),
    })
  })

/** Shares of the step limit at which the model is warned, highest first. */
const STEP_WARNINGS = [
  {
    share: 0.9,
    text: (count: number) => `Only ${count} left: answer now with what you have.`,
  },
  {
    share: 0.7,
    text: (count: number) => `${count} left: finish what is begun and prepare the answer.`,
  },
]

/** Warns the model in the newest tool result that steps run out. The transcript shows the result without it. */
const appendStepWarning = (run: Run): void => {
  const { maxSteps } = run.request
  const warning = STEP_WARNINGS.find(({ share }) => run.steps >= maxSteps * share)
  if (!warning || warning.share <= run.warnedShare || run.steps >= maxSteps) return
  const last = run.messages.at(-1)
  if (last?.role !== 'tool' || typeof last.content !== 'string') return
  run.warnedShare = warning.share
  const text = `Step ${run.steps} of ${maxSteps} of this turn is done. ${warning.text(maxSteps - run.steps)}`
  const content = withField(last.content, '_budget_warning', text, `\n\n[${text}]`)
  run.messages[run.messages.length - 1] = { ...last, content }
  if (last.id) run.emit({ type: 'sent', messageId: last.id, text: content })
}

/** Tells the model of calls that it repeats. Returns how often the most frequent one was made. */
const warnOfRepeats = (run: Run, repeats: RepeatCounter): number => {
  // The step's own messages: a compaction before it may have moved all of them.
  const from = run.messages.findLastIndex(({ role }) => role === 'assistant')
  const counts = repeats.count(run.messages.slice(from))
  run.messages.forEach((message, at) => {
    const count = counts.get(message.tool_call_id ?? '') ?? 0
    if (at < from || count < REPEATS_TOLD || typeof message.content !== 'string') return
    const text = `You have made this call ${count} times with the same result. Do something else, or answer.`
    const content = withField(message.content, '_repeated', text, `\n\n[${text}]`)
    run.messages[at] = { ...message, content }
    if (message.id) run.emit({ type: 'sent', messageId: message.id, text: content })
  })
  return Math.max(0, ...counts.values())
}
