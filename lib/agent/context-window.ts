/** Keeps the messages of a run within the model's context window: compaction before a call, shrinking after an overflow. */
import { type Sentence, sentence } from '../base/sentences.ts'
import type { Run } from './run.ts'
import { z } from 'zod'
import { wordsOf } from '../errors.ts'
import { type Compressed, compress } from './compress.ts'
import { MIN_TAIL, planCompression, thresholdOf } from './compress-plan.ts'
import { sendsImages } from './images.ts'
import { ProviderFailure } from './failure.ts'
import {
  MIN_FACTOR_ASKED,
  isSuspicious,
  leastMessageTokens,
  leastTokens,
  truncatedTo,
} from './silent-truncation.ts'
import {
  commonWindowFor,
  contextLimitIn,
  estimateAllTokens,
  estimateTextTokens,
  estimateTokens,
  formatTokens,
  nextSmallerWindow,
} from './tokens.ts'
import type { LoopMessage, ModelEndpoint, ProviderDelta } from './types.ts'
import { raiseWindowAdvice, SMALL_WINDOW } from './window-services.ts'

/** After a failed compaction the conversation is sent in full for this long. */
const COOLDOWN_MS = 600_000
/** Share of the threshold a compaction must save at least, because it costs a model call. */
const MIN_GAIN = 0.15
/** Share of the tokens below the threshold that the last messages may take after a compaction. */
const MAX_TAIL_SHARE = 0.5
/** Share of the window a repeated call may fill after an overflow. */
const SAFE_SHARE = 0.8
/** Overflows of shorter prompts probably have another cause than the window. */
const MIN_GUESS_TOKENS = 4_096
/** Above any of these, a rejection without an error message counts as an overflow. */
const LARGE_SHARE = 0.4
const LARGE_TOKENS = 80_000
const LARGE_MESSAGES = 80
/** Share of the window that prompt and tools may take before they are reduced. */
const FIXED_SHARE = 0.25

type CallUsage = Extract<ProviderDelta, { type: 'usage' }>

/** A window that was found to be smaller than the prompt, without a rejection. */
export type Truncation = { tokens: number; message: Sentence; advice: Sentence }

export class ContextWindow {
  readonly #run: Run
  readonly #describeTools: () => unknown
  /** Windows that turned out smaller than configured, by model; valid for the rest of the turn. */
  readonly #learned = new Map<string, number>()
  /** Prompt tokens the provider counted for the first `count` of these messages. */
  #measured: { tokens: number; messages: LoopMessage[]; count: number } | null = null
  #overflows = 0
  #isReduced = false
  #hasWarned = false
  /** The last call's usage and number of messages, until `findTruncation` has judged them. */
  #unjudged: { usage: CallUsage; count: number } | null = null
  /** Tokens of the system prompt and the tools; cached, because schemas are long and do not change. */
  #fixedTokens: number | null = null

  /** `describeTools` returns the tools as the provider receives them. */
  constructor(run: Run, describeTools: () => unknown) {
    this.#run = run
    this.#describeTools = describeTools
  }

