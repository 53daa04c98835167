/** `agent-webui acp`: our engine as an agent for editors, over the Agent Client Protocol on standard input and output. */
import { Readable, Writable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type * as Sdk from '@agentclientprotocol/sdk'
import type { Config } from '../../config.ts'
import { messageOf, UserError } from '../../errors.ts'
import { redact } from '../../base/redact/redact.ts'
import type { ServeArguments } from '../arguments.ts'
import { openHome } from '../open-home.ts'
import { createRecordedSessions } from '../recorded-sessions.ts'
import type { Interrupts } from '../run.ts'
import { reserveOutput } from '../reserve-output.ts'
import { createTerminalEngine } from '../terminal-engine.ts'
import { createMethods, type Methods, SetupError, toFork, toSetModel } from './methods.ts'
import { TurnFailure } from './session.ts'

export type AcpOptions = {
  config: Config
  addon: string | undefined
  version: string
  log: (line: string) => void
  onInterrupt: Interrupts
}

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
  { profile, model }: ServeArguments,
  { config, addon, version, log: write, onInterrupt }: AcpOptions,
): Promise<number> => {
  const log = (line: string): void => write(redact(line))
  const sdk = await import('@agentclientprotocol/sdk')
  let methods: Methods | null = null
  const sessionOf = (id: string) => methods?.sessions.get(id)
  const engine = await createTerminalEngine(config, {
    addon,
    version,
    observer: {
      event: (event, id) => sessionOf(id)?.onEvent(event),
      request: (request, id) => sessionOf(id)?.withClient(request) ?? request,
      // A warning about MCP servers or shell files names no session: all running ones show it.
      warning: message => {
        const running = methods?.sessions.all().filter(session => session.isRunning) ?? []
        if (running.length === 0) log(message)
        for (const session of running) session.warn(message)
      },
      prompt: (id, text) => sessions.recordPrompt(id, text),
      message: (id, message) => sessions.recordMessage(id, message),
      approve: async (ask, timeoutMs) =>
        sessionOf(ask.session_id)?.approve(ask, timeoutMs) ?? 'deny',
      clarify: async (question, timeoutMs) =>
        sessionOf(question.session_id)?.clarify(question, timeoutMs) ?? null,
    },
    sessionServers: id => sessionOf(id)?.servers,
    problem: line => log(line),
  })
  const home = await openHome(engine, profile)
  const sessions = createRecordedSessions({
    engine,
    home,
    source: 'acp',
    addon,
    onError: (error, file) => log(`Couldn't save this session in ${file}: ${messageOf(error)}`),
  })

  /** Runs a method; its errors become JSON-RPC errors with our sentences. */
  const serve =
    <P, R>(run: (methods: Methods, params: P, signal: AbortSignal) => R | Promise<R>) =>
    async ({ params, signal }: { params: P; signal: AbortSignal }): Promise<R> => {
      try {
        if (!methods) throw new Error('The connection is not open yet.')
        return await run(methods, params, signal)
      } catch (error) {
        const isExpected =
          error instanceof UserError || error instanceof TurnFailure || error instanceof SetupError
        if (!isExpected) log(String(error instanceof Error ? error.stack : error))
        const data = error instanceof TurnFailure ? { type: error.failure.type } : undefined
        throw new sdk.RequestError(codeOf(error), redact(messageOf(error)), data)
      }
    }

  const app = sdk
    .agent({ name: 'agent-webui' })
    .onRequest(
      'initialize',
      serve((each, params) => each.initialize(params)),
    )
    .onRequest(
      'authenticate',
      serve((each, params) => each.authenticate(params)),
    )
    .onRequest(
      'session/new',
      serve((each, params) => each.create(params)),
    )
    .onRequest(
      'session/load',
      serve((each, params) => each.load(params)),
    )
    .onRequest(
      'session/resume',
      serve((each, params) => each.resume(params)),
    )
    .onRequest(
      'session/fork',
      toFork,
      serve((each, params) => each.fork(params)),
    )
    .onRequest(
      'session/list',
      serve((each, params) => each.list(params)),
    )
    .onRequest(
      'session/close',
      serve((each, params) => each.closeSession(params)),
    )
    .onRequest(
      'session/delete',
      serve((each, params) => each.remove(params)),
    )
    .onRequest(
      'session/set_mode',
      serve((each, params) => each.setMode(params)),
    )
    .onRequest(
      'session/set_config_option',
      serve((each, params) => each.setOption(params)),
    )
    .onRequest(
      'session/prompt',
      serve((each, params, signal) => each.prompt(params, signal)),
    )
    .onRequest(
      'session/set_model',
      toSetModel,
      serve((each, params) => each.setModel(params)),
    )
    .onNotification('session/cancel', ({ params }) => methods?.cancel(params))
  let capabilities: Sdk.ClientCapabilities = {}
  app.onConnect(({ client }) => {
    methods = createMethods({
      engine,
      home,
      sessions,
      addon,
      version,
      model,
      client,
      env: config.env,
      log,
      capabilities: () => capabilities,
      setCapabilities: given => {
        capabilities = given
      },
    })
  })

  const output = reserveOutput()
  const connection = app.connect(
    sdk.ndJsonStream(
      Writable.toWeb(output) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream as globalThis.ReadableStream<Uint8Array>,
      { maxMessageBytes: MAX_MESSAGE_BYTES },
    ),
  )
  const closeAll = () => {
    for (const session of methods?.sessions.all() ?? []) methods?.sessions.close(session)
  }
  const interrupted = Promise.withResolvers<number>()
  const removeListener = onInterrupt(interrupted.resolve)
  // A client that reads nothing any more is gone, although it keeps the input open.
  output.once('close', () => interrupted.resolve(OK))
  try {
    return await Promise.race([connection.closed.then(() => OK), interrupted.promise])
  } finally {
    removeListener()
    closeAll()
    connection.close()
    await engine.close()
    await sessions.flush()
  }
}
