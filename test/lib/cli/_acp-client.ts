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
  /** Before a terminal is opened; it may throw. */
  terminal: (request: sdk.CreateTerminalRequest) => void
}

/** Terminals as editors have them: the given variables over their own. */
class Terminals {
  readonly open = new Map<
    string,
    { child: ChildProcess; output: string; ended: Promise<sdk.WaitForTerminalExitResponse> }
  >()
  #next = 0

  create({ command, args = [], cwd, env = [] }: sdk.CreateTerminalRequest) {
    const child = spawn(command, args, {
      cwd: cwd ?? undefined,
      env: { ...process.env, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const terminal = {
      child,
      output: '',
      ended: new Promise<sdk.WaitForTerminalExitResponse>(resolve =>
        child.once('close', (exitCode, signal) => resolve({ exitCode, signal })),
      ),
    }
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        terminal.output += String(chunk)
      })
    const terminalId = `t${++this.#next}`
    this.open.set(terminalId, terminal)
    return { terminalId }
  }

  output(id: string) {
    return { output: this.#find(id).output, truncated: false }
  }

  wait(id: string) {
    return this.#find(id).ended
  }

  async kill(id: string) {
    const { child, ended } = this.#find(id)
    if (child.pid) process.kill(-child.pid, 'SIGKILL')
    await ended
    return {}
  }

  release(id: string) {
    this.#find(id)
    this.open.delete(id)
    return {}
  }

  #find(id: string) {
    const found = this.open.get(id)
    if (!found) throw new sdk.RequestError(-32602, 'no such terminal')
    return found
  }
}

export type Editor = Handlers & {
  child: ChildProcess
  /** Terminals that are not released. */
  openTerminals: () => number
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
    terminal: () => undefined,
  }
  const terminals = new Terminals()
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
    .onRequest('terminal/create', ({ params }) => {
      editor.terminal(params)
      return terminals.create(params)
    })
    .onRequest('terminal/output', ({ params }) => terminals.output(params.terminalId))
    .onRequest('terminal/wait_for_exit', ({ params }) => terminals.wait(params.terminalId))
    .onRequest('terminal/kill', ({ params }) => terminals.kill(params.terminalId))
    .onRequest('terminal/release', ({ params }) => terminals.release(params.terminalId))
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
    openTerminals: () => terminals.open.size,
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
