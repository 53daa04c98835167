/** Effort in the words of several servers and formats. */
import { type Effort, EFFORTS } from '../../base/efforts.ts'
import type { Quirks } from './quirks.ts'

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

const ASCENDING: readonly string[] = [...EFFORTS, 'max']

/** The efforts that a rejection names as supported, as the quirk `efforts low,high`; null without such a list. */
export const supportedEfforts = (message: string): `efforts ${string}` | null => {
  const list =
    /(?:supported|allowed|valid|accepted|possible|permitted) values(?: are| is)?:?([^.]+)|(?:must|should|input should) be (?:one of|either)?:?([^.]+)|expected one of:?([^.]+)/i.exec(
      message,
    )
  const words: readonly string[] =
    list
      ?.slice(1)
      .find(Boolean)
      ?.toLowerCase()
      .match(/[a-z]+/g) ?? []
  const efforts = ASCENDING.filter(word => words.includes(word))
  return efforts.length > 0 ? `efforts ${efforts.join(',')}` : null
}

/** The supported effort that is nearest to the wanted one, the higher of two. */
export const nearestEffort = (effort: string, quirks: Quirks): string => {
  const list = [...quirks].find(quirk => quirk.startsWith('efforts '))
  const efforts = list?.slice('efforts '.length).split(',') ?? []
  if (efforts.length === 0 || efforts.includes(effort) || !ASCENDING.includes(effort)) return effort
  const distance = (word: string) => Math.abs(ASCENDING.indexOf(word) - ASCENDING.indexOf(effort))
  return efforts.reduce((best, word) => (distance(word) <= distance(best) ? word : best))
}
