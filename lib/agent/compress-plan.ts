/** Which messages a summary takes the place of: pure arithmetic over their lengths and what belongs together. */
import { estimateTokens, estimateAllTokens } from './tokens.ts'
import type { LoopMessage, ModelEndpoint } from './types.ts'

export type CompressionSettings = {
  enabled: boolean
  /** Share of the window at which a conversation is summarised. */
  threshold: number
  /** Tokens instead of a share; 0 for none. */
  thresholdTokens: number
  /** For some models another share, or (above 1) another number of tokens. */
  modelThresholds: Readonly<Record<string, number>>
  /** Share of the threshold that stays word for word. */
  targetRatio: number
  /** Messages at the beginning that stay, the system prompt counted as one of them. */
  protectFirst: number
  /** Messages at the end that stay as long as there is room. */
  protectLast: number
  /** How often a turn may be saved from a window that is too small. */
  maxAttempts: number
}

/** Never above this share of the window, whatever is configured: the answer needs room as well. */
const MOST = 0.95

/** The setting of this model: written whole, else the longest part of its name. */
const ownThreshold = (settings: CompressionSettings, model: string): number | undefined => {
  const named = Object.entries(settings.modelThresholds)
  const [found] = named
    .filter(([name]) => model.toLowerCase().includes(name.toLowerCase()))
    .toSorted(([a], [b]) => b.length - a.length)
  return found?.[1]
}

/**
 * Tokens at which the conversation is summarised; 0 when that is unknown or not wanted. What is written counts as it
 * is written: a floor for small windows would make the ring and the configuration say different things.
 */
export const thresholdOf = (
  settings: CompressionSettings,
  { contextLength, model }: Pick<ModelEndpoint, 'contextLength' | 'model'>,
): number => {
  if (!settings.enabled || contextLength === 0) return 0
  const own = ownThreshold(settings, model)
  const share = own !== undefined && own <= 1 ? own : settings.threshold
  const tokens = own !== undefined && own > 1 ? own : own === undefined && settings.thresholdTokens
  return Math.floor(Math.min(tokens || contextLength * share, contextLength * MOST))
}

/** `messages[head]` up to but not including `messages[tail]` are summarised. */
export type CompressionPlan = { head: number; tail: number }

export type PlanOptions = {
  settings: Pick<CompressionSettings, 'targetRatio' | 'protectFirst' | 'protectLast'>
  /** Tokens the conversation should stay below. */
  threshold: number
  /** Messages at the end that stay whatever their length. */
  minTail?: number
  /** Not worth a model call when less than this many tokens would go. */
  minGain?: number
}

/** The tail may grow beyond its budget by this, so that it ends where something ends. */
const CEILING = 1.5
const MIN_TAIL = 3

export const planCompression = (
  messages: readonly LoopMessage[],
  { settings, threshold, minTail = MIN_TAIL, minGain = 0 }: PlanOptions,
): CompressionPlan | null => {
  const budget = threshold * settings.targetRatio
  const head = headOf(messages, settings.protectFirst - 1, budget)
  const tail = tailOf(messages, head, { budget, minTail, protectLast: settings.protectLast })
  const covered = messages.slice(head, tail)
  // One message, or the old summary alone, would only be said again in other words.
  if (covered.filter(({ summary }) => !summary).length < (covered[0]?.summary ? 1 : 2)) return null
  return estimateAllTokens(covered) < minGain ? null : { head, tail }
}

/** The first words of both sides; nothing with calls, whose results could be long, and nothing behind a summary. */
const headOf = (messages: readonly LoopMessage[], count: number, budget: number): number => {
  const old = messages.findIndex(({ summary }) => summary)
  // What is above an old summary has been decided when that was made.
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

type TailOptions = { budget: number; minTail: number; protectLast: number }

const tailOf = (
  messages: readonly LoopMessage[],
  head: number,
  { budget, minTail, protectLast }: TailOptions,
): number => {
  let tail = messages.length
  let tokens = 0
  while (tail > head) {
    const message = messages[tail - 1] as LoopMessage
    // What is summarised already is never a part of the tail.
    if (message.summary) break
    tokens += estimateTokens(message)
    const kept = messages.length - tail
    const fits = tokens <= budget || (kept < protectLast && tokens <= budget * CEILING)
    if (kept >= minTail && !fits) break
    tail -= 1
  }
  return wholeTail(messages, head, tail)
}

/** Moves the boundary up until nothing that belongs together is torn: calls and results, the order of the transcript. */
const wholeTail = (messages: readonly LoopMessage[], head: number, from: number): number => {
  let tail = from
  while (tail > head && !isWhole(messages, head, tail)) tail -= 1
  if (tail === from || tail > head + 1) return tail
  // A long run of calls reaches up to the head: cut behind it instead, as long as something is left.
  for (let later = from + 1; later < messages.length; later += 1) {
    if (isWhole(messages, head, later)) return later
  }
  return tail
}

/** What was said in this turn has no place yet: it stands behind everything that has one. */
const placeOf = ({ position: place }: LoopMessage): number => place ?? Number.POSITIVE_INFINITY

const isWhole = (messages: readonly LoopMessage[], head: number, tail: number): boolean => {
  if (messages[tail]?.role === 'tool') return false
  const last = messages.slice(head, tail).reduce((most, one) => Math.max(most, placeOf(one)), 0)
  const first = messages
    .slice(tail)
    .reduce((least, one) => Math.min(least, placeOf(one)), Number.POSITIVE_INFINITY)
  return last < first || first === Number.POSITIVE_INFINITY
}
