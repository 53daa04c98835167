/** An editor for tests: the SDK's client over the pipes of `agent-webui acp`, which records what it is shown. */
import { type ChildProcess, spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ReadableStream as WebReadable } from 'node:stream/web'
import * as sdk from '@agentclientprotocol/sdk'
import { programEnv, SERVICE } from '../../../build/start-program.ts'
import type { Desk } from './_run.ts'

type Handlers = {
  permission: (
    request: sdk.RequestPermissionRequest,
  ) => sdk.RequestPermissionResponse | Promise<sdk.RequestPermissionResponse>
  read: (request: sdk.ReadTextFileRequest) => sdk.ReadTextFileResponse
  write: (request: sdk.WriteTextFileRequest) => void
  form: (request: sdk.CreateElicitationRequest) => sdk.CreateElicitationResponse
}

export type Editor = Handlers & {
  child: ChildProcess
  agent: sdk.ClientContext
  updates: sdk.SessionUpdate[]
  permissions: sdk.RequestPermissionRequest[]
  /** What the program wrote to standard error. */
  err: () => string
  hello: sdk.InitializeResponse
  /** Settles when an update satisfies this, also one that has arrived already. */
  seen: (is: (update: sdk.SessionUpdate) => boolean) => Promise<sdk.SessionUpdate>
  newSession: (servers?: sdk.McpServer[]) => Promise<sdk.NewSessionResponse>
  prompt: (
    sessionId: string,
    ...blocks: (string | sdk.ContentBlock)[]
  ) => Promise<sdk.PromptResponse>
  text: () => string
  ended: Promise<number | null>
  close: () => Promise<void>
}

export const choose = (optionId: string): sdk.RequestPermissionResponse => ({
  outcome: { outcome: 'selected', optionId },
})

export type EditorOptions = {
  args?: string[]
  /** The program; by default ours. */
  program?: string
  capabilities?: sdk.ClientCapabilities
  env?: Record<string, string>
}

export const startEditor = async (
  desk: Pick<Desk, 'root' | 'workspace'>,
  { args = [], program = SERVICE, capabilities = {}, env = {} }: EditorOptions = {},
): Promise<Editor> => {
  const child = spawn(process.execPath, [program, 'acp', ...args], {
    cwd: desk.root,
    env: programEnv(desk.root, 0, { TMPDIR: desk.root, ...env }),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', chunk => {
    err += String(chunk)
  })
  // A killed program leaves writes behind.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const updates: sdk.SessionUpdate[] = []
  const permissions: sdk.RequestPermissionRequest[] = []
  let wake: (() => void)[] = []
  const handlers: Handlers = {
    permission: () => choose('once'),
    read: () => {
      throw new sdk.RequestError(-32002, 'No such buffer')
    },
    write: () => undefined,
    form: () => ({ action: 'cancel' }),
  }
  const connection = sdk
    .client({ name: 'editor' })
    .onRequest('session/request_permission', ({ params }) => {
      permissions.push(params)
      for (const each of wake.splice(0)) each()
      return editor.permission(params)
    })
    .onRequest('fs/read_text_file', ({ params }) => editor.read(params))
    .onRequest('fs/write_text_file', ({ params }) => editor.write(params))
    .onRequest('elicitation/create', ({ params }) => editor.form(params))
    .onNotification('session/update', ({ params }) => {
      updates.push(params.update)
      for (const each of wake.splice(0)) each()
    })
    .connect(
      sdk.ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as WebReadable as ReadableStream<Uint8Array>,
      ),
    )
  const { agent } = connection
  const editor: Editor = Object.assign(handlers, {
    child,
    agent,
    updates,
    permissions,
    err: () => err,
    hello: { protocolVersion: 0 } as sdk.InitializeResponse,
    async seen(is: (update: sdk.SessionUpdate) => boolean) {
      for (;;) {
        const found = updates.find(is)
        if (found) return found
        await new Promise<void>(resolve => wake.push(resolve))
      }
    },
    newSession: (servers: sdk.McpServer[] = []) =>
      agent.request('session/new', { cwd: desk.workspace, mcpServers: servers }),
    async prompt(sessionId: string, ...blocks: (string | sdk.ContentBlock)[]) {
      const prompt = blocks.map(
        (block): sdk.ContentBlock =>
          typeof block === 'string' ? { type: 'text', text: block } : block,
      )
      const response = await agent.request('session/prompt', { sessionId, prompt })
      // The SDK may handle a notification later than the response that followed it.
      await setImmediate()
      return response
    },
    text: () =>
      updates
        .flatMap(update =>
          update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
            ? [update.content.text]
            : [],
        )
        .join(''),
    ended,
    async close() {
      connection.close()
      child.kill('SIGKILL')
      await ended
      wake = []
    },
  })
  editor.hello = await agent.request('initialize', {
    protocolVersion: 1,
    clientCapabilities: capabilities,
    clientInfo: { name: 'editor', version: '1' },
  })
  return editor
}

/** The error of a rejected request. */
export const rejection = async (
  work: Promise<unknown>,
): Promise<{ code: number; message: string }> => {
  try {
    await work
  } catch (error) {
    const { code, message } = error as sdk.RequestError
    return { code, message }
  }
  throw new Error('The request was not rejected.')
}
