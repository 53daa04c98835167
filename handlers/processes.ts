/** Programs that run on beside a conversation: listed, read and ended by the person. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import type { Ctx } from '../lib/context.ts'
import { missing } from '../lib/errors.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Process } from '../lib/schema/process.ts'

const OneSession = z.object({ session_id: SessionId })
const OneProcess = OneSession.extend({ process_id: z.string().max(40) })

/** Those of a session that is there. */
const of = ({ app }: Ctx, sessionId: string) => {
  const processes = app.processes.of(app.sessions.require(sessionId).session_id)
  const views = () =>
    processes.list().map(({ session_id: process_id, command, ...rest }) => ({
      process_id,
      command: app.redact(command),
      ...rest,
    }))
  return {
    processes,
    views,
    find(id: string) {
      const found = views().find(({ process_id }) => process_id === id)
      if (!found) throw missing('There is no such process', { code: 'process_not_found' })
      return found
    },
  }
}

export const list = endpoint({
  summary:
    'Background programs of a session: running ones, and those that ended in the last half hour',
  input: OneSession,
  output: z.object({ session_id: z.string(), processes: z.array(Process) }),
  run: (ctx, { session_id }) => ({ session_id, processes: of(ctx, session_id).views() }),
})

const MAX_OUTPUT_CHARS = 50_000

export const log = endpoint({
  summary: 'The end of what a background program has printed',
  input: OneProcess,
  output: z.object({ process: Process, output: z.string(), truncated: z.boolean() }),
  run: (ctx, { session_id, process_id }) => {
    const { processes, find } = of(ctx, session_id)
    const process = find(process_id)
    const { text, left_out } = processes.read(process_id)
    return {
      process,
      // Before it is cut: half a secret is none that could be recognized.
      output: ctx.app.redact(text).slice(-MAX_OUTPUT_CHARS),
      truncated: left_out > 0 || text.length > MAX_OUTPUT_CHARS,
    }
  },
})

export const kill = endpoint({
  summary: 'End a background program with everything it has started',
  input: OneProcess,
  output: z.object({ ok: z.literal(true), process: Process }),
  run: async (ctx, { session_id, process_id }) => {
    const { processes, find } = of(ctx, session_id)
    find(process_id)
    await processes.kill(process_id)
    return { ok: true as const, process: find(process_id) }
  },
})
