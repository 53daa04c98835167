/** Load generator process: keep-alive connections on raw sockets, each with one request in flight. */
import { connect } from 'node:net'

export type Load = {
  port: number
  path: string
  connections: number
  warmMs: number
  measureMs: number
  headers?: Record<string, string>
}
export type LoadResult = { perSecond: number; bytes: number; wrong: number }

const HEADER_END = Buffer.from('\r\n\r\n')

const measure = (load: Load): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const extra = Object.entries(load.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
    const request = Buffer.from(
      `GET ${load.path} HTTP/1.1\r\nHost: 127.0.0.1:${load.port}\r\n${extra.join('')}\r\n`,
    )
    const count = { answers: 0, bytes: 0, wrong: 0, counting: false }

    const run = () => {
      const socket = connect(load.port, '127.0.0.1', () => socket.write(request))
      socket.setNoDelay(true)
      /** Remaining bytes of the current response; 0 between responses. */
      let missing = 0
      let head: Buffer | null = null
      socket.on('data', chunk => {
        if (count.counting) count.bytes += chunk.length
        if (missing > 0) {
          missing -= chunk.length
        } else {
          const bytes: Buffer = head ? Buffer.concat([head, chunk]) : chunk
          const end = bytes.indexOf(HEADER_END)
          if (end < 0) {
            head = bytes
            return
          }
          head = null
          const text = bytes.toString('latin1', 0, end)
          if (text.charCodeAt(9) !== 50) count.wrong += 1
          const length = /content-length: (\d+)/i.exec(text)
          if (!length) return reject(new Error(`an answer without a length:\n${text}`))
          missing = Number(length[1]) - (bytes.length - end - 4)
        }
        if (missing > 0) return
        if (count.counting) count.answers += 1
        socket.write(request)
      })
      socket.on('error', reject)
      return socket
    }
    const sockets = Array.from({ length: load.connections }, run)
    setTimeout(() => {
      count.counting = true
      const startedAt = performance.now()
      setTimeout(() => {
        const seconds = (performance.now() - startedAt) / 1000
        for (const socket of sockets) socket.destroy()
        const { answers, bytes, wrong } = count
        resolve({ perSecond: answers / seconds, bytes, wrong })
      }, load.measureMs)
    }, load.warmMs)
  })

process.on('message', async (load: Load) => process.send?.(await measure(load)))
process.on('disconnect', () => process.exit())
