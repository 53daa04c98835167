/** Keeps the messages of a run within the model's context window: compaction before a call, shrinking after an overflow. */
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { type Compressed, compress } from './compress.ts'
import { planCompression, thresholdOf } from './compress-plan.ts'
import { ProviderFailure } from './failure.ts'
import {
  contextLimitIn,
  estimateAllTokens,
  estimateTextTokens,
  estimateTokens,
  formatTokens,
  nextSmallerWindow,
} from './tokens.ts'
import type { AgentRequest, Emit, LoopMessage, ModelEndpoint } from './types.ts'
import type { UsageMeter } from './usage-meter.ts'

/** The part of a run that is read and changed here. */
type WindowRun = {
  request: AgentRequest
  emit: Emit
  meter: UsageMeter
  signal: AbortSignal
  now: () => number
  memo: Map<string, unknown>
  endpoint: ModelEndpoint
  messages: LoopMessage[]
}

/** After a failed compaction the conversation is sent in full for this long. */
const COOLDOWN_MS = 600_000
/** Share of the threshold a compaction must save at least, because it costs a model call. */
const MIN_GAIN = 0.15
/** Share of the window a repeated call may fill after an overflow. */
const SAFE_SHARE = 0.8
/** Above any of these, a rejection without an error message counts as an overflow (agent-home §9.3). */
const LARGE_SHARE = 0.4
const LARGE_TOKENS = 80_000
const LARGE_MESSAGES = 80
/** Tokens that remain of a shortened tool result, roughly. */
const SHORT_RESULT_TOKENS = 1_500
const SHORT_RESULT_CHARS = SHORT_RESULT_TOKENS * 2

export class ContextWindow {
  readonly #run: WindowRun
  readonly #describeTools: () => unknown
  /** Windows that turned out smaller than configured, by model; valid for the rest of the turn. */
  readonly #learned = new Map<string, number>()
  /** Prompt tokens the provider counted for the first `count` of these messages. */
  #measured: { tokens: number; messages: LoopMessage[]; count: number } | null = null
  #overflows = 0
  /** Tokens of the system prompt and the tools; cached, because schemas are long and do not change. */
  #fixedTokens: number | null = null

  /** `describeTools` returns the tools as the provider receives them. */
  constructor(run: WindowRun, describeTools: () => unknown) {
    this.#run = run
    this.#describeTools = describeTools
  }

  /** Compacts the conversation when the next prompt reaches the threshold. Throws only when the run is aborted. */
  async compactIfNeeded(): Promise<void> {
    const { compression } = this.#run.request
    if (!compression || compression.cooldown.until() > this.#run.now()) return
    const threshold = thresholdOf(compression.settings, this.#effectiveEndpoint())
    if (threshold === 0 || this.#nextPromptTokens() < threshold) return
    await this.#compact(threshold, threshold * MIN_GAIN)
  }

  /** Call after a successful call with the provider's count for the first `count` messages; 0 when it reported none. */
  recordPromptTokens(tokens: number, count: number): void {
    this.#measured = tokens > 0 ? { tokens, messages: this.#run.messages, count } : null
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
    const run = this.#run
    const { compression } = run.request
    if (!compression || this.#overflows >= compression.settings.maxAttempts) return failure
    this.#overflows += 1
    const window = this.#learnWindow(failure)
    const before = this.#nextPromptTokens()
    const threshold =
      thresholdOf({ ...compression.settings, enabled: true }, this.#effectiveEndpoint()) ||
      before / 2
    const target = Math.min(threshold, before / 2) / this.#overflows
    const isCompacted = await this.#compact(target, 0)
    const maxTokens = (window || before) * SAFE_SHARE - this.#fixed()
    const fits = isCompacted && estimateAllTokens(run.messages) <= maxTokens
    if (fits || this.#shortenResults(maxTokens) || isCompacted) return null
    return tooLong(run.messages, window, failure)
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
      estimateTextTokens(this.#run.request.system) +
      estimateTextTokens(JSON.stringify(this.#describeTools()))
    return this.#fixedTokens
  }

  #estimate(): number {
    return this.#fixed() + estimateAllTokens(this.#run.messages)
  }

  /** Length of the next prompt: the last measured one plus an estimate for later messages. */
  #nextPromptTokens(): number {
    const { messages } = this.#run
    const measured = this.#measured
    if (measured?.messages !== messages) return this.#estimate()
    return measured.tokens + estimateAllTokens(messages.slice(measured.count))
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
    })
    if (!plan) return false
    run.emit({ type: 'compressing', tokens: before })
    try {
      const compressed = await compress(run.messages, plan, {
        callModel: compression.callModel,
        window: compression.window,
        signal: run.signal,
        todos: openTodos(run.memo),
        onUsage: usage => run.meter.addUsage(usage),
      })
      this.#apply(compressed, before)
      return true
    } catch (error) {
      if (run.signal.aborted) throw run.signal.reason
      compression.cooldown.start(run.now(), run.now() + COOLDOWN_MS)
      const message = `Couldn’t summarize the earlier conversation, so it is sent in full: ${messageOf(error)}`
      run.emit({ type: 'warning', kind: 'compression', message })
      return false
    }
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

  /** The window according to the failure and what is known already; 0 when unknown. */
  #learnWindow(failure: ProviderFailure): number {
    const run = this.#run
    const known = this.#effectiveEndpoint().contextLength
    const reported = contextLimitIn(failure.message)
    const tokens = this.#nextPromptTokens()
    // The prompt fits by our own count, so the window is smaller than configured.
    const smaller =
      known > 0 && tokens < known ? nextSmallerWindow(Math.min(known, tokens * 1.2)) : known
    const window = reported > 0 && (known === 0 || reported <= known) ? reported : smaller
    if (window > 0 && window !== known) {
      this.#learned.set(modelKeyOf(run.endpoint), window)
      run.meter.setEndpoint(this.#effectiveEndpoint())
    }
    return window
  }
}

const modelKeyOf = ({ provider, model }: ModelEndpoint): string => `${provider} ${model}`

const Todos = z.array(z.object({ content: z.string(), status: z.string() }))

const openTodos = (memo: ReadonlyMap<string, unknown>): string[] => {
  const parsed = Todos.safeParse(memo.get('todo'))
  if (!parsed.success) return []
  return parsed.data
    .filter(({ status }) => status === 'pending' || status === 'in_progress')
    .map(({ content, status }) => (status === 'in_progress' ? `${content} (in progress)` : content))
}

const withShortResults = (original: readonly LoopMessage[], maxTokens: number): LoopMessage[] => {
  const messages = [...original]
  let tokens = estimateAllTokens(messages)
  const longest = messages
    .map((message, at) => ({ at, size: message.role === 'tool' ? estimateTokens(message) : 0 }))
    .filter(({ size }) => size > SHORT_RESULT_TOKENS / 2)
    .toSorted((a, b) => b.size - a.size)
  for (const { at, size } of longest) {
    if (tokens <= maxTokens) break
    const message = messages[at] as LoopMessage
    if (typeof message.content !== 'string') continue
    messages[at] = { ...message, content: shortened(message.content) }
    tokens += estimateTokens(messages[at]) - size
  }
  return messages
}

const shortened = (text: string): string => {
  if (text.length <= SHORT_RESULT_CHARS) return text
  const omitted = text.length - SHORT_RESULT_CHARS
  const half = SHORT_RESULT_CHARS / 2
  return `${text.slice(0, half)}\n[… ${omitted} characters left out: they do not fit into this model's window …]\n${text.slice(half + omitted)}`
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
