/**
 * Answers the health check of this machine until the process may serve its cell, at an address that only this machine
 * reaches: to a supervisor a standby is healthy, and for a forwarder nothing listens here.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Standby = { address: string; close(): void }

const WAITS = 'This is a standby: another process serves the cell.'

export const openStandby = async (): Promise<Standby> => {
  const startedAt = performance.now()
  const server = createServer({ keepAliveTimeout: 1 }, (req, res) => {
    const isHealth = req.url === '/health'
    const body = isHealth
      ? {
          status: 'standby',
          uptime_seconds: Math.round((performance.now() - startedAt) / 100) / 10,
        }
      : { error: WAITS, code: 'unavailable' }
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