  /** Compacts the conversation when the next prompt reaches the threshold. Throws only when the run is aborted. */
  async compactIfNeeded(): Promise<void> {
    const { compression } = this.#run.request
    await this.#reduce()
    if (!compression || compression.cooldown.until() > this.#run.clock.now()) return this.#fit()
    const threshold = thresholdOf(compression.settings, this.#effectiveEndpoint())
    if (threshold === 0 || this.#nextPromptTokens() < threshold) return
    await this.#compact(threshold, threshold * MIN_GAIN)
    this.#fit()
  }

  /** The window in tokens, as far as known; 0 when unknown. */
  tokens(): number {
    return this.#effectiveEndpoint().contextLength
  }

  /** Call after a successful call with its usage and the number of messages it counts; null when it reported none. */
  recordUsage(usage: CallUsage | null, count: number): void {
    const tokens = usage?.inputTokens ?? 0
    this.#measured = tokens > 0 ? { tokens, messages: this.#run.messages, count } : null
    this.#unjudged = usage && { usage, count }
    const { endpoint } = this.#run
    if (tokens <= this.tokens()) return
    // More was read than the window was thought to have, in this turn or by an earlier one.
    if (this.#learned.has(modelKeyOf(endpoint))) this.#learn(commonWindowFor(tokens), true)
    else this.#run.request.windows?.noteRead(endpoint, tokens)
  }

  /** Whether the server dropped a part of the last call's prompt, by its own count. Null: no sign of it. */
  async findTruncation(): Promise<Truncation | null> {
    const run = this.#run
    const last = this.#unjudged
    this.#unjudged = null
    if (!last) return null
    const messages = run.messages.slice(0, last.count)
    // Cheap, and higher than the estimate that decides.
    const most = this.#fixed() + estimateAllTokens(messages)
    if (most < last.usage.inputTokens * MIN_FACTOR_ASKED) return null
    const fixed = leastTokens(run.request.system) + leastTokens(this.#toolText())
    const newest = messages.findLastIndex(({ role }) => role === 'assistant') + 1
    const { inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = last.usage
    const prompt = {
      counted: inputTokens,
      cached: cacheReadTokens + cacheWriteTokens,
      sent: fixed + leastMessageTokens(messages),
      added: leastMessageTokens(messages.slice(newest)) + (newest === 0 ? fixed : 0),
    }
    if (!isSuspicious(prompt)) return null
    const served = (await run.request.windows?.ask(run.endpoint)) ?? null
    const tokens = truncatedTo(prompt, served)
    if (tokens === 0) return null
    const { model, provider, providerName = provider } = run.endpoint
    const advice = raiseWindowAdvice(served?.kind)
    const message = sentence('window.truncated', {
      name: providerName,
      count: formatTokens(inputTokens),
      sent: formatTokens(prompt.sent),
      model,
      advice,
    })
    return { tokens, message, advice }
  }

  /** Warns, and shortens the conversation to the window that was found. Null: it is shorter now, so call again. */
  async shrinkAfterTruncation({
    tokens,
    message,
    advice,
  }: Truncation): Promise<ProviderFailure | null> {
    this.#measured = null
    this.#learn(tokens, true)
    const truncated = new ProviderFailure('context_overflow', message, { status: 200 })
    const failure = await this.#shrink(truncated, tokens, advice)
    if (!this.#hasWarned) this.#run.emit({ type: 'warning', kind: 'window', message })
    this.#hasWarned = true
    return failure
  }

  /** True when the prompt is long enough that a rejection without a message may be an overflow. */
  isLarge(): boolean {
    const tokens = this.#nextPromptTokens()
    const { contextLength } = this.#effectiveEndpoint()
    return (
      (contextLength > 0 && tokens > contextLength * LARGE_SHARE) ||
      tokens > LARGE_TOKENS ||
      this.#run.messages.length > LARGE_MESSAGES
    )
  }

  /** Call after an overflow. Null: the conversation is shorter now, so call again. Otherwise the failure to report. */
  async shrinkAfterOverflow(failure: ProviderFailure): Promise<ProviderFailure | null> {
    const { compression } = this.#run.request
    if (!compression || this.#overflows >= compression.settings.maxAttempts) return failure
    return this.#shrink(failure, await this.#learnFrom(failure))
  }

  /** Call after an answer that filled the window. The window is as long as was thought, so nothing is learned about it. */
  async shrinkFullWindow(failure: ProviderFailure): Promise<ProviderFailure | null> {
    return this.#shrink(failure, this.tokens())
  }

  async #shrink(
    failure: ProviderFailure,
    window: number,
    advice?: Sentence,
  ): Promise<ProviderFailure | null> {
    const run = this.#run
    const { compression } = run.request
    if (!compression || this.#overflows >= compression.settings.maxAttempts) return failure
    this.#overflows += 1
    const isReduced = await this.#reduce(advice)
    const before = this.#nextPromptTokens()
    if (isReduced && window > 0 && before <= window * SAFE_SHARE) return null
    const threshold =
      thresholdOf({ ...compression.settings, enabled: true }, this.#effectiveEndpoint()) ||
      before / 2
    const target = Math.min(threshold, before / 2) / this.#overflows
    const isCompacted = await this.#compact(target, 0)
    const maxTokens = (window || before) * SAFE_SHARE - this.#fixed()
    const fits = isCompacted && estimateAllTokens(run.messages) <= maxTokens
    if (fits || this.#shortenResults(maxTokens) || isCompacted) return null
    const reason = tooLong(run.messages, window, failure)
    return isReduced && reason === failure ? null : reason
  }

  /** The endpoint with the window learned from overflows. */
  #effectiveEndpoint(): ModelEndpoint {
    const { endpoint } = this.#run
    return {
      ...endpoint,
      contextLength: this.#learned.get(modelKeyOf(endpoint)) ?? endpoint.contextLength,
    }
  }

  #fixed(): number {
    this.#fixedTokens ??=
      estimateTextTokens(this.#run.request.system) + estimateTextTokens(this.#toolText())
    return this.#fixedTokens
  }

  #toolText(): string {
    return JSON.stringify(this.#describeTools())
  }

  /** Once per run: a shorter prompt and fewer tools, when the whole ones take too much of the window. */
  async #reduce(advice?: Sentence): Promise<boolean> {
    const run = this.#run
    const window = this.tokens()
    if (this.#isReduced || window === 0 || this.#fixed() <= window * FIXED_SHARE) return false
    this.#isReduced = true
    const reduced = await run.request.reduce?.(this.#effectiveEndpoint(), advice)
    if (!reduced) return false
    // The user was told of the small window with the reduction.
    if (advice) this.#hasWarned = true
    const { system, tools } = reduced
    run.request = { ...run.request, system, tools }
    this.#fixedTokens = null
    this.#measured = null
    return true
  }

  /** Shortens tool results for a small window, because its server may drop a part of the prompt silently. */
  #fit(): void {
    const window = this.tokens()
    if (window === 0 || window > SMALL_WINDOW || this.#nextPromptTokens() <= window) return
    this.#shortenResults(window * SAFE_SHARE - this.#fixed())
  }

  #estimate(): number {
    return this.#fixed() + this.#tokensOf(this.#run.messages)
  }

  #tokensOf(messages: readonly LoopMessage[]): number {
    const { request, endpoint } = this.#run
    const isSeeing = request.images !== undefined && sendsImages(request.images.mode, endpoint)
    return estimateAllTokens(messages, isSeeing)
  }

  /** Length of the next prompt: the last measured one plus an estimate for later messages. */
  #nextPromptTokens(): number {
    const { messages } = this.#run
    const measured = this.#measured
    if (measured?.messages !== messages) return this.#estimate()
    return measured.tokens + this.#tokensOf(messages.slice(measured.count))
  }

  /** False when there is nothing to summarize or the summary failed; the messages are unchanged then. */
  async #compact(threshold: number, minGain: number): Promise<boolean> {
    const run = this.#run
    const { compression } = run.request
    if (!compression) return false
    const before = this.#nextPromptTokens()
    // The plan works with our estimates, so scale limits from the provider's count to ours.
    const scale = this.#estimate() / Math.max(1, before)
    const plan = planCompression(run.messages, {
      settings: compression.settings,
      threshold: threshold * scale,
      minGain: minGain * scale,
      ...(this.#isTailTooLong(threshold) && { minTail: 1 }),
    })
    if (!plan) return false
    run.emit({ type: 'compressing', tokens: before })
    try {
      const compressed = await compress(run.messages, plan, {
        callModel: compression.callModel,
        window: compression.window,
        signal: run.signal,
        todos: unfinishedTodos(run.memo),
        onUsage: usage => run.meter.addUsage(usage),
      })
      this.#apply(compressed, before)
      return true
    } catch (error) {
      if (run.signal.aborted) throw run.signal.reason
      compression.cooldown.start(run.clock.now(), run.clock.now() + COOLDOWN_MS)
      const message = sentence('turn.not_summarized', { reason: wordsOf(error) })
      run.emit({ type: 'warning', kind: 'compression', message })
      return false
    }
  }

  /** True when the messages a compaction usually keeps would soon reach the threshold again. */
  #isTailTooLong(threshold: number): boolean {
    const tail = this.#tokensOf(this.#run.messages.slice(-MIN_TAIL))
    return tail > (threshold - this.#fixed()) * MAX_TAIL_SHARE
  }

  #apply(compressed: Compressed, before: number): void {
    const run = this.#run
    const estimate = Math.max(1, this.#estimate())
    const { beforeTokens, afterTokens, first, last, text } = compressed
    const after = Math.round((before * (estimate - beforeTokens + afterTokens)) / estimate)
    run.messages = compressed.messages
    this.#measured = null
    run.meter.setNextPromptTokens(after)
    run.emit({ type: 'compressed', first, last, text, beforeTokens: before, afterTokens: after })
  }

  /** Cuts the middle out of long tool results, longest first, until all messages fit. The transcript stays complete. */
  #shortenResults(maxTokens: number): boolean {
    const run = this.#run
    const shortened = withShortResults(run.messages, maxTokens)
    if (estimateAllTokens(shortened) >= estimateAllTokens(run.messages)) return false
    run.messages = shortened
    this.#measured = null
    return true
  }

  /** The window according to the failure, the server, and what is known already; 0 when unknown. */
  async #learnFrom(failure: ProviderFailure): Promise<number> {
    const { endpoint, request } = this.#run
    const current = this.tokens()
    const serverTokens = (await request.windows?.ask(endpoint))?.tokens ?? 0
    const reported = contextLimitIn(failure.message) || serverTokens
    const tokens = this.#nextPromptTokens()
    // The prompt fits by our own count, so the window is smaller than configured.
    const smaller =
      current > 0 && tokens < current ? nextSmallerWindow(Math.min(current, tokens * 1.2)) : current
    const window = reported > 0 && (current === 0 || reported <= current) ? reported : smaller
    // A guess about a short prompt, or a rejection without a message, may be wrong: later turns must not suffer from it.
    const isKept = reported > 0 || (tokens > MIN_GUESS_TOKENS && !failure.isBodyEmpty)
    if (window > 0 && window !== current) this.#learn(window, isKept)
    return window
  }

  /** 0 forgets what was learned. */
  #learn(window: number, isKept: boolean): void {
    const { endpoint, request, meter } = this.#run
    if (window > 0) this.#learned.set(modelKeyOf(endpoint), window)
    else this.#learned.delete(modelKeyOf(endpoint))
    if (isKept) request.windows?.learn(endpoint, window)
    meter.setEndpoint(this.#effectiveEndpoint())
  }
}

const modelKeyOf = ({ provider, model }: ModelEndpoint): string => `${provider} ${model}`

const Todos = z.array(z.object({ content: z.string(), status: z.string() }))

const unfinishedTodos = (memo: ReadonlyMap<string, unknown>): string[] => {
  const parsed = Todos.safeParse(memo.get('todo'))
  if (!parsed.success) return []
  return parsed.data
    .filter(({ status }) => status === 'pending' || status === 'in_progress')
    .map(({ content, status }) => (status === 'in_progress' ? `${content} (in progress)` : content))
}

/** Nothing can be shortened any more. Names the user's message when that alone is too long. */
const tooLong = (
  messages: readonly LoopMessage[],
  window: number,
  failure: ProviderFailure,
): ProviderFailure => {
  const last = messages.findLast(({ role, summary }) => role === 'user' && !summary)
  const tokens = last ? estimateTokens(last) : 0
  if (window === 0 || tokens < window * SAFE_SHARE) return failure
  const sentence = `Your message alone is longer than this model can read: about ${formatTokens(tokens)} tokens, and it reads ${formatTokens(window)}. Send it in parts, or attach it as a file.`
  return new ProviderFailure('context_overflow', sentence, { status: failure.status ?? 400 })
}

/** Tokens that remain of a shortened tool result, roughly; fewer in a small window. */
const SHORT_RESULT_TOKENS = 1_500
const MIN_SHORT_RESULT_TOKENS = 200
const SHORT_RESULT_SHARE = 0.1

const withShortResults = (original: readonly LoopMessage[], maxTokens: number): LoopMessage[] => {
  const messages = [...original]
  const most = Math.floor(
    Math.min(
      SHORT_RESULT_TOKENS,
      Math.max(MIN_SHORT_RESULT_TOKENS, maxTokens * SHORT_RESULT_SHARE),
    ),
  )
  let tokens = estimateAllTokens(messages)
  const longest = messages
    .map((message, at) => ({ at, size: message.role === 'tool' ? estimateTokens(message) : 0 }))
    .filter(({ size }) => size > most / 2)
    .toSorted((a, b) => b.size - a.size)
  for (const { at, size } of longest) {
    if (tokens <= maxTokens) break
    const message = messages[at] as LoopMessage
    if (typeof message.content !== 'string') continue
    messages[at] = { ...message, content: shortened(message.content, most * 2) }
    tokens += estimateTokens(messages[at]) - size
  }
  return messages
}

const shortened = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const omitted = text.length - maxChars
  const half = maxChars / 2
  return `${text.slice(0, half)}\n[… ${omitted} characters left out: they do not fit into this model's window …]\n${text.slice(half + omitted)}`
}
