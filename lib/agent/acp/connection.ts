/** The ACP connection to an agent's process: initializes it, checks the protocol version, and routes its requests to services. */
import type * as acp from '@agentclientprotocol/sdk'
import type { AgentProcess } from './agent-process.ts'
import type { ClientRequests } from './services.ts'
import { withTimeout } from './timeout.ts'
import { ndjsonStream } from './ndjson-stream.ts'
import { InitializeResponse } from './updates.ts'

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

/** A connection that is initialized. */
export type Connection = {
  capabilities: InitializeResponse
  request: <T>(method: string, params: unknown) => Promise<T>
  notify: (method: string, params: unknown) => Promise<void>
  close: () => void
}

export const connectAgent = async (
  child: AgentProcess,
  /** Its display name, our version, how long it may take to answer, and whether it may use our files and terminals. */
  about: { name: string; version: string; startMs: number; servesFiles: boolean },
  services: ClientRequests,
  onUpdate: (params: unknown) => void,
  log: (line: string) => void,
): Promise<Connection> => {
  const { name, version, startMs, servesFiles } = about
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
    .onNotification('*', ({ method }) => log(`unhandled notification: ${method}`))
    .connect(ndjsonStream(child, onUpdate, log))

  const greeting = connection.agent.request('initialize', {
    protocolVersion: PROTOCOL,
    clientInfo: { name: 'agent-webui', title: 'Agent Web UI', version },
    clientCapabilities: capabilitiesFor(servesFiles),
  })
  const seconds = Math.round(startMs / 1_000)
  const answer = await withTimeout(
    Promise.race([greeting, child.ended.then(how => Promise.reject(new Error(how)))]),
    startMs,
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
    request: (method, params) => connection.agent.request(method, params),
    notify: (method, params) => connection.agent.notify(method, params),
    close: () => connection.close(),
  }
}
