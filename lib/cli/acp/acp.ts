/** `agent-webui acp`: our engine as an agent for editors, over the Agent Client Protocol on standard input and output. */
import { Readable, Writable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { redact } from '../../base/redact/redact.ts'
import { messageOf, UserError } from '../../errors.ts'
import { openRecordedSessions } from '../recorded-sessions.ts'
import { reserveOutput } from '../reserve-output.ts'
import type { CommandContext } from '../run.ts'
import { AcpMethods, SetupError, toFork } from './methods.ts'
import { TurnFailure } from './session.ts'

/** Large enough for a prompt with several images. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const OK = 0

/** JSON-RPC codes: the protocol's own, and those of JSON-RPC 2.0. */
const CODES = { auth: -32000, missing: -32002, invalid: -32602, busy: -32600, internal: -32603 }

const codeOf = (error: unknown): number => {
  if (error instanceof SetupError) return CODES.auth
  if (!(error instanceof UserError)) return CODES.internal
  if (error.kind === 'missing') return CODES.missing
  if (error.kind === 'conflict') return CODES.busy
  return error.kind === 'invalid' ? CODES.invalid : CODES.internal
}

/** Serves until the client disconnects. Returns the exit code. */
export const acp = async (
  { profile, model }: { profile: string | null; model: string | null },
  context: CommandContext,
): Promise<number> => {
  const { config, terminal, onInterrupt } = context
  const log = (line: string): void => terminal.note(redact(line))
  const sdk = await import('@agentclientprotocol/sdk')
  const sessions = await openRecordedSessions(context, profile, 'acp', {
    observer: {
      event: (event, id) => methods.get(id)?.onEvent(event),
      request: (request, id) => methods.get(id)?.withClient(request) ?? request,
      // A warning about MCP servers or shell files names no session: all running ones show it.
      warning: message => {
        const running = methods.all().filter(session => session.isRunning)
        if (running.length === 0) log(message)
        for (const session of running) session.warn(message)
      },
      approve: async (ask, timeoutMs) =>
        methods.get(ask.session_id)?.approve(ask, timeoutMs) ?? 'deny',
      clarify: async (question, timeoutMs) =>
        methods.get(question.session_id)?.clarify(question, timeoutMs) ?? null,
    },
    sessionServers: id => methods.get(id)?.servers,
    problem: log,
  })
  const methods = new AcpMethods({
    ...{ sessions, model, log, env: config.env, capabilities: {} },
    addon: context.addon,
    version: await context.version(),
    // Requests come when it is open.
    client: () => connection.client,
  })

  /** Errors of a method become JSON-RPC errors with our sentences. */
  const serve =
    <P, R>(run: (params: P, signal: AbortSignal) => R | Promise<R>) =>
    async ({ params, signal }: { params: P; signal: AbortSignal }): Promise<R> => {
      try {
        return await run(params, signal)
      } catch (error) {
        const isExpected =
          error instanceof UserError || error instanceof TurnFailure || error instanceof SetupError
        if (!isExpected) log(String(error instanceof Error ? error.stack : error))
        const data = error instanceof TurnFailure ? { type: error.failure.type } : undefined
        throw new sdk.RequestError(codeOf(error), redact(messageOf(error)), data)
      }
    }

  const output = reserveOutput()
  const connection = sdk
    .agent({ name: 'agent-webui' })
    .onRequest('initialize', serve(methods.initialize))
    .onRequest('authenticate', serve(methods.authenticate))
    .onRequest('session/new', serve(methods.create))
    .onRequest('session/load', serve(methods.load))
    .onRequest('session/resume', serve(methods.resume))
    .onRequest('session/fork', toFork, serve(methods.fork))
    .onRequest('session/list', serve(methods.list))
    .onRequest('session/close', serve(methods.closeSession))
    .onRequest('session/delete', serve(methods.remove))
    .onRequest('session/set_mode', serve(methods.setMode))
    .onRequest('session/set_config_option', serve(methods.setOption))
    .onRequest('session/prompt', serve(methods.prompt))
    .onNotification('session/cancel', ({ params }) => methods.cancel(params))
    .connect(
      sdk.ndJsonStream(
        Writable.toWeb(output) as WritableStream<Uint8Array>,
        Readable.toWeb(process.stdin) as ReadableStream as globalThis.ReadableStream<Uint8Array>,
        { maxMessageBytes: MAX_MESSAGE_BYTES },
      ),
    )
  const interrupted = Promise.withResolvers<number>()
  const removeListener = onInterrupt(interrupted.resolve)
  // A client that reads nothing any more is gone, although it keeps the input open.
  output.once('close', () => interrupted.resolve(OK))
  try {
    return await Promise.race([connection.closed.then(() => OK), interrupted.promise])
  } finally {
    removeListener()
    for (const session of methods.all()) methods.close(session)
    connection.close()
    await sessions.close()
  }
}
