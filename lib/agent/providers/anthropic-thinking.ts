/** Thinking and output limits of Claude models by generation. */
import { asObject } from '../../base/json.ts'
import type { ModelEndpoint } from '../types.ts'
import type { Effort } from '../../base/efforts.ts'
import { BUDGETS, UP_TO_MAX } from './effort-words.ts'
import { type Quirks, smallestLimit } from './quirks.ts'

/** From this generation on, models support adaptive thinking. */
const ADAPTIVE_FROM = 406
/** From this one on, thinking text is returned only on request. */
const HIDDEN_FROM = 407
const THINKING_FROM = 307
/** From this one on, models may think without being asked. */
const UNASKED_FROM = 500
const LATEST = 9_999

/** Output tokens beyond the thinking budget. */
const ANSWER_TOKENS = 4_096
/** The smallest budget the API accepts. */
const MIN_BUDGET = 1_024

const EFFORTS: Readonly<Record<Exclude<Effort, 'none'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
}

export const isClaude = (model: string): boolean => /claude/i.test(model)

/** 4.6 is 406. A Claude without a version is the latest; other models are 0. */
const generationOf = (model: string): number => {
  if (!isClaude(model)) return 0
  // A date in the id has more digits than a version.
  const match = /claude\D*(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?/i.exec(model)
  return match ? Number(match[1]) * 100 + Number(match[2] ?? 0) : LATEST
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

/** Until this generation, thinking between tool calls needs a beta header; with adaptive thinking it is always on. */
const INTERLEAVED = { from: 400, below: ADAPTIVE_FROM, beta: 'interleaved-thinking-2025-05-14' }
/** Lets the API drop thinking from before a compaction or an edit, which newer models reject otherwise. */
const BINDING_BETA = 'thinking-binding-controls-2026-08-01'

/** Values of the header `anthropic-beta`. */
export const betasFor = (endpoint: ModelEndpoint, quirks: Quirks, hasTools: boolean): string[] => {
  if (quirks.has('no beta')) return []
  const generation = generationOf(endpoint.model)
  const isInterleaved =
    hasTools &&
    generation >= INTERLEAVED.from &&
    generation < INTERLEAVED.below &&
    asObject(thinkingFields(endpoint, quirks).thinking).type === 'enabled'
  return [
    ...(isInterleaved ? [INTERLEAVED.beta] : []),
    ...(quirks.has('drop changed thinking') ? [BINDING_BETA] : []),
  ]
}

/** `max_tokens`, `thinking` and effort, which depend on each other. No temperature: thinking requires the default. */
export const thinkingFields = (
  endpoint: ModelEndpoint,
  quirks: Quirks,
): Record<string, unknown> => {
  const { model, maxTokens, effort = 'medium' } = endpoint
  const cap = smallestLimit(quirks, 'at most ')
  const max = Math.min(maxTokens ?? defaultMax(model), cap)
  if (quirks.has('thinking off')) return { max_tokens: max, thinking: { type: 'disabled' } }
  if (!isClaude(model)) return { max_tokens: max, ...familyThinking(endpoint, max, quirks) }
  if (effort === 'none') return withoutThinking(endpoint, max, cap, quirks)
  const mode = modeOf(model, quirks)
  if (mode === null) return { max_tokens: max }
  if (mode === 'adaptive') {
    const level = EFFORTS[effort]
    const isHidden = generationOf(model) >= HIDDEN_FROM && !quirks.has('no display')
    return {
      max_tokens: max,
      thinking: {
        type: 'adaptive',
        ...(isHidden && { display: 'summarized' }),
        ...(quirks.has('drop changed thinking') &&
          !quirks.has('no beta') && {
            block_binding: { prefix_mismatch_behavior: 'drop_block' },
          }),
      },
      ...(!quirks.has('no effort') && {
        output_config: { effort: quirks.has('lower effort') && level === 'max' ? 'high' : level },
      }),
    }
  }
  const limit = Math.min(Math.max(max, BUDGETS[effort] + ANSWER_TOKENS), cap)
  const budget = Math.min(BUDGETS[effort], limit - MIN_BUDGET)
  return budget < MIN_BUDGET
    ? { max_tokens: limit }
    : { max_tokens: limit, thinking: { type: 'enabled', budget_tokens: budget } }
}

/** Claude thinks unasked from generation 5 on; some models cannot be told not to, so they think little. */
const withoutThinking = (
  endpoint: ModelEndpoint,
  max: number,
  cap: number,
  quirks: Quirks,
): Record<string, unknown> => {
  const { model, maxTokens } = endpoint
  if (generationOf(model) < UNASKED_FROM || quirks.has('no thinking')) return { max_tokens: max }
  if (!quirks.has('always thinks') && !ALWAYS_THINKS.test(model))
    return { max_tokens: max, thinking: { type: 'disabled' } }
  return {
    ...thinkingFields({ ...endpoint, effort: 'low' }, quirks),
    max_tokens: Math.min(max + (maxTokens === undefined ? 0 : ANSWER_TOKENS), cap),
  }
}

/** https://platform.claude.com/docs/en/build-with-claude/thinking */
const ALWAYS_THINKS = /claude-(?:opus|sonnet)-?5[.-][5-9]|claude-fable/i

/** Other families behind this format: DeepSeek has levels, most others a switch, and some always think. */
const SWITCHED =
  /deepseek-(?:chat|v|flash)|kimi-k2\.[56]|glm-(?:4\.[5-9]|[5-9])|minimax-?m(?:[3-9]|\d\d)|qwen-?(?:3(?!.*(?:instruct|coder|thinking))|plus)|mimo/i
const LEVELS = /deepseek/i

const familyThinking = (
  { model, effort }: ModelEndpoint,
  max: number,
  quirks: Quirks,
): Record<string, unknown> => {
  if (effort === undefined || quirks.has('no thinking') || !SWITCHED.test(model)) return {}
  if (effort === 'none')
    return quirks.has('always thinks') ? {} : { thinking: { type: 'disabled' } }
  if (LEVELS.test(model))
    return {
      thinking: { type: 'enabled' },
      ...(!quirks.has('no effort') && { output_config: { effort: UP_TO_MAX[effort] } }),
    }
  const budget = Math.min(BUDGETS[effort], max - MIN_BUDGET)
  return budget < MIN_BUDGET ? {} : { thinking: { type: 'enabled', budget_tokens: budget } }
}
