/** The socket over which a script calls tools: private, with a token, one call after the other, counted. */
import { timingSafeEqual } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { z } from 'zod'

/** More is no call. */
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
  /** Answers what the tool answers. Never rejects. */
  answer: (tool: string, args: Record<string, unknown>) => Promise<string>
}

const isEqual = (a: string, b: string): boolean => {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}

export const openToolSocket = async (options: ToolSocketOptions): Promise<ToolSocket> => {
  const { path, token, maxCalls, answer } = options
  const sockets = new Set<Socket>()
  let count = 0
  let last: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const decide = async (line: string): Promise<object> => {
    let call: z.output<typeof Call>
    try {
      call = Call.parse(JSON.parse(line))
    } catch {
      // Not by our functions: said to whoever wrote it.
      return { refused: 'This is no call.' }
    }
    if (!isEqual(call.token, token)) return { refused: 'The token is wrong.' }
    if (count >= maxCalls) return { refused: `A script may call tools ${maxCalls} times at most.` }
    count++
    return { content: await answer(call.tool, call.args) }
  }

  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // A script that is gone needs no answer.
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
          // What a script had still to say when it ended would be done for nobody.
          if (isClosed) return
          const said = await decide(line)
          if (!socket.destroyed) socket.write(`${JSON.stringify(said)}\n`)
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
