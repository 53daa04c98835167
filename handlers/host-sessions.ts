/** Changes of the host agent's command-line sessions, for clients that do not use GET /api/events. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { missing, unavailable } from '../lib/errors.ts'
import { FALLBACK_POLL_MS } from '../lib/sessions/host-db/host-session-watcher.ts'
import { reply, eventStream } from '../lib/http/reply.ts'
import { comment, frame } from '../lib/base/sse.ts'
import type { SessionRow } from '../lib/schema/session.ts'

const NOT_ENABLED = 'agent sessions not enabled'
const WATCHER_OFF = 'watcher not started'

const toShort = ({ session_id, title, model, message_count, ...row }: SessionRow) => ({
  session_id,
  title,
  model,
  message_count,
  created_at: row.created_at,
  updated_at: row.updated_at,
  source: row.source_tag,
})

type HostSessionsChange = { id: number; rows: readonly SessionRow[]; first: boolean }

const toFrame = ({ id, rows, first }: HostSessionsChange): string =>
  frame(
    'sessions_changed',
    first ? { sessions: rows } : { type: 'sessions_changed', sessions: rows.map(toShort) },
    id,
  )

async function* frames(changes: AsyncIterable<HostSessionsChange | null>): AsyncGenerator<string> {
  for await (const change of changes) yield change ? toFrame(change) : comment('keepalive')
}

export const events = endpoint({
  access: 'read',
  summary: 'Command-line sessions as they change; with `probe`, whether they are watched',
  input: z.object({ probe: z.string().optional() }),
  raw: 'text/event-stream',
  run: (ctx, { probe }) => {
    const { hostSessionWatcher: gateway, settings } = ctx.app
    const enabled = settings.get().show_cli_sessions
    const alive = gateway.isAlive(ctx.home)
    const error = enabled ? (alive ? undefined : WATCHER_OFF) : NOT_ENABLED
    if (['1', 'true', 'yes'].includes(probe?.toLowerCase() ?? '')) {
      const about = { enabled, fallback_poll_ms: FALLBACK_POLL_MS, watcher_running: alive }
      return error
        ? reply({ ...about, ok: false, error }, { status: enabled ? 503 : 404, cache: 'no-store' })
        : reply({ ...about, ok: true })
    }
    if (error) throw (enabled ? unavailable : missing)(error)
    return eventStream(frames(gateway.read(ctx.home, ctx.signal)))
  },
})
