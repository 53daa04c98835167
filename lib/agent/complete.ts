/** One complete model response: collects deltas, retries failed calls, continues truncated responses. */
import { sentence, type Words } from '../base/sentences.ts'
import { messageOf, wordsOf } from '../errors.ts'
import { isWhole, type RawCall } from './tool-calls.ts'
import { ProviderFailure } from './failure.ts'
import { KINDS } from './failure-kinds.ts'
import { isInlineCall } from './inline-tool-calls.ts'
import { shiftPositions } from './providers/content-order.ts'
import { repeatsItself } from './repetition.ts'
import {
  attemptsFor,
  MAX_RETRY_WAIT_MS,
  raceAbort,
  retryDelayMs,
  retryReasonOf,
  type Wait,
} from './retry.ts'
import { emitWriting } from './written-call.ts'
import type { UsageMeter } from './usage-meter.ts'
import type { AgentRequest, Emit, Provider, ProviderDelta, ProviderRequest } from './types.ts'

const MAX_CONTINUATIONS = 3

const CONTINUE =
  'Your answer was cut off at its length limit. Continue exactly where it stopped; repeat nothing.'
const SHORTER =
  'Your tool call was cut off at the length limit and was not run. Make it shorter, or split the work into several smaller calls.'

export type Reply = {
  text: string
  reasoning: string
  refusal: string
  calls: RawCall[]
  /** What the provider wants back with this message; see `ProviderState`. */
  providerState: unknown[]
  /** The answer ended because the model's context window is full. */
  isWindowFull?: true
  /** It ends before its end, so what looks like a call in its text may lack arguments. */
  isCut?: true
  /** No end mark came, so a last bracket that is missing may have been followed by more. */
  isUnmarked?: true
}

export type CompleteOptions = {
  provider: Provider
  /** Follow-up prompts are appended to its messages and never recorded. */
  request: ProviderRequest
  messageId: string
  emit: Emit
  meter: UsageMeter
  wait: Wait
  random: () => number
  /** Shows a limitation of the endpoint. */
  notice: (text: Words) => void
  /** Attempts per call, retries included; absent: depends on the failure. */
  maxAttempts?: number
  /** Attempts worth making after such a failure; `maxAttempts` is the upper limit. */
  attemptLimit?: (failure: ProviderFailure) => number | undefined
  /** As in `AgentRequest`. */
  minAttempts?: AgentRequest['minAttempts']
  maxRetryWaitMs?: AgentRequest['maxRetryWaitMs']
  onRetryWait?: AgentRequest['onRetryWait']
  observe?: AgentRequest['observe']
}

type OnArguments = ReturnType<typeof emitWriting>['add']
type PartialReply = Reply & { finish: Extract<ProviderDelta, { type: 'finish' }>['reason'] }

/**
 * Throws `ProviderFailure`, or the signal's reason when aborted. A failed call is repeated: the event `retry` voids what
 * it streamed, and the message starts over. A continuation extends the same message.
 */
