/** The row of a session in lists: compact, redacted, as sent to clients. */
import { asCount, stringOrNull } from '../base/json.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Summary } from './fold.ts'

/** State of a session that only this process knows and that is not in its file. */
export type LiveState = {
  active_stream_id: string | null
  /** Pending questions; null: as many as the journal has open. */
  waiting: number | null
}

export const NO_LIVE_STATE: LiveState = { active_stream_id: null, waiting: null }

export const UNTITLED = 'Untitled'

/** Additional record keys that lists need; others are in the full record only. */
const EXTRA = [
  'is_cli_session',
  '_cli_origin',
  'source_tag',
  'parent_session_id',
  'llm_title_generated',
  'yolo',
  'mode',
  'cache_read_tokens',
  'cache_write_tokens',
] as const

const text = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value.trim() !== '' ? value : fallback
const index = (value: unknown): number | null => (Number.isInteger(value) ? Number(value) : null)

export const toRow = (
  summary: Summary,
  live: LiveState,
  redact: (text: string) => string,
): SessionRow => {
  const { meta, turn } = summary
  return {
    session_id: summary.id,
    title: redact(text(meta.title, UNTITLED)),
    workspace: text(meta.workspace, ''),
    model: stringOrNull(meta.model),
    message_count: summary.count,
    created_at: summary.created_at,
    updated_at: summary.updated_at,
    pinned: meta.pinned === true,
    archived: meta.archived === true,
    project_id: stringOrNull(meta.project_id),
    profile: text(meta.profile, 'default'),
    input_tokens: asCount(meta.input_tokens),
    output_tokens: asCount(meta.output_tokens),
    estimated_cost: asCount(meta.estimated_cost),
    personality: stringOrNull(meta.personality),
    compression_anchor_visible_idx: index(meta.compression_anchor_visible_idx),
    compression_anchor_message_key: meta.compression_anchor_message_key ?? null,
    active_stream_id: live.active_stream_id,
    is_streaming: live.active_stream_id !== null,
    waiting: live.waiting ?? summary.questions.length,
    last_turn: live.active_stream_id === null ? (turn?.how ?? null) : null,
    ...(live.active_stream_id === null && turn?.limit && { last_turn_limit: turn.limit }),
    ...(live.active_stream_id === null && turn?.missed && { last_turn_missed: true as const }),
    preview: redact(summary.preview),
    ...Object.fromEntries(EXTRA.filter(key => key in meta).map(key => [key, meta[key]])),
  }
}

/** Untitled and without messages: not in any list. */
export const isEmptyRow = (row: SessionRow): boolean =>
  row.title === UNTITLED && row.message_count === 0
