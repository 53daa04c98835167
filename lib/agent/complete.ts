/** Gets one whole answer out of a provider: deltas gathered, failed calls made again, cut answers continued. */
import { messageOf } from '../errors.ts'
import { type RawCall, parseArguments } from './tool-calls.ts'
import { ProviderFailure } from './failure.ts'
import { shiftPositions } from './providers/content-order.ts'
import { raceAbort, retryDelayMs, type Wait } from './retry.ts'
import type { UsageMeter } from './usage-meter.ts'
import type { Emit, Provider, ProviderDelta, ProviderRequest } from './types.ts'

/** Of what passes by itself: a stream that broke, a server that is overloaded. About a minute with the waits of `retry.ts`. */
const TRIES_PASSING = 6
/** Of other failures that may pass; some seconds. */
const TRIES = 4
/** Where nobody listens, a person is told soon. */
const TRIES_UNREACHABLE = 3
const MAX_EMPTY = 3
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
  /** What the provider wants back with this message; see `Carry`. */
  providerState: unknown[]
}

export type CompleteOptions = {
  provider: Provider
  /** What is said and to whom; nudges are added behind its messages and never recorded. */
  request: ProviderRequest
  messageId: string
  emit: Emit
  meter: UsageMeter
  wait: Wait
  random: () => number
  /** What the person should know of how the endpoint had to be asked. */
  notice: (text: string) => void
  /** How often a call that fails is made in all. */
  maxAttempts?: number
  /** How often it is worth making while it fails like this; never more than `tries`. */
  attemptLimit?: (failure: ProviderFailure) => number | undefined
}

type Part = Reply & { finish: Extract<ProviderDelta, { type: 'finish' }>['reason'] }

/**
 * Throws `ProviderFailure`, or the signal's reason when aborted. A call that broke is made again, and what it had said
 * is void: `retry` says so, and the message begins anew. A continuation speaks on in the same message.
 */
export const complete = async (speaking: CompleteOptions): Promise<Reply> => {
  const { request, emit, messageId } = speaking
  const said: Reply = { text: '', reasoning: '', refusal: '', calls: [], providerState: [] }
  const counts = { failed: 0, empty: 0, continued: 0, truncated: 0 }
  let nudges: ProviderRequest['messages'] = []

  const again = async (
    attempt: number,
    attempts: number,
    failure: ProviderFailure | null,
    message: string,
  ) => {
    const delayMs = failure ? retryDelayMs(attempt, failure, speaking.random) : 0
    emit({ type: 'retry', messageId, attempt, attempts, delayMs, message })
    await speaking.wait(delayMs, request.signal)
    // Of an answer in several parts only the last one broke.
    if (said.reasoning !== '') emit({ type: 'reasoning', messageId, text: said.reasoning })
    if (said.text !== '') emit({ type: 'token', messageId, text: said.text })
  }

  for (;;) {
    const part = emptyPart()
    try {
      await readStream(speaking, [...request.messages, ...nudges], part)
    } catch (failure) {
      if (request.signal.aborted) throw request.signal.reason
      // Not the provider's doing: `emit` could not write. Nothing here can mend that.
      if (!(failure instanceof ProviderFailure)) throw failure
      const maxAttempts = triesOf(speaking, failure)
      if (failure.retryable && ++counts.failed < maxAttempts) {
        await again(counts.failed, maxAttempts, failure, failure.message)
        continue
      }
      if (counts.continued > 0) {
        emit({ type: 'warning', kind: 'cut', message: `The answer is cut: ${failure.message}` })
        return merge(said, { ...part, calls: [] })
      }
      failure.hasStreamed =
        `${said.text}${said.reasoning}${part.text}${part.reasoning}`.trim() !== ''
      throw failure
    }
    counts.failed = 0

    if (part.finish === 'length' && part.calls.some(call => !parseArguments(call.arguments))) {
      if (counts.truncated++ > 0)
        throw new ProviderFailure('error', 'The tool call is longer than the model may write.')
      if (part.text.trim() === '') await again(1, 2, null, 'The tool call was cut off.')
      else merge(said, { ...part, calls: [] })
      nudges = nudge(said, SHORTER)
      continue
    }
    const silent = `${part.text}${part.refusal}`.trim() === '' && part.calls.length === 0
    if (silent && said.text.trim() === '') {
      if (part.finish === 'content_filter')
        throw new ProviderFailure('error', "The provider's content filter withheld the answer.")
      const failure = new ProviderFailure('no_response', 'The model answered nothing.')
      if (++counts.empty > MAX_EMPTY) throw failure
      await again(counts.empty, MAX_EMPTY + 1, failure, failure.message)
      continue
    }
    merge(said, part)
    const cut = part.finish === 'length' && part.calls.length === 0 && !silent
    if (!cut) return said
    if (++counts.continued > MAX_CONTINUATIONS) {
      emit({ type: 'warning', kind: 'cut', message: 'The answer is cut at the length limit.' })
      return said
    }
    nudges = nudge(said, CONTINUE)
  }
}

const triesOf = (
  { maxAttempts, attemptLimit: attempts }: CompleteOptions,
  failure: ProviderFailure,
): number => {
  const most = maxAttempts ?? usualTries(failure)
  return Math.min(attempts?.(failure) ?? most, most)
}

const OVERLOADED: ReadonlySet<number | undefined> = new Set([undefined, 503, 529])

const usualTries = ({ isUnreachable, status }: ProviderFailure): number => {
  if (isUnreachable) return TRIES_UNREACHABLE
  return OVERLOADED.has(status) ? TRIES_PASSING : TRIES
}

const emptyPart = (): Part => ({
  text: '',
  reasoning: '',
  refusal: '',
  calls: [],
  providerState: [],
  finish: 'other',
})

const merge = (said: Reply, part: Reply): Reply => {
  const moved = shiftPositions(part.providerState, said.text.length, said.calls.length)
  said.text += part.text
  said.reasoning += part.reasoning
  said.refusal += part.refusal
  said.calls.push(...part.calls)
  said.providerState.push(...moved)
  return said
}

/** What was said goes along with its thoughts: strict servers want both. It is asked again of whoever said it. */
const nudge = ({ text, providerState }: Reply, sentence: string): ProviderRequest['messages'] => [
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

const asFailure = (error: unknown): ProviderFailure =>
  error instanceof ProviderFailure
    ? error
    : new ProviderFailure('error', `The provider failed: ${messageOf(error)}`)

const readStream = async (
  speaking: CompleteOptions,
  messages: ProviderRequest['messages'],
  part: Part,
): Promise<void> => {
  const { request, provider } = speaking
  const stream = provider({ ...request, messages })
  const calls = new Map<number, RawCall>()
  try {
    for (;;) {
      // Raced, so that a provider which ignores the signal cannot hold the turn.
      const next = await raceAbort(stream.next(), request.signal).catch(error => {
        throw asFailure(error)
      })
      if (next.done) break
      applyDelta(speaking, part, calls, next.value)
    }
  } finally {
    // Lets the provider close its socket; not awaited for the same reason.
    stream.return(undefined).catch(() => undefined)
  }
  part.calls = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call)
}

const applyDelta = (
  { emit, messageId, meter, notice }: CompleteOptions,
  part: Part,
  calls: Map<number, RawCall>,
  delta: ProviderDelta,
): void => {
  switch (delta.type) {
    case 'text':
    case 'refusal':
      if (delta.text === '') return
      // A refusal is an answer to the person, so it is spoken like one.
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
