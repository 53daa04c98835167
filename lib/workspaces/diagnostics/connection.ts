/** One language server: its process, JSON-RPC on its standard streams, and answers to what it asks. */
import { pathToFileURL } from 'node:url'
import { PassThrough } from 'node:stream'
import { asObject, asObjects, asString, type JsonObject } from '../../base/json.ts'
import type { PlacedProgram } from '../../agent/tool-services.ts'
import { killGroup, readThrottled, spawnGroup, terminateGroup } from '../../base/process.ts'

export type Published = { uri: string; version: number | null; items: unknown }

export type Connection = {
  /** Of `initialize`. */
  capabilities: JsonObject
  request: (method: string, params: unknown) => Promise<unknown>
  /** Never rejects. */
  notify: (method: string, params: unknown) => Promise<void>
  /** Set to receive `textDocument/publishDiagnostics`. */
  onPublish: (published: Published) => void
  /** Resolves with the reason when the server can no longer be asked. */
  ended: Promise<string>
  /** At a check: what it may send until the next one is bounded. */
  resetLimit: () => void
  stop: (how: 'ask' | 'kill') => void
}

/** It exited before it had answered; `isMissing`: there is no such program. */
export class NotStarted extends Error {
  isMissing: boolean
  constructor(message: string, isMissing: boolean) {
    super(message)
    this.isMissing = isMissing
  }
}

const INITIALIZE_MS = 60_000
/** Between two checks. */
const MAX_BYTES = 16 * 1024 * 1024
const KILL_AFTER_MS = 2_000
const TAIL_CHARS = 300
/** From its closed input to its exit: writes fail a moment before the exit is known. */
const EXIT_WAIT_MS = 2_000

/** Such as EPIPE; errors of the protocol have numbers or no code. */
const isSystemError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'

