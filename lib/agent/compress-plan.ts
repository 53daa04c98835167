/** Chooses the messages a summary replaces. Pure. */
import { estimateTokens, estimateAllTokens } from './tokens.ts'
import type { LoopMessage } from './types.ts'
import { SMALL_WINDOW } from './window-services.ts'

export type CompressionSettings = {
  enabled: boolean
  /** Share of the context window at which the conversation is compacted; absent: the default for the window. */
  threshold?: number
  /** Threshold in tokens instead of a share; 0: use the share. */
  thresholdTokens: number
  /** Thresholds by model name: a share, or tokens when above 1. */
  modelThresholds: Readonly<Record<string, number>>
  /** Share of the threshold that is kept verbatim. */
  targetRatio: number
  /** Messages kept at the start, including the system prompt. */
  protectFirst: number
  /** Messages kept at the end while they fit. */
  protectLast: number
  /** Overflows a turn may recover from. */
  maxAttempts: number
}

/** Upper bound of any threshold: the response needs part of the window, too. */
const MAX_WINDOW_SHARE = 0.95

/** In a small window, half would leave hardly more than prompt and tools. */
const DEFAULT_SHARE = 0.5
const SMALL_WINDOW_SHARE = 0.75

const defaultShare = (contextLength: number): number =>
  contextLength <= SMALL_WINDOW ? SMALL_WINDOW_SHARE : DEFAULT_SHARE

/** The model's own threshold; the longest matching name wins. */
const modelThreshold = (settings: CompressionSettings, model: string): number | undefined => {
  const [longest] = Object.entries(settings.modelThresholds)
    .filter(([name]) => model.toLowerCase().includes(name.toLowerCase()))
    .toSorted(([a], [b]) => b.length - a.length)
  return longest?.[1]
}

/**
 * Tokens at which the conversation is compacted; 0: never. A configured value is used as it is, also in small windows, so
 * that the page shows what the configuration says.
 */
export const thresholdOf = (
  settings: CompressionSettings,
  { contextLength, model }: { contextLength: number; model: string },
): number => {
  if (!settings.enabled || contextLength === 0) return 0
  const override = modelThreshold(settings, model)
  const configured = settings.threshold ?? defaultShare(contextLength)
  const share = override !== undefined && override <= 1 ? override : configured
  const tokens =
    override !== undefined && override > 1
      ? override
      : override === undefined && settings.thresholdTokens
  return Math.floor(Math.min(tokens || contextLength * share, contextLength * MAX_WINDOW_SHARE))
}

/** The range `[head, tail)` of messages is summarized. */
export type CompressionPlan = { head: number; tail: number }

/** Factor by which the tail may exceed its budget, so that it ends at a message boundary. */
const MAX_TAIL_FACTOR = 1.5
/** Messages kept at the end unless the caller says otherwise. */
export const MIN_TAIL = 3

export const planCompression = (
  messages: readonly LoopMessage[],
  {
    settings,
    threshold,
    minTail = MIN_TAIL,
    minGain = 0,
  }: {
    settings: CompressionSettings
    /** Target length of the conversation in tokens. */
    threshold: number
    /** Messages kept at the end regardless of length. */
    minTail?: number
    /** No plan when fewer tokens would be saved. */
    minGain?: number
  },
): CompressionPlan | null => {
  const budget = threshold * settings.targetRatio
  const head = headOf(messages, settings.protectFirst - 1, budget)
  const tail = tailOf(messages, head, { budget, minTail, protectLast: settings.protectLast })
  const covered = messages.slice(head, tail)
  // A single message or the old summary alone would only be rephrased.
  if (covered.filter(({ summary }) => !summary).length < (covered[0]?.summary ? 1 : 2)) return null
  return estimateAllTokens(covered) < minGain ? null : { head, tail }
}

/** The first messages, up to a tool call (results can be long) or a summary. */
const headOf = (messages: readonly LoopMessage[], count: number, budget: number): number => {
  const old = messages.findIndex(({ summary }) => summary)
  // The head was chosen when the old summary was made.
  if (old >= 0) return old
  let head = 0
  let tokens = 0
  while (head < count) {
    const message = messages[head]
    if (!message || message.role === 'tool' || message.tool_calls?.length) break
    tokens += estimateTokens(message)
    if (tokens > budget) break
    head += 1
  }
  return head
}

const tailOf = (
  messages: readonly LoopMessage[],
  head: number,
  { budget, minTail, protectLast }: { budget: number; minTail: number; protectLast: number },
): number => {
  let tail = messages.length
  let tokens = 0
  while (tail > head) {
    const message = messages[tail - 1] as LoopMessage
    // A summary is never part of the tail.
    if (message.summary) break
    tokens += estimateTokens(message)
    const size = messages.length - tail
    const fits = tokens <= budget || (size < protectLast && tokens <= budget * MAX_TAIL_FACTOR)
    if (size >= minTail && !fits) break
    tail -= 1
  }
  return alignTail(messages, head, tail)
}

/** Moves the boundary until it separates no call from its results and keeps the transcript's order. */
const alignTail = (messages: readonly LoopMessage[], head: number, from: number): number => {
  let tail = from
  while (tail > head && !isBoundary(messages, head, tail)) tail -= 1
  if (tail === from || tail > head + 1) return tail
  // A long run of calls reaches the head: cut behind it instead, if messages remain.
  for (let later = from + 1; later < messages.length; later += 1) {
    if (isBoundary(messages, head, later)) return later
  }
  return tail
}

/** Messages of this turn have no position yet and come after all others. */
const positionOf = ({ position: place }: LoopMessage): number => place ?? Number.POSITIVE_INFINITY

const isBoundary = (messages: readonly LoopMessage[], head: number, tail: number): boolean => {
  if (messages[tail]?.role === 'tool') return false
  const last = messages.slice(head, tail).reduce((most, one) => Math.max(most, positionOf(one)), 0)
  const first = messages
    .slice(tail)
    .reduce((least, one) => Math.min(least, positionOf(one)), Number.POSITIVE_INFINITY)
  return last < first || first === Number.POSITIVE_INFINITY
}
