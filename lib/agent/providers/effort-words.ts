/** Effort in the words of several servers and formats. */
import type { Effort } from '../types.ts'

/** Thinking budgets in tokens. */
export const BUDGETS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 4_000,
  low: 4_000,
  medium: 8_000,
  high: 16_000,
  xhigh: 32_000,
}

/** Three levels of most servers. */
export const THREE = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
} as const

/** DeepSeek and Kimi K3: https://api-docs.deepseek.com/guides/thinking_mode */
export const UP_TO_MAX = {
  minimal: 'low',
  low: 'low',
  medium: 'high',
  high: 'high',
  xhigh: 'max',
} as const