export const complete = async (options: CompleteOptions): Promise<Reply> => {
  const { request, emit, messageId } = options
  const reply: Reply = emptyReply()
  const counts = { failed: 0, empty: 0, continued: 0, truncated: 0 }
  let followUp: ProviderRequest['messages'] = []
  const names = request.tools.map(({ name }) => name)
  const writing = emitWriting(emit, messageId, names)

  const retry = async (
    attempt: number,
    attempts: number,
    failure: ProviderFailure | null,
    message: Words,
  ) => {
    const delayMs = failure ? retryDelayMs(attempt, failure, options.random) : 0
    const reason = failure ? retryReasonOf(failure) : ('cut' as const)
    const provider = request.endpoint.providerName ?? request.endpoint.provider
    const event = { messageId, attempt, attempts, message, reason, provider }
    emit({ type: 'retry', ...event, delayMs })
    if (await waitOrRetryNow(options, delayMs)) emit({ type: 'retry', ...event, delayMs: 0 })
    // Only the last part failed: stream the parts before it again.
    if (reply.reasoning !== '') emit({ type: 'reasoning', messageId, text: reply.reasoning })
    if (reply.text !== '') emit({ type: 'token', messageId, text: reply.text })
  }

  for (;;) {
    const part = emptyPart()
    try {
      await readStream(options, [...request.messages, ...followUp], part, writing.add)
    } catch (failure) {
      if (request.signal.aborted) throw request.signal.reason
      // Not a provider error: `emit` failed to write. A retry would not help.
      if (!(failure instanceof ProviderFailure)) throw failure
      const maxAttempts = attemptLimitOf(options, failure)
      const isSoon = (failure.retryAfterMs ?? 0) <= (options.maxRetryWaitMs ?? MAX_RETRY_WAIT_MS)
      if (failure.retryable && isSoon && ++counts.failed < maxAttempts) {
        await retry(counts.failed, maxAttempts, failure, wordsOf(failure))
        continue
      }
      if (counts.continued > 0)
        return cutOff(
          emit,
          merge(reply, part),
          sentence('turn.incomplete', { reason: wordsOf(failure) }),
        )
      failure.hasStreamed =
        writing.hasEmitted() ||
        `${reply.text}${reply.reasoning}${part.text}${part.reasoning}`.trim() !== ''
      throw failure
    }
    counts.failed = 0

    if (part.finish === 'window_full') {
      // Its calls may be incomplete, and their results would not fit.
      merge(reply, { ...part, calls: [] })
      if (reply.text.trim() === '') throw windowFull()
      return { ...reply, isWindowFull: true, isCut: true }
    }
    if (part.finish === 'content_filter') return refused(options, merge(reply, part))
    if (part.finish === 'length' && part.calls.some(call => !isWhole(call.arguments))) {
      if (counts.truncated++ > 0) throw new ProviderFailure('error', sentence('turn.call_too_long'))
      if (part.text.trim() === '') await retry(1, 2, null, 'The tool call was cut off.')
      else merge(reply, { ...part, calls: [] })
      followUp = followUpOf(reply, SHORTER)
      continue
    }
    const isEmpty = `${part.text}${part.refusal}`.trim() === '' && part.calls.length === 0
    const isLong = part.finish === 'length'
    const isCall = !isLong && isInlineCall(part.reasoning, request.tools)
    if (isEmpty && reply.text.trim() === '' && !isCall) {
      const failure = emptyResponse(part)
      const attempts = attemptsFor(failure)
      if (++counts.empty >= attempts) throw failure
      await retry(counts.empty, attempts, failure, wordsOf(failure))
      continue
    }
    merge(reply, part)
    if (part.finish === 'unmarked') reply.isUnmarked = true
    // Nothing came where the rest was asked for.
    const isAbandoned = isEmpty && !isCall && (isLong || counts.truncated > 0)
    if (!isAbandoned && (!isLong || part.calls.length > 0)) return reply
    if (isAbandoned || ++counts.continued > MAX_CONTINUATIONS || repeatsItself(reply.text))
      return cutOff(emit, reply)
    followUp = followUpOf(reply, CONTINUE)
  }
}

const emptyResponse = ({ reasoning }: PartialReply): ProviderFailure =>
  reasoning.trim() === ''
    ? new ProviderFailure('no_response', sentence('turn.empty'))
    : new ProviderFailure('no_response', sentence('turn.only_thought'), {
        kind: 'only_thought',
      })

export const windowFull = (): ProviderFailure =>
  new ProviderFailure('context_overflow', sentence('turn.window_full'))

/** Nothing more will come: what was said is kept. */
export const cutOff = (emit: Emit, reply: Reply, message = sentence('turn.cut')): Reply => {
  emit({ type: 'warning', kind: 'cut', message })
  return { ...reply, isCut: true }
}

export const FILTER_STOPPED = sentence('turn.filter_stopped')

/**
 * The provider stopped the answer. What it has said so far stays, with the reason; its calls are not run, because the
 * provider may have stopped it for them.
 */
const refused = ({ emit }: CompleteOptions, reply: Reply): Reply => {
  reply.calls = []
  if (reply.text.trim() === '')
    throw new ProviderFailure('content_refused', sentence('turn.filter_blocked'))
  // A refusal that is the whole answer speaks for itself.
  if (reply.refusal === reply.text) return reply
  emit({ type: 'warning', kind: 'content_filter', message: FILTER_STOPPED })
  reply.refusal ||= FILTER_STOPPED.text
  return reply
}

/** True when the user ended the wait. */
const waitOrRetryNow = async (
  { request, wait, onRetryWait }: CompleteOptions,
  delayMs: number,
): Promise<boolean> => {
  const end = new AbortController()
  const remove = onRetryWait?.(() => end.abort())
  try {
    await wait(delayMs, request.signal, end.signal)
  } finally {
    remove?.()
  }
  return end.signal.aborted
}

