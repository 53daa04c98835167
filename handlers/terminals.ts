/**
 * Terminals of a chat's folder, which all chats in it share. Reading is a POST like everything else here: programs that the agent started may not send one,
 * so they can neither watch a terminal nor type into it, and API tokens open none of these routes.
 */
import { withCodes } from '../lib/base/sentences.ts'
import { Sentences } from '../lib/schema/sentence.ts'
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import type { Ctx } from '../lib/context.ts'
import { OneSession } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Terminal, TerminalOutput, TerminalSize } from '../lib/schema/terminal.ts'

const MAX_INPUT_CHARS = 100_000

const OneTerminal = OneSession.extend({ terminal_id: z.string().max(40) })
/** A tab of a browser, by a name of its own choice. */
const ClientName = z.string().min(1).max(40)
/** A position in the output, or the number of an input. */
const Count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

/** Terminals of the folder that a session works in, for its profile. Throws a 404 when the session does not exist. */
const of = ({ app, home }: Ctx, sessionId: string) => {
  const { home: own, workspace } = app.files.areas.sessionOf(home, sessionId)
  return app.terminals.of(own.name, workspace)
}

export const list = endpoint({
  access: 'own',
  summary: 'Terminals of the folder of a session, and whether one can be opened on this server',
  input: OneSession,
  output: z.object({
    terminals: z.array(Terminal),
    problem: z.string().optional(),
    sentences: Sentences.optional(),
  }),
  run: (ctx, { session_id }) => {
    const problem = ctx.app.terminals.problem()
    return withCodes({ terminals: of(ctx, session_id).list(), ...(problem && { problem }) })
  },
})

export const open = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Open a shell in the workspace of a session',
  input: OneSession.extend(TerminalSize.shape),
  output: z.object({ terminal: Terminal }),
  run: async (ctx, { session_id, cols, rows }) => {
    const terminals = of(ctx, session_id)
    const { root } = ctx.app.files.areas.of(ctx.home, session_id)
    const shell = ctx.app.personShell(ctx.home)
    return { terminal: await terminals.open({ ...shell, cwd: root, size: { cols, rows } }) }
  },
})

export const read = endpoint({
  access: 'own',
  summary: 'Output of a terminal after a position; waits up to 20 seconds for some',
  input: OneTerminal.extend({ after: Count }),
  output: TerminalOutput,
  async run(ctx, { session_id, terminal_id, after }) {
    const output = await of(ctx, session_id).read(terminal_id, { after, signal: ctx.signal })
    // The device may have been signed out, or the person have become a member, while it waited.
    ctx.admitAgain()
    return output
  },
})

export const input = endpoint({
  access: 'own',
  summary: 'Type into a terminal; an input that is repeated under the same number is written once',
  input: OneTerminal.extend({
    client: ClientName,
    n: Count.min(1),
    data: z.string().min(1).max(MAX_INPUT_CHARS),
  }),
  output: Ok,
  run: (ctx, { session_id, terminal_id, ...input }) => {
    of(ctx, session_id).write(terminal_id, input)
    return ok
  },
})

export const resize = endpoint({
  access: 'own',
  summary: 'Change the size of a terminal',
  input: OneTerminal.extend(TerminalSize.shape),
  output: Ok,
  run: async (ctx, { session_id, terminal_id, cols, rows }) => {
    await of(ctx, session_id).resize(terminal_id, { cols, rows })
    return ok
  },
})

export const close = endpoint({
  access: 'own',
  summary: 'Close a terminal and end everything that runs in it',
  input: OneTerminal,
  output: Ok,
  run: async (ctx, { session_id, terminal_id }) => {
    await of(ctx, session_id).close(terminal_id)
    return ok
  },
})
