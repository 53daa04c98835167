/**
 * Answers the health check of this machine for a process that serves no one, at an address that only this machine reaches: a
 * supervisor finds it healthy, and for a forwarder nothing listens here.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LocalHealth = { address: string; close(): void }

/** `standby`: until the process may serve its cell. `worker`: its cells have addresses of their own. */
const SAID = {
  standby: 'This is a standby: another process serves the cell.',
  worker: 'This is a worker: its cells are reached through a forwarder.',
} as const

export const openLocalHealth = async (status: keyof typeof SAID): Promise<LocalHealth> => {
  const startedAt = performance.now()
  const server = createServer({ keepAliveTimeout: 1 }, (req, res) => {
    const isHealth = req.url === '/health'
    const body = isHealth
      ? { status, uptime_seconds: Math.round((performance.now() - startedAt) / 100) / 10 }
      : { error: SAID[status], code: 'unavailable' }
    res.writeHead(isHealth ? 200 : 503, { 'Content-Type': 'application/json' })
    res.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
