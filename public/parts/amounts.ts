/** Formats tokens and costs. */
import { pageLocale, withoutMarks } from '../strings/t.ts'

export const formatTokens = (count: number, locale = pageLocale()): string =>
  count < 10_000
    ? count.toLocaleString(locale)
    : count.toLocaleString(locale, { notation: 'compact', maximumFractionDigits: 1 })

/** Small amounts keep four digits. */
export const formatCost = (dollars: number, locale = pageLocale()): string =>
  withoutMarks(
    dollars.toLocaleString(locale, {
      style: 'currency',
      currency: 'USD',
      minimumFractionDigits: 2,
      maximumFractionDigits: dollars > 0 && dollars < 0.1 ? 4 : 2,
    }),
  )

type Input = { input_tokens: number; cache_read_tokens?: number | undefined }

/** Percentage of the input that came from the provider's prompt cache; null when there is none to show. */
export const cachedPercent = ({ input_tokens, cache_read_tokens = 0 }: Input): number | null => {
  const percent = Math.round((100 * cache_read_tokens) / Math.max(1, input_tokens))
  return percent > 0 ? Math.min(100, percent) : null
}