const attemptLimitOf = (
  { maxAttempts, minAttempts, attemptLimit }: CompleteOptions,
  failure: ProviderFailure,
): number => {
  const own = attemptsFor(failure)
  // A repeat that costs the whole prompt again is not made more often for any setting.
  const isOnce = KINDS[failure.kind].repeats === 'once'
  const max = isOnce
    ? Math.min(own, maxAttempts ?? own)
    : (maxAttempts ?? Math.max(own, minAttempts ?? 1))
  return Math.min(attemptLimit?.(failure) ?? max, max)
}

const emptyReply = (): Reply => ({
  text: '',
  reasoning: '',
  refusal: '',
  calls: [],
  providerState: [],
})

const emptyPart = (): PartialReply => ({ ...emptyReply(), finish: 'other' })

const merge = (reply: Reply, part: Reply): Reply => {
  const shifted = shiftPositions(part.providerState, reply.text.length, reply.calls.length)
  reply.text += part.text
  reply.reasoning += part.reasoning
  reply.refusal += part.refusal
  reply.calls.push(...part.calls)
  reply.providerState.push(...shifted)
  return reply
}

/** A follow-up prompt after the partial response. The state goes with it, because strict servers require both. */
const followUpOf = (
  { text, providerState }: Reply,
  sentence: string,
): ProviderRequest['messages'] => [
  ...(text.trim() === ''
    ? []
    : [
        {
          role: 'assistant' as const,
          content: text,
          ...(providerState.length > 0 && {
            providerState: { endpointKey: '', items: [...providerState] },
          }),
        },
      ]),
  { role: 'user', content: sentence },
]

const throwFailure = (error: unknown): never => {
  throw error instanceof ProviderFailure
    ? error
    : new ProviderFailure('error', `The provider failed: ${messageOf(error)}`)
}

const readStream = async (
  options: CompleteOptions,
  messages: ProviderRequest['messages'],
  part: PartialReply,
  onArguments: OnArguments,
): Promise<void> => {
  const { request, provider } = options
  const sent = { ...request, messages }
  const observed = options.observe?.(sent)
  const traceparent = observed?.traceparent
  let stream: AsyncGenerator<ProviderDelta> | undefined
  const close = () => void stream?.return(undefined).catch(() => undefined)
  const calls = new Map<number, RawCall>()
  const open = async () => provider(traceparent === undefined ? sent : { ...sent, traceparent })
  const read = async (): Promise<void> => {
    stream = await open().catch(throwFailure)
    // Nobody waits for this any more.
    if (request.signal.aborted) return close()
    for (;;) {
      const next = await stream.next().catch(throwFailure)
      if (next.done || request.signal.aborted) return
      observed?.delta(next.value)
      applyDelta(options, part, calls, next.value, onArguments)
    }
  }
  let failure: unknown
  try {
    // Raced, so that a provider that ignores the signal cannot block the turn.
    await raceAbort(read(), request.signal)
  } catch (error) {
    failure = error
    throw error
  } finally {
    observed?.ended(failure)
    // Lets the provider close its socket. Not awaited, for the same reason.
    close()
  }
  // A stream that broke does not get here, so none of its calls is made.
  part.calls = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call)
}

const applyDelta = (
  { emit, messageId, meter, notice }: CompleteOptions,
  part: PartialReply,
  calls: Map<number, RawCall>,
  delta: ProviderDelta,
  onArguments: OnArguments,
): void => {
  switch (delta.type) {
    case 'text':
    case 'refusal':
      if (delta.text === '') return
      // A refusal is shown as the response text.
      part.text += delta.text
      if (delta.type === 'refusal') part.refusal += delta.text
      emit({ type: 'token', messageId, text: delta.text })
      return
    case 'reasoning':
      if (delta.text === '') return
      part.reasoning += delta.text
      emit({ type: 'reasoning', messageId, text: delta.text })
      return
    case 'tool_call': {
      const call = calls.get(delta.index) ?? { id: '', name: '', arguments: '' }
      calls.set(delta.index, call)
      call.id ||= delta.id ?? ''
      call.name += delta.name ?? ''
      call.arguments += delta.arguments ?? ''
      onArguments(call, delta.arguments ?? '')
      return
    }
    case 'notice':
      notice(delta.text)
      return
    case 'provider_state':
      part.providerState.push(delta.item)
      return
    case 'usage':
      meter.addCall(delta)
      return
    case 'finish':
      part.finish = delta.reason
  }
}
