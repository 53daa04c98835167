/** How much a Claude may think and write, by its generation (agent-home §9.6). */
import type { Effort, ModelEndpoint } from '../types.ts'

/** What an endpoint objected to, and a conversation's own `no carry` and `at most`. */
export type AnthropicQuirk =
  | 'no thinking'
  | 'thinking off'
  | 'blank thoughts'
  | 'adaptive thinking'
  | 'budget thinking'
  | 'no display'
  | 'lower effort'
  | 'no effort'
  | 'no cache'
  | 'no reasoning state'
  | `at most ${number}`

type Quirks = ReadonlySet<AnthropicQuirk>

/** From this generation on a model decides itself how long it thinks. */
const ADAPTIVE_FROM = 406
/** From this one on its thoughts are shown only on request. */
const HIDDEN_FROM = 407
const THINKING_FROM = 307
/** From this one on it may think unasked. */
const UNASKED_FROM = 500
const LATEST = 9_999

const BUDGETS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 4_000,
  low: 4_000,
  medium: 8_000,
  high: 16_000,
  xhigh: 32_000,
}
/** Room for the answer behind the longest thought. */
const ANSWER_TOKENS = 4_096
/** The smallest budget that is accepted. */
const LEAST_BUDGET = 1_024

const EFFORTS: Readonly<Record<Exclude<Effort, 'none'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
}

export const isClaude = (model: string): boolean => /claude/i.test(model)

/** 4.6 is 406; a Claude without a number is a new one, anything else 0. */
const generationOf = (model: string): number => {
  if (!isClaude(model)) return 0
  // A date behind the name is longer than any version.
  const found = /claude\D*(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?/i.exec(model)
  return found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : LATEST
}

const defaultMax = (model: string): number => {
  const generation = generationOf(model)
  if (generation === 0) return 32_000
  if (generation >= ADAPTIVE_FROM) return 64_000
  if (generation >= THINKING_FROM) return 32_000
  return generation >= 305 ? 8_192 : 4_096
}

const modeOf = (model: string, quirks: Quirks): 'adaptive' | 'budget' | null => {
  if (quirks.has('no thinking') || quirks.has('no reasoning state')) return null
  if (quirks.has('budget thinking')) return 'budget'
  if (quirks.has('adaptive thinking')) return 'adaptive'
  const generation = generationOf(model)
  if (generation >= ADAPTIVE_FROM) return 'adaptive'
  return generation >= THINKING_FROM && !/haiku/i.test(model) ? 'budget' : null
}

const capOf = (quirks: Quirks): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...[...quirks].flatMap(quirk =>
      quirk.startsWith('at most ') ? [Number(quirk.slice('at most '.length))] : [],
    ),
  )

/** The fields of the request that belong together. Temperature is left alone: thinking refuses any but its own. */
export const thinkingFields = (
  { model, maxTokens, effort = 'medium' }: ModelEndpoint,
  quirks: Quirks,
): Record<string, unknown> => {
  const cap = capOf(quirks)
  const max = Math.min(maxTokens ?? defaultMax(model), cap)
  if (quirks.has('thinking off')) return { max_tokens: max, thinking: { type: 'disabled' } }
  const mode = effort === 'none' ? null : modeOf(model, quirks)
  if (mode === null || effort === 'none') {
    const thinksAnyway = maxTokens !== undefined && generationOf(model) >= UNASKED_FROM
    return { max_tokens: Math.min(max + (thinksAnyway ? ANSWER_TOKENS : 0), cap) }
  }
  if (mode === 'adaptive') {
    const wanted = EFFORTS[effort]
    const isHidden = generationOf(model) >= HIDDEN_FROM && !quirks.has('no display')
    return {
      max_tokens: max,
      thinking: { type: 'adaptive', ...(isHidden && { display: 'summarized' }) },
      ...(!quirks.has('no effort') && {
        output_config: { effort: quirks.has('lower effort') && wanted === 'max' ? 'high' : wanted },
      }),
    }
  }
  const room = Math.min(Math.max(max, BUDGETS[effort] + ANSWER_TOKENS), cap)
  const budget = Math.min(BUDGETS[effort], room - LEAST_BUDGET)
  return budget < LEAST_BUDGET
    ? { max_tokens: room }
    : { max_tokens: room, thinking: { type: 'enabled', budget_tokens: budget } }
}