const CLIENT_CAPABILITIES = {
  workspace: {
    configuration: true,
    workspaceFolders: true,
    // Without it, servers watch the files themselves or not at all.
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  textDocument: {
    synchronization: { dynamicRegistration: false },
    publishDiagnostics: { versionSupport: true },
    diagnostic: { dynamicRegistration: false, relatedDocumentSupport: false },
  },
}

/** The setting at a dotted path, which servers call a section; null when there is none. */
const sectionOf = (options: JsonObject, section: string): unknown =>
  section.split('.').reduce<unknown>((at, key) => asObject(at)[key], options) ?? null

/** Rejects with `NotStarted` when it does not answer the first request. The signal kills it, at any time. */
export const connect = async (
  { file, args, ...placed }: PlacedProgram,
  root: string,
  options: JsonObject,
  signal: AbortSignal,
): Promise<Connection> => {
  const rpc = await import('vscode-languageserver-protocol/node')
  signal.throwIfAborted()
  const child = spawnGroup(file, args, { ...placed, stdio: ['pipe', 'pipe', 'pipe'] })
  let tail = ''
  let received = 0
  const limited = new PassThrough()
  let endReason: string | undefined
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<string>()
  const end = (reason: string) => {
    endReason ??= reason
    resolveEnded(endReason)
  }
  const kill = (reason: string) => {
    end(reason)
    killGroup(child, 'SIGKILL')
  }
  readThrottled(child.stdout, bytes => {
    received += bytes.length
    if (received > MAX_BYTES) kill('it sent too much')
    else limited.write(bytes)
  })
  readThrottled(child.stderr, bytes => {
    tail = (tail + bytes.toString()).slice(-TAIL_CHARS)
  })
  // EPIPE: it may exit while a message is written; the exit is reported.
  child.stdin.on('error', () => undefined)
  const rpcConnection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(limited),
    new rpc.StreamMessageWriter(child.stdin),
  )
  let isMissing = false
  let hasExited = false
  child.once('error', error => {
    isMissing = true
    end(error.message)
  })
  child.once('exit', code => {
    hasExited = true
    isMissing = code === 127
    // What it started may still run, and keep the pipe open.
    killGroup(child, 'SIGKILL')
  })
  // With everything that it wrote.
  child.once('close', (code, signal) => {
    const last = tail.trim().split('\n').at(-1)
    end(`it exited (${signal ?? code})${last ? `: ${last}` : ''}`)
  })
  child.stdin.once('close', () => {
    const timer = setTimeout(kill, EXIT_WAIT_MS, 'it closed its input')
    void ended.then(() => clearTimeout(timer))
  })
  rpcConnection.onError(([error, message]) => {
    // A failed write is reported by the end of the process or of its input.
    if (!message && !isSystemError(error))
      kill(`it sent something that is not a message (${error.message})`)
  })
  const abort = () => connection.stop('kill')
  signal.addEventListener('abort', abort, { once: true })
  void ended.then(() => {
    rpcConnection.dispose()
    limited.destroy()
  })

  /** Errors that the library gives in place of an answer. */
  const notSent = new Set<number>([
    rpc.ErrorCodes.MessageWriteError,
    rpc.ErrorCodes.PendingResponseRejected,
  ])
  const connection: Connection = {
    capabilities: {},
    async request(method, params) {
      try {
        return await rpcConnection.sendRequest(method, params)
      } catch (error) {
        const isAnswer = error instanceof rpc.ResponseError && !notSent.has(error.code)
        // It cannot be asked any more, and why is known in a moment.
        if (!isAnswer) await ended
        throw endReason === undefined ? error : new Error(endReason)
      }
    },
    async notify(method, params) {
      try {
        await rpcConnection.sendNotification(method, params)
      } catch {
        // It has ended, or its input has, which `ended` reports.
      }
    },
    onPublish: () => undefined,
    ended,
    resetLimit: () => {
      received = 0
    },
    stop(how) {
      end('it was stopped')
      if (hasExited) return
      if (how === 'kill') killGroup(child, 'SIGKILL')
      else terminateGroup(child, KILL_AFTER_MS)
    },
  }
  const folder = { uri: pathToFileURL(root).href, name: 'workspace' }
  rpcConnection.onRequest((method, params) => {
    const input = asObject(params)
    if (method === 'workspace/configuration')
      return asObjects(input.items).map(({ section }) => sectionOf(options, asString(section)))
    if (method === 'workspace/workspaceFolders') return [folder]
    // Only the agent changes files.
    if (method === 'workspace/applyEdit') return { applied: false }
    if (ANSWERED_NULL.has(method)) return null
    return new rpc.ResponseError(rpc.ErrorCodes.MethodNotFound, `No ${method} here`)
  })
  rpcConnection.onNotification((method, params) => {
    if (method !== 'textDocument/publishDiagnostics') return
    const { uri, version, diagnostics } = asObject(params)
    connection.onPublish({
      uri: asString(uri),
      version: typeof version === 'number' ? version : null,
      items: diagnostics,
    })
  })
  rpcConnection.listen()

  const timer = setTimeout(kill, INITIALIZE_MS, 'it did not start in a minute')
  try {
    const answer = await connection.request('initialize', {
      // Null: in a sandbox, our process id is that of another process or of none.
      processId: null,
      rootUri: folder.uri,
      workspaceFolders: [folder],
      capabilities: CLIENT_CAPABILITIES,
      initializationOptions: options,
    })
    connection.capabilities = asObject(asObject(answer).capabilities)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    kill(reason)
    throw new NotStarted(reason, isMissing)
  } finally {
    clearTimeout(timer)
  }
  void connection.notify('initialized', {})
  return connection
}

const ANSWERED_NULL = new Set([
  'client/registerCapability',
  'client/unregisterCapability',
  'window/workDoneProgress/create',
  'window/showMessageRequest',
  'workspace/diagnostic/refresh',
  'workspace/semanticTokens/refresh',
  'workspace/inlayHint/refresh',
  'workspace/codeLens/refresh',
])
