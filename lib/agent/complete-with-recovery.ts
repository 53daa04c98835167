/** One model call of a run, with recovery: compaction when the prompt is too long, another endpoint when it fails. */
import type { Words } from '../base/sentences.ts'
import { sha256 } from '../base/sha256.ts'
import { complete, cutOff, type Reply, windowFull } from './complete.ts'
import { mergeSummaries } from './compress.ts'
import { wrapCalls } from './deferred-calls.ts'
import { ProviderFailure } from './failure.ts'
import { sendsImages, VISION_TOOL } from './images.ts'
import { parseInlineMarkup } from './inline-tool-calls.ts'
import { providerFor } from './providers/registry.ts'
import { repairHistory } from './repair-history.ts'
import type { Run } from './run.ts'
import { describeTools } from './tool-schema.ts'
import type { LoopMessage, ModelEndpoint, ProviderRequest } from './types.ts'

const KEY_CHARS = 16

const STEP_LIMIT_PROMPT =
  'The limit of steps for this turn is reached and no further tool can be called. Say briefly what was done, what was found, and what remains.'

/** After a call that was made again and again. */
export const REPEATED_PROMPT =
  'The same call was made again and again with the same result, so no further tool can be called in this turn. Say briefly what was done, what was found, and what is in the way.'

/** One model call of a turn. `followUp` comes after the conversation and is not recorded. */
export type ModelCall = {
  /** `client`: only the functions of the client, of which one must be called. */
  tools: 'all' | 'none' | 'client'
  followUp: readonly LoopMessage[]
  /** The turn ends with it, whatever the model would still do. */
  isLast?: true
}

export const STEP: ModelCall = { tools: 'all', followUp: [] }
/** `prompt` says why. */
export const lastStep = (prompt = STEP_LIMIT_PROMPT): ModelCall => ({
  tools: 'none',
  followUp: [{ role: 'user', content: prompt }],
  isLast: true,
})

/**
 * Calls the run's endpoint until it answers. When it fails permanently, `recover` chooses the next one.
 * Throws `ProviderFailure` when nothing helps, or the signal's reason when aborted.
 */
export const completeWithRecovery = async (
  run: Run,
  messageId: string,
  ask: ModelCall,
): Promise<Reply> => {
  let first: ProviderFailure | undefined
  for (;;) {
    await run.contextWindow.compactIfNeeded()
    try {
      const reply = await completeOnce(run, messageId, ask)
      if (reply.isWindowFull) {
        const failure = windowFull()
        if ((await run.contextWindow.shrinkFullWindow(failure)) !== null)
          return cutOff(run.emit, reply)
        voidPartial(run, messageId, failure.message)
        continue
      }
      const truncation = await run.contextWindow.findTruncation()
      if (!truncation || (await run.contextWindow.shrinkAfterTruncation(truncation)) !== null)
        return reply
      // The model read a part of the conversation only, so its answer is void.
      voidPartial(run, messageId, truncation.message)
    } catch (error) {
      if (run.signal.aborted || !(error instanceof ProviderFailure)) throw error
      const isTooLong =
        error.type === 'context_overflow' && (!error.isBodyEmpty || run.contextWindow.isLarge())
      const failure = isTooLong
        ? await run.contextWindow.shrinkAfterOverflow(error)
        : withoutLengthGuess(error)
      if (failure === null) {
        if (error.hasStreamed) voidPartial(run, messageId, error.message)
        continue
      }
      first ??= failure
      const recovery = await run.request.recovery?.recover(failure, run.chosenEndpoint)
      // Report why the chosen model failed; a fallback's failure matters only when the prompt is too long for it.
      if (!recovery) throw isTooLong ? failure : first
      if (run.signal.aborted) throw run.signal.reason
      if (error.hasStreamed) voidPartial(run, messageId, error.message)
      run.chosenEndpoint = recovery.endpoint
      run.endpoint = await withRealWindow(run, recovery.endpoint)
      run.meter.setEndpoint(run.endpoint)
      const { kind, message } = recovery
      run.emit({ type: 'warning', kind, message })
    }
  }
}

const withRealWindow = async (
  { request }: Run,
  endpoint: ModelEndpoint,
): Promise<ModelEndpoint> => {
  await request.windows?.ask(endpoint)
  return request.windows?.apply(endpoint) ?? endpoint
}

/**
 * In the last call the tools are described as before, so that the prompt cache holds and the server accepts the calls in the
 * history, but none may be called. A model that calls one all the same is asked again without any; so is one whose answer
 * needs a form, because many servers hold a model to it only where there are no tools.
 */
