/** Derives a session's usage rows for the catalog from its journal. */
import { asCount } from '../base/json.ts'
import { cacheTokens, type Usage } from '../schema/usage.ts'
import type { JournalEntry, Meta } from './entries.ts'
import type { Turn } from './fold.ts'

/** Usage of a turn that ended. `n` is its line number; 0 is usage from before the journal. */
export type UsageRow = {
  n: number
  /** Seconds since 1970. */
  at: number
  model: string
  provider: string
  input_tokens: number
  output_tokens: number
  cost: number
  cache_read_tokens: number
  cache_write_tokens: number
}

type Amount = Exclude<keyof UsageRow, 'n' | 'at' | 'model' | 'provider'>

type Served = Pick<Turn, 'stream_id' | 'model' | 'provider'>

/** Usage of the turns that end in these lines; `open` is the turn that started before them. */
export const usageOf = (open: Served | null, entries: readonly JournalEntry[]): UsageRow[] => {
  const rows: UsageRow[] = []
  let turn = open
  for (const entry of entries) {
    if (entry.t === 'turn_started') turn = entry
    if (entry.t !== 'turn_ended') continue
    const served = turn?.stream_id === entry.stream_id ? turn : null
    rows.push({
      n: entry.n,
      at: entry.at,
      model: served?.model ?? '',
      provider: served?.provider ?? '',
      input_tokens: asCount(entry.usage?.input_tokens),
      output_tokens: asCount(entry.usage?.output_tokens),
      cost: asCount(entry.usage?.estimated_cost),
      cache_read_tokens: asCount(entry.usage?.cache_read_tokens),
      cache_write_tokens: asCount(entry.usage?.cache_write_tokens),
    })
  }
  return rows
}

/**
 * Usage of a whole journal. The totals of an imported session are larger than the sum of its turns: the rest was used
 * before the import and is dated with the session's time then. Without such a time it is not counted.
 */
export const wholeUsage = (
  meta: Meta,
  turns: readonly JournalEntry[],
  begunAt: unknown,
): UsageRow[] => {
  const rows = usageOf(null, turns)
  const rest = (total: unknown, of: Amount): number =>
    Math.max(
      0,
      rows.reduce((sum, row) => sum - row[of], asCount(total)),
    )
  const before = {
    input_tokens: rest(meta.input_tokens, 'input_tokens'),
    output_tokens: rest(meta.output_tokens, 'output_tokens'),
    cost: rest(meta.estimated_cost, 'cost'),
    cache_read_tokens: rest(meta.cache_read_tokens, 'cache_read_tokens'),
    cache_write_tokens: rest(meta.cache_write_tokens, 'cache_write_tokens'),
  }
  if (typeof begunAt !== 'number' || before.input_tokens + before.output_tokens === 0) return rows
  const model = typeof meta.model === 'string' ? meta.model : ''
  return [{ n: 0, at: begunAt, model, provider: '', ...before }, ...rows]
}

export type Totals = Pick<
  Usage,
  'input_tokens' | 'output_tokens' | 'estimated_cost' | 'cache_read_tokens' | 'cache_write_tokens'
>

/** The totals of a session after more was used, as absolute numbers. */
export const addToTotals = (row: Totals, used: Totals): Totals => ({
  input_tokens: row.input_tokens + used.input_tokens,
  output_tokens: row.output_tokens + used.output_tokens,
  estimated_cost: row.estimated_cost + used.estimated_cost,
  ...cacheTokens(
    (row.cache_read_tokens ?? 0) + (used.cache_read_tokens ?? 0),
    (row.cache_write_tokens ?? 0) + (used.cache_write_tokens ?? 0),
  ),
})

/** The source of a session, as named in the host agent's reports. */
export const sourceOf = ({ source_tag, is_cli_session }: Meta): string => {
  if (typeof source_tag === 'string' && /^[\w-]{1,40}$/.test(source_tag)) return source_tag
  return is_cli_session === true ? 'cli' : 'webui'
}
