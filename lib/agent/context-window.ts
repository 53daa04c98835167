/** Keeps the conversation of a run within what its model can read: before each call, and when a call was refused. */
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { type Compressed, compress } from './compress.ts'
import { planCompression, thresholdOf } from './compress-plan.ts'
import { ProviderFailure } from './failure.ts'
import type { UsageMeter } from './usage-meter.ts'
import {
  formatTokens,
  nextSmallerWindow,
  estimateTokens,
  estimateAllTokens,
  estimateTextTokens,
  contextLimitIn,
} from './tokens.ts'
import type { AgentRequest, Emit, LoopMessage, ModelEndpoint } from './types.ts'

/** The part of a run this looks at and changes. */
type Fitting = {
  request: AgentRequest
  emit: Emit
  meter: UsageMeter
  signal: AbortSignal
  now: () => number
  memo: Map<string, unknown>
  endpoint: ModelEndpoint
  messages: LoopMessage[]
}

/** After a summary that failed, the conversation goes on in full for a while. */
const REST_MS = 600_000
/** What must go at least, as a share of the threshold: a summary costs a call. */
const MIN_GAIN = 0.15
/** How full the window may be when a refused call is made again. */
const SAFE_SHARE = 0.8
/** From when on a refusal without a reason is taken for one of length (agent-home §9.3). */
const LARGE_SHARE = 0.4
const LARGE_TOKENS = 80_000
const LARGE_MESSAGES = 80
/** What is left of a long result. */
const SHORT_RESULT = 1_500

export type Fit = ReturnType<typeof createFit>