const completeOnce = async (run: Run, messageId: string, ask: ModelCall): Promise<Reply> => {
  if (!ask.isLast || run.request.answerForm) return callModel(run, messageId, ask)
  const described = { tools: describeTools(run.request.tools), toolChoice: 'none' as const }
  const reply = await callModel(run, messageId, ask, described)
  const { calls, text } = parseInlineMarkup(reply, run.request.tools).reply
  if (calls.length === 0 || text.trim() !== '') return reply
  if (`${reply.text}${reply.reasoning}` !== '')
    voidPartial(run, messageId, 'The model called a tool although none can be called.')
  return callModel(run, messageId, ask)
}

const callModel = async (
  run: Run,
  messageId: string,
  ask: ModelCall,
  more: Partial<ProviderRequest> = {},
): Promise<Reply> => {
  const { endpoint, request, meter } = run
  const messageCount = run.messages.length
  const usageBefore = meter.lastCall
  const reply = await complete({
    provider: providerFor(request.providers, endpoint.apiMode),
    request: { ...toProviderRequest(run, ask), ...more },
    messageId,
    emit: run.emit,
    meter,
    wait: run.wait,
    random: run.random,
    notice: text => emitNoticeOnce(run, text),
    maxAttempts: request.maxAttempts,
    minAttempts: request.minAttempts,
    attemptLimit: failure => request.recovery?.attemptLimit?.(failure, run.chosenEndpoint),
    maxRetryWaitMs: request.maxRetryWaitMs,
    onRetryWait: request.onRetryWait,
    observe: request.observe,
  })
  if (run.verifiedEndpoint !== endpoint) request.recovery?.onEndpointSuccess?.(endpoint)
  run.verifiedEndpoint = endpoint
  // Unchanged: the provider reported no usage for this call.
  const usage = meter.lastCall
  run.contextWindow.recordUsage(usage === usageBefore ? null : usage, messageCount)
  return reply
}

/** A rejected short prompt without an error message has another cause than its length. */
const withoutLengthGuess = (failure: ProviderFailure): ProviderFailure =>
  failure.isBodyEmpty
    ? new ProviderFailure('error', failure.message, { status: 400, retryable: false })
    : failure

/** The streamed part of a failed message is void: the next call streams it again from the start. */
export const voidPartial = (run: Run, messageId: string, message: Words): void => {
  run.emit({ type: 'retry', messageId, attempt: 1, attempts: 2, delayMs: 0, message })
}

const emitNoticeOnce = (run: Run, message: Words): void => {
  if (run.notices.has(`${message}`)) return
  run.notices.add(`${message}`)
  run.emit({ type: 'warning', kind: 'model', message })
}

const toProviderRequest = (run: Run, { tools, followUp }: ModelCall): ProviderRequest => ({
  endpoint: run.endpoint,
  messages: toWireMessages(run, followUp),
  tools: tools === 'none' ? [] : describeTools(toolsOf(run, tools)),
  ...(tools === 'client' ? { mustCall: true } : { answer: run.request.answerForm }),
  signal: run.signal,
  workspace: run.request.workspace,
  sessionKey: run.request.sessionKey,
  images: imageSourceOf(run),
})

const toolsOf = ({ request }: Run, tools: 'all' | 'client') =>
  tools === 'all' ? request.tools : request.tools.filter(({ isClient }) => isClient)

const imageSourceOf = ({ request, endpoint }: Run): ProviderRequest['images'] =>
  request.images && {
    isSent: sendsImages(request.images.mode, endpoint),
    hasAnalyzer: request.tools.some(({ name }) => name === VISION_TOOL),
    load: request.images.load,
  }

const toWireMessages = (
  run: Run,
  followUp: readonly LoopMessage[],
): ProviderRequest['messages'] => {
  const endpointKey = endpointKeyOf(run.endpoint)
  return [
    ...(run.request.system === ''
      ? []
      : [{ role: 'system' as const, content: run.request.system }]),
    ...(run.request.prefill ?? []),
    ...mergeSummaries(wrapCalls([...repairHistory(run.messages), ...followUp])).map(
      ({ id: _, position: __, summary: ___, providerState, ...wire }) =>
        providerState?.endpointKey === endpointKey ? { ...wire, providerState } : wire,
    ),
  ]
}

/** Signatures and encrypted reasoning are valid only at the endpoint that produced them. A digest, because an address may contain a password. */
export const endpointKeyOf = ({ apiMode, provider, model, baseUrl }: ModelEndpoint): string =>
  sha256(JSON.stringify([apiMode, provider, model, baseUrl])).slice(0, KEY_CHARS)
