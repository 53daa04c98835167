/** Reader process for event streams: many that discard the bytes, or a few that measure the delay of each token. */
import { connect, type Socket } from 'node:net'
import { nowMs } from './_now.ts'

export type Readers = {
  port: number
  /** One connection each. */
  paths: string[]
  /** Reports token delays once the streams are silent; otherwise reports only that all are open. */
  timed: boolean
  /** So long without a token means that they are. */
  silentMs?: number
}

const sockets: Socket[] = []

const open = (port: number, path: string, onData: (chunk: Buffer) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`,
      ),
    )
    sockets.push(socket)
    socket.once('data', first => {
      if (first.toString('latin1', 9, 12) === '200') resolve()
      else reject(new Error(first.toString('latin1', 0, 500)))
    })
    socket.on('data', onData)
    socket.once('error', reject)
  })

/** The token in a token event; the final message repeats all tokens and does not count. */
const TOKEN = /"text":"<(\d+\.\d\d)>/g
const SILENT_MS = 1_500

const run = async ({ port, paths, timed, silentMs = SILENT_MS }: Readers) => {
  const delays: number[] = []
  const last = { at: nowMs() }
  const take = (chunk: Buffer) => {
    if (!timed) return
    const now = nowMs()
    for (const [, written] of chunk.toString('latin1').matchAll(TOKEN)) {
      last.at = now
      delays.push(now - Number(written))
    }
  }
  // In batches, because the backlog of a listening socket is short.
  for (let i = 0; i < paths.length; i += 100) {
    await Promise.all(paths.slice(i, i + 100).map(path => open(port, path, take)))
  }
  process.send?.('open')
  if (!timed) return
  const timer = setInterval(() => {
    if (delays.length === 0 || nowMs() - last.at < silentMs) return
    clearInterval(timer)
    process.send?.(delays)
  }, 100)
}

process.on('message', (readers: Readers) => void run(readers))
process.on('disconnect', () => process.exit())
