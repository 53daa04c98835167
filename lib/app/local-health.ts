/**
 * Answers the health check of this machine for a process that serves no one, at an address that only this machine reaches: a
 * supervisor finds it healthy, and for a forwarder nothing listens here.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LocalHealth = {
  address: string
  /** `/ready` says so until `close`. */
  stopping(): void
  close(): void
}

/** `standby`: until the process may serve its cell. `worker`: its cells have addresses of their own. */
const SAID = {
  standby: 'This is a standby: another process serves the cell.',
  worker: 'This is a worker: its cells are reached through a forwarder.',
} as const

/** As `/ready` of the service says it. */
const STOPPING = { code: 'stopping', message: 'The process is shutting down.' }
const READY_REASONS = { standby: [{ code: 'standby', message: SAID.standby }], worker: [] } as const

export const openLocalHealth = async (status: keyof typeof SAID): Promise<LocalHealth> => {
  const startedAt = performance.now()
  let isStopping = false
  const answerTo = (path: string): { isOk: boolean; body: object } => {
    if (path === '/health') {
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10
      return { isOk: true, body: { status, uptime_seconds: seconds } }
    }
    if (path !== '/ready')
      return { isOk: false, body: { error: SAID[status], code: 'unavailable' } }
    const reasons = isStopping ? [STOPPING] : READY_REASONS[status]
    const isOk = reasons.length === 0
    return { isOk, body: { status: isOk ? 'ready' : 'unavailable', reasons } }
  }
  const server = createServer({ keepAliveTimeout: 1 }, ({ url = '' }, res) => {
    const { isOk, body } = answerTo(url.replace(/\?.*/s, ''))
    res.writeHead(isOk ? 200 : 503, { 'Content-Type': 'application/json' })
    res.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stopping() {
      isStopping = true
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
