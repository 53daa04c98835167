/** Owner process for benchmarks: owns a cell in the database and streams tokens, whose texts are the times at which they were written, to many readers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/base/clock.ts'
import { PostgresCluster } from '../lib/cluster/postgres.ts'
import { nowMs } from './_now.ts'

export type Owning = { database: string; cell: string; tokensPerSecond: number; seconds: number }

const readers: ServerResponse[] = []
const server = createServer((req, res) => {
  // Through the forwarder, whose start waits for it.
  if (req.url === '/health') return void res.end('{}')
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write(': ready\n\n')
  readers.push(res)
})

/** Each stream begins at another moment, as people do. */
const speak = ({ tokensPerSecond, seconds }: Owning): void => {
  const total = tokensPerSecond * seconds
  const every = 1_000 / tokensPerSecond
  const startedAt = performance.now()
  const streams = readers.map((res, at) => ({ res, spoken: 0, offset: (at % 50) * (every / 50) }))
  const timer = setInterval(() => {
    const at = performance.now() - startedAt
    let isOver = true
    for (const stream of streams) {
      const due = Math.min(total, Math.floor((at - stream.offset) / every))
      for (; stream.spoken < due; stream.spoken++)
        stream.res.write(`event: token\ndata: {"text":"<${nowMs().toFixed(2)}>"}\n\n`)
      if (stream.spoken < total) isOver = false
    }
    if (isOver) clearInterval(timer)
  }, 1)
}

/** The first message: own the cell, and reply when a forwarder can find it. The second one: speak. */
const begin = async ({ database, cell }: Owning): Promise<void> => {
  const stateDir = mkdtempSync(join(tmpdir(), 'bench-owner-'))
  process.once('exit', () => rmSync(stateDir, { recursive: true, force: true }))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const log = { info: () => undefined, warn: () => undefined }
  const cluster = new PostgresCluster({ clock: systemClock, url: database, key: null, log })
  const owned = await cluster.own(cell, { files: null, stateDir })
  owned.announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  process.send?.('owned')
}

process.on('message', (owning: Owning) => {
  if (readers.length > 0) speak(owning)
  else void begin(owning)
})
process.on('disconnect', () => process.exit())
