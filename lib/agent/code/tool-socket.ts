/** Unix socket over which a script calls tools: token-protected, sequential, with a call limit. */
import { createServer, type Server, type Socket } from 'node:net'
import { isSameSecret } from '../../base/sha256.ts'
import { z } from 'zod'

/** Longer lines close the connection. */
const MAX_LINE_CHARS = 10_000_000

const Call = z.object({
  token: z.string(),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
})

/** Runs a tool and returns its result. Never rejects. */
type CallTool = (tool: string, args: Record<string, unknown>) => Promise<string>

export class ToolSocket {
  readonly #token: string
  readonly #maxCalls: number
  readonly #callTool: CallTool
  readonly #sockets = new Set<Socket>()
  readonly #server: Server = createServer(socket => this.#accept(socket))
  #count = 0
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(token: string, maxCalls: number, callTool: CallTool) {
    this.#token = token
    this.#maxCalls = maxCalls
    this.#callTool = callTool
  }

  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(path, resolve)
    })
  }

  calls(): number {
    return this.#count
  }

  close(): void {
    this.#isClosed = true
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // The script has ended and reads no response.
    socket.on('error', () => socket.destroy())
    socket.setEncoding('utf8')
    let text = ''
    socket.on('data', (piece: string) => {
      text += piece
      if (text.length > MAX_LINE_CHARS) return void socket.destroy()
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines)
        this.#last = this.#last.then(async () => {
          // Skip calls that were still queued when the script ended.
          if (this.#isClosed) return
          const response = await this.#handleLine(line)
          if (!socket.destroyed) socket.write(`${JSON.stringify(response)}\n`)
        })
    })
  }

  async #handleLine(line: string): Promise<object> {
    let call: z.output<typeof Call>
    try {
      call = Call.parse(JSON.parse(line))
    } catch {
      // Not written by our client code.
      return { refused: 'This is not a valid tool call.' }
    }
    if (!isSameSecret(call.token, this.#token)) return { refused: 'The token is wrong.' }
    if (this.#count >= this.#maxCalls)
      return { refused: `A script may make at most ${this.#maxCalls} tool calls.` }
    this.#count++
    return { content: await this.#callTool(call.tool, call.args) }
  }
}
