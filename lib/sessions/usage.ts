/** Derives a session's usage rows for the catalog from its journal. */
import type { Entry, Meta } from './entries.ts'
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
}

type Served = Pick<Turn, 'stream_id' | 'model' | 'provider'>

const amount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0

/** Usage of the turns that end in these lines; `open` is the turn that started before them. */
export const usageOf = (open: Served | null, entries: readonly Entry[]): UsageRow[] => {
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
      input_tokens: amount(entry.usage?.input_tokens),
      output_tokens: amount(entry.usage?.output_tokens),
      cost: amount(entry.usage?.estimated_cost),
    })
  }
  return rows
}

/**
 * Usage of a whole journal. The totals of an imported session are larger than the sum of its turns: the rest was used
 * before the import and is dated with the session's time then. Without such a time it is not counted.
 */
export const wholeUsage = (meta: Meta, turns: readonly Entry[], begunAt: unknown): UsageRow[] => {
  const rows = usageOf(null, turns)
  const rest = (total: unknown, of: 'input_tokens' | 'output_tokens' | 'cost'): number =>
    rows.reduce((left, row) => left - row[of], amount(total))
  const input_tokens = Math.max(0, rest(meta.input_tokens, 'input_tokens'))
  const output_tokens = Math.max(0, rest(meta.output_tokens, 'output_tokens'))
  const cost = Math.max(0, rest(meta.estimated_cost, 'cost'))
  if (typeof begunAt !== 'number' || input_tokens + output_tokens === 0) return rows
  const model = typeof meta.model === 'string' ? meta.model : ''
  return [{ n: 0, at: begunAt, model, provider: '', input_tokens, output_tokens, cost }, ...rows]
}

/** The source of a session, as named in the host agent's reports. */
export const sourceOf = ({ source_tag, is_cli_session }: Meta): string => {
  if (typeof source_tag === 'string' && /^[\w-]{1,40}$/.test(source_tag)) return source_tag
  return is_cli_session === true ? 'cli' : 'webui'
}
