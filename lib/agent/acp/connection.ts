/** The ACP connection to an agent's process: initializes it, checks the protocol version, and routes its requests to services. */
import type * as acp from '@agentclientprotocol/sdk'
import type { AgentProcess } from './agent-process.ts'
import { withTimeout } from './timeout.ts'
import { ndjsonStream } from './ndjson-stream.ts'
import { InitializeResponse } from './updates.ts'

/** Client methods that an agent may call. A thrown message is sent to the agent. */
export type ClientServices = {
  permission: (request: acp.RequestPermissionRequest) => Promise<acp.RequestPermissionResponse>
  read: (request: acp.ReadTextFileRequest) => Promise<acp.ReadTextFileResponse>
  write: (request: acp.WriteTextFileRequest) => Promise<acp.WriteTextFileResponse>
  terminal: (request: acp.CreateTerminalRequest) => Promise<acp.CreateTerminalResponse>
  output: (request: acp.TerminalOutputRequest) => acp.TerminalOutputResponse
  wait: (request: acp.WaitForTerminalExitRequest) => Promise<acp.WaitForTerminalExitResponse>
  kill: (request: acp.KillTerminalRequest) => acp.KillTerminalResponse
  release: (request: acp.ReleaseTerminalRequest) => acp.ReleaseTerminalResponse
  form: (request: acp.CreateElicitationRequest) => Promise<acp.CreateElicitationResponse>
}

export type ConnectOptions = {
  child: AgentProcess
  /** Display name. */
  name: string
  version: string
  startMs: number
  /** False: it uses its own files and terminals. */
  servesFiles?: boolean
  services: ClientServices
  onUpdate: (params: unknown) => void
  log: (line: string) => void
}

/** The supported protocol version. The next draft has neither files nor terminals. */
const PROTOCOL = 1

const capabilitiesFor = (servesFiles: boolean): acp.ClientCapabilities => ({
  fs: { readTextFile: servesFiles, writeTextFile: servesFiles },
  terminal: servesFiles,
  elicitation: { form: {} },
  // A terminal of this machine is none of the agent's on another one.
  ...(servesFiles && { auth: { terminal: true }, _meta: { 'terminal-auth': true } }),
  session: { configOptions: { boolean: {} }, notices: {} },
})

export type Connection = Awaited<ReturnType<typeof connectAgent>>

export const connectAgent = async (options: ConnectOptions) => {
  const { child, name, services } = options
  // Loaded on first use, to keep the service's startup fast.
  const sdk = await import('@agentclientprotocol/sdk')

  /** Error messages are meant for the agent's model, so they are sent unchanged. */
  const serve =
    <P, R>(run: (request: P) => R | Promise<R>) =>
    async ({ params }: { params: P }): Promise<R> => {
      try {
        return await run(params)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        throw new sdk.RequestError(-32603, message, { details: message })
      }
    }

  const connection = sdk
    .client({ name: 'agent-webui' })
    .onRequest('session/request_permission', serve(services.permission))
    .onRequest('fs/read_text_file', serve(services.read))
    .onRequest('fs/write_text_file', serve(services.write))
    .onRequest('terminal/create', serve(services.terminal))
    .onRequest('terminal/output', serve(services.output))
    .onRequest('terminal/wait_for_exit', serve(services.wait))
    .onRequest('terminal/kill', serve(services.kill))
    .onRequest('terminal/release', serve(services.release))
    .onRequest('elicitation/create', serve(services.form))
    .onNotification('*', ({ method }) => options.log(`unhandled notification: ${method}`))
    .connect(
      ndjsonStream({
        stdin: child.stdin,
        stdout: child.stdout,
        onUpdate: options.onUpdate,
        log: options.log,
      }),
    )

  const greeting = connection.agent.request('initialize', {
    protocolVersion: PROTOCOL,
    clientInfo: { name: 'agent-webui', title: 'Agent Web UI', version: options.version },
    clientCapabilities: capabilitiesFor(options.servesFiles ?? true),
  })
  const seconds = Math.round(options.startMs / 1_000)
  const answer = await withTimeout(
    Promise.race([greeting, child.ended.then(how => Promise.reject(new Error(how)))]),
    options.startMs,
    `did not answer within ${seconds} seconds of its start`,
  ).catch(async (error: unknown) => {
    const how = (await child.exitReason()) ?? (error instanceof Error ? error.message : 'broke off')
    throw new Error(`${name} ${how}.`)
  })
  const parsed = InitializeResponse.safeParse(answer)
  if (!parsed.success)
    throw new Error(`${name} did not answer the initialize request with valid ACP.`)
  const { protocolVersion } = parsed.data
  if (protocolVersion !== PROTOCOL)
    throw new Error(
      `${name} speaks version ${protocolVersion} of the Agent Client Protocol; this service speaks version ${PROTOCOL}.`,
    )
  return {
    capabilities: parsed.data,
    request: <T>(method: string, params: unknown): Promise<T> =>
      connection.agent.request<T>(method, params),
    notify: (method: string, params: unknown): Promise<void> =>
      connection.agent.notify(method, params),
    close: () => connection.close(),
  }
}
