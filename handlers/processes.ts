/** Background processes of a session: list them, read their output, kill them. */
import { z } from 'zod'
import { redact } from '../lib/base/redact/redact.ts'
import { endpoint, type Ctx } from '../lib/context.ts'
import { missing } from '../lib/errors.ts'
import { SessionId } from '../lib/schema/ids.ts'

/** A background process of a session. */
const Process = z
  .object({
    process_id: z.string(),
    command: z.string(),
    cwd: z.string(),
    pid: z.number(),
    status: z.enum(['running', 'exited']),
    exit_code: z.number().nullable(),
    /** Seconds. */
    uptime: z.number(),
    started_at: z.number(),
  })
  .meta({ id: 'Process' })

const OneSession = z.object({ session_id: SessionId })
const OneProcess = OneSession.extend({ process_id: z.string().max(40) })

/** Processes of a session. Throws a 404 when the session does not exist. */
const of = ({ app }: Ctx, sessionId: string) => {
  const processes = app.processes.of(app.sessions.require(sessionId).session_id)
  const views = () =>
    processes.list().map(({ session_id: process_id, command, ...rest }) => ({
      process_id,
      command: redact(command),
      ...rest,
    }))
  return {
    processes,
    views,
    find(id: string) {
      const view = views().find(({ process_id }) => process_id === id)
      if (!view) throw missing('Process not found', { code: 'process_not_found' })
      return view
    },
  }
}

export const list = endpoint({
  access: 'read',
  summary:
    'Background processes of a session: running ones, and those that ended in the last half hour',
  input: OneSession,
  output: z.object({ session_id: z.string(), processes: z.array(Process) }),
  run: (ctx, { session_id }) => ({ session_id, processes: of(ctx, session_id).views() }),
})

const MAX_OUTPUT_CHARS = 50_000

export const log = endpoint({
  access: 'read',
  summary: 'The last output of a background process',
  input: OneProcess,
  output: z.object({ process: Process, output: z.string(), truncated: z.boolean() }),
  run: (ctx, { session_id, process_id }) => {
    const { processes, find } = of(ctx, session_id)
    const process = find(process_id)
    const { text, left_out } = processes.read(process_id)
    return {
      process,
      // Redacted before it is cut: half a secret would not be recognized.
      output: redact(text).slice(-MAX_OUTPUT_CHARS),
      truncated: left_out > 0 || text.length > MAX_OUTPUT_CHARS,
    }
  },
})

export const kill = endpoint({
  access: 'work',
  summary: 'Kill a background process with its process group',
  input: OneProcess,
  output: z.object({ ok: z.literal(true), process: Process }),
  run: async (ctx, { session_id, process_id }) => {
    const { processes, find } = of(ctx, session_id)
    find(process_id)
    await processes.kill(process_id)
    return { ok: true as const, process: find(process_id) }
  },
})
