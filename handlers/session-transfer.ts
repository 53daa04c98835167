/** Export of sessions as JSON, Markdown or HTML, and import from JSON or from the host agent. */
import { z } from 'zod'
import { type Ctx, endpoint, requireWorkspace } from '../lib/context.ts'
import type { Meta } from '../lib/sessions/entries.ts'
import { invalid, missing, UserError } from '../lib/errors.ts'
import { bytes } from '../lib/http/reply.ts'
import { SESSION_ID } from '../lib/schema/ids.ts'
import { Session } from '../lib/schema/session.ts'
import { fromExport, toHtml, toJson, toMarkdown } from '../lib/sessions/transfer.ts'

const FORMATS = {
  json: { type: 'application/json; charset=utf-8', ending: 'json', write: toJson },
  md: { type: 'text/markdown; charset=utf-8', ending: 'md', write: toMarkdown },
  html: { type: 'text/html; charset=utf-8', ending: 'html', write: toHtml },
}

export const exportSession = endpoint({
  access: 'read',
  summary: 'A session as a file: the full record, or readable text',
  input: z.object({
    session_id: z.string().default(''),
    format: z.enum(['json', 'md', 'html']).default('json'),
  }),
  raw: 'application/json',
  cache: 'no-store',
  run: (ctx, { session_id, format }) => {
    if (!session_id) throw invalid('session_id is required', { code: 'missing_fields' })
    const { session_id: id } = ctx.app.sessions.require(session_id)
    const { type, ending, write } = FORMATS[format]
    return bytes(write(ctx.app.sessions.load(id)), {
      type,
      headers: { 'Content-Disposition': `attachment; filename="agent-${id}.${ending}"` },
    })
  },
})

/** What only an owner chooses: folders that are no workspace of the profile, and tools that it does not have. */
const leaveOut = (ctx: Ctx, meta: Meta): void => {
  delete meta.enabled_toolsets
  try {
    requireWorkspace(ctx, ctx.home, meta.workspace ?? '')
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    delete meta.workspace
  }
}

export const importSession = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Import an exported session as a new one',
  input: z.looseObject({ messages: z.unknown().optional() }),
  output: z.object({ ok: z.literal(true), session: Session }),
  run: async (ctx, body) => {
    if (!Array.isArray(body.messages))
      throw invalid('JSON must contain a "messages" array', { code: 'import_invalid' })
    const imported = fromExport(body)
    if (!ctx.may('own', null)) leaveOut(ctx, imported.meta)
    const row = await ctx.app.turnStarter.importSession(ctx.home, imported)
    return { ok: true as const, session: await ctx.app.sessionViews.full(row.session_id) }
  },
})

export const importCli = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Import a command-line session; a repeated call updates it',
  input: z.object({ session_id: z.string().min(1) }),
  output: z.object({ session: Session, imported: z.boolean() }),
  run: async (ctx, { session_id }) => {
    if (!SESSION_ID.test(session_id))
      throw missing('Session not found in CLI store', { code: 'session_not_found' })
    const { id, imported } = ctx.app.hostSessions.importSession(ctx.home, session_id)
    return { session: { ...(await ctx.app.sessionViews.full(id)), is_cli_session: true }, imported }
  },
})
