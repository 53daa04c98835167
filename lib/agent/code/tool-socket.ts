/** Unix socket over which a script calls tools: token-protected, sequential, with a call limit. */
import { createServer, type Socket } from 'node:net'
import { isSameSecret } from '../../base/sha256.ts'
import { z } from 'zod'

/** Longer lines close the connection. */
const MAX_LINE_CHARS = 10_000_000

const Call = z.object({
  token: z.string(),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
})

export type ToolSocket = {
  calls: () => number
  close: () => void
}

export type ToolSocketOptions = {
  path: string
  token: string
  maxCalls: number
  /** Runs a tool and returns its result. Never rejects. */
  callTool: (tool: string, args: Record<string, unknown>) => Promise<string>
}

export const openToolSocket = async (options: ToolSocketOptions): Promise<ToolSocket> => {
  const { path, token, maxCalls, callTool } = options
  const sockets = new Set<Socket>()
  let count = 0
  let last: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const handleLine = async (line: string): Promise<object> => {
    let call: z.output<typeof Call>
    try {
      call = Call.parse(JSON.parse(line))
    } catch {
      // Not written by our client code.
      return { refused: 'This is not a valid tool call.' }
    }
    if (!isSameSecret(call.token, token)) return { refused: 'The token is wrong.' }
    if (count >= maxCalls) return { refused: `A script may make at most ${maxCalls} tool calls.` }
    count++
    return { content: await callTool(call.tool, call.args) }
  }

  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
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
        last = last.then(async () => {
          // Skip calls that were still queued when the script ended.
          if (isClosed) return
          const response = await handleLine(line)
          if (!socket.destroyed) socket.write(`${JSON.stringify(response)}\n`)
        })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return {
    calls: () => count,
    close() {
      isClosed = true
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