/** `schemas` is what the provider is told of the tools on offer. */
export const createFit = (run: Fitting, schemas: () => unknown) => {
  const { compression } = run.request
  /** Windows that turned out to be smaller than thought, for the rest of the turn. */
  const learned = new Map<string, number>()
  /** What the provider counted for the first `count` messages. */
  let measured: { tokens: number; messages: LoopMessage[]; count: number } | null = null
  let attempts = 0
  /** Tools are written out once: their schemas are long and stay the same. */
  let fixed: number | null = null

  const nameOf = ({ provider, model }: ModelEndpoint) => `${provider} ${model}`
  const effective = (endpoint: ModelEndpoint): ModelEndpoint => ({
    ...endpoint,
    contextLength: learned.get(nameOf(endpoint)) ?? endpoint.contextLength,
  })

  const fixedTokens = (): number => {
    fixed ??= estimateTextTokens(run.request.system) + estimateTextTokens(JSON.stringify(schemas()))
    return fixed
  }

  /** What the next call will be long: what was counted last, and an estimate of what came since. */
  const estimate = (): number => {
    if (measured && measured.messages === run.messages)
      return measured.tokens + estimateAllTokens(run.messages.slice(measured.count))
    return rough()
  }

  const rough = (): number => fixedTokens() + estimateAllTokens(run.messages)

  const openTodos = (): string[] => {
    const parsed = Todos.safeParse(run.memo.get('todo'))
    if (!parsed.success) return []
    return parsed.data
      .filter(({ status }) => status === 'pending' || status === 'in_progress')
      .map(({ content, status }) =>
        status === 'in_progress' ? `${content} (in progress)` : content,
      )
  }

  const put = (done: Compressed, before: number): void => {
    const whole = Math.max(1, rough())
    const after = Math.round((before * (whole - done.beforeTokens + done.afterTokens)) / whole)
    run.messages = done.messages
    measured = null
    run.meter.setNextPromptTokens(after)
    const { first, last, text } = done
    run.emit({ type: 'compressed', first, last, text, beforeTokens: before, afterTokens: after })
  }

  /** False when there is nothing to summarise, or it could not be: then every message is still there. */
  const summarise = async (threshold: number, minGain: number): Promise<boolean> => {
    if (!compression) return false
    const { settings, callModel: ask, cooldown: rest } = compression
    const before = estimate()
    // Lengths below are our own estimates: measured against them, not against what the provider counted.
    const scale = rough() / Math.max(1, before)
    const plan = planCompression(run.messages, {
      settings,
      threshold: threshold * scale,
      minGain: minGain * scale,
    })
    if (!plan) return false
    run.emit({ type: 'compressing', tokens: before })
    try {
      const done = await compress(run.messages, plan, {
        callModel: ask,
        window: compression.window,
        signal: run.signal,
        todos: openTodos(),
        onUsage: usage => run.meter.addUsage(usage),
      })
      put(done, before)
      return true
    } catch (error) {
      if (run.signal.aborted) throw run.signal.reason
      rest.start(run.now(), run.now() + REST_MS)
      const why = messageOf(error)
      const message = `The earlier conversation could not be summarised, so it goes on in full: ${why}`
      run.emit({ type: 'warning', kind: 'compression', message })
      return false
    }
  }

  /** Long results lose their middle for the rest of the turn, longest first; the transcript keeps them whole. */
  const shorten = (room: number): boolean => {
    let tokens = estimateAllTokens(run.messages)
    const messages = [...run.messages]
    const longest = messages
      .map((message, at) => ({ at, size: message.role === 'tool' ? estimateTokens(message) : 0 }))
      .filter(({ size }) => size > SHORT_RESULT / 2)
      .toSorted((a, b) => b.size - a.size)
    for (const { at, size } of longest) {
      if (tokens <= room) break
      const message = messages[at] as LoopMessage
      if (typeof message.content !== 'string') continue
      messages[at] = { ...message, content: shortened(message.content) }
      tokens += estimateTokens(messages[at]) - size
    }
    if (tokens >= estimateAllTokens(run.messages)) return false
    run.messages = messages
    measured = null
    return true
  }

  /** The window as the refusal tells it; 0 when nothing is known of it. */
  const learn = (failure: ProviderFailure): number => {
    const known = effective(run.endpoint).contextLength
    const said = contextLimitIn(failure.message)
    const tokens = estimate()
    // It fits by our own count, so the window is smaller than we thought.
    const smaller =
      known > 0 && tokens < known ? nextSmallerWindow(Math.min(known, tokens * 1.2)) : known
    const window = said > 0 && (known === 0 || said <= known) ? said : smaller
    if (window > 0 && window !== known) {
      learned.set(nameOf(run.endpoint), window)
      run.meter.setEndpoint(effective(run.endpoint))
    }
    return window
  }

  return {
    /** Before a call. Never throws but when the run is aborted. */
    async before(): Promise<void> {
      if (!compression || compression.cooldown.until() > run.now()) return
      const threshold = thresholdOf(compression.settings, effective(run.endpoint))
      if (threshold === 0 || estimate() < threshold) return
      await summarise(threshold, threshold * MIN_GAIN)
    },

    /** After a call that was answered: `tokens` is what the provider counted, 0 when it does not say. */
    heard(tokens: number, count: number): void {
      measured = tokens > 0 ? { tokens, messages: run.messages, count } : null
    },

    /** So long that a refusal without a word may be about it. */
    isLarge(): boolean {
      const tokens = estimate()
      const { contextLength } = effective(run.endpoint)
      return (
        (contextLength > 0 && tokens > contextLength * LARGE_SHARE) ||
        tokens > LARGE_TOKENS ||
        run.messages.length > LARGE_MESSAGES
      )
    },

    /** After a call that was refused as too long: null when the conversation is shorter now, else the sentence why it cannot be. */
    async refused(failure: ProviderFailure): Promise<ProviderFailure | null> {
      if (!compression || attempts >= compression.settings.maxAttempts) return failure
      attempts += 1
      const window = learn(failure)
      const before = estimate()
      const threshold =
        thresholdOf({ ...compression.settings, enabled: true }, effective(run.endpoint)) ||
        before / 2
      const wanted = Math.min(threshold, before / 2) / attempts
      const isSummarised = await summarise(wanted, 0)
      const room = (window || before) * SAFE_SHARE - fixedTokens()
      const isShort = isSummarised && estimateAllTokens(run.messages) <= room
      if (isShort || shorten(room) || isSummarised) return null
      return tooLong(run.messages, window, failure)
    },
  }
}

const Todos = z.array(z.object({ content: z.string(), status: z.string() }))

const shortened = (text: string): string => {
  const chars = SHORT_RESULT * 2
  if (text.length <= chars) return text
  const left = text.length - chars
  return `${text.slice(0, chars / 2)}\n[… ${left} characters left out: they do not fit into this model's window …]\n${text.slice(chars / 2 + left)}`
}

/** Nothing is left that could be made shorter: say what it is that is too long. */
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
