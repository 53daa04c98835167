/** A forwarder between real HTTP servers, which a test makes. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../lib/base/clock.ts'
import { forbidden } from '../../../lib/errors.ts'
import { createClientReader } from '../../../lib/http/client-address.ts'
import { Forwarder, type Waiting } from '../../../lib/http/forwarder.ts'

const servers: Server[] = []
const closers: (() => void)[] = []

export const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address at which nothing listens. */
export const deadAddress = async (): Promise<string> => {
  const address = await listen(() => undefined)
  const server = servers.pop()
  server?.close()
  return address
}

type Owners = (string | null)[]

/** The owners that the database names, one after the other; the last one stays. */
export const startForwarder = async (
  owners: Owners,
  options: {
    waitMs?: number
    lookMs?: number
    proxies?: string[]
    waiting?: Waiting
    routeOf?: () => void
    isAllowed?: () => boolean
    onAsk?: (cell: string) => void
    warn?: (text: string) => void
  } = {},
) => {
  let asked = 0
  const forwarder = new Forwarder({
    clock: systemClock,
    version: 'test',
    waitMs: options.waitMs ?? 5_000,
    ...(options.lookMs !== undefined && { lookMs: options.lookMs }),
    clientOf: createClientReader(options.proxies ?? []),
    async routeOf(req) {
      const { url = '/' } = req
      options.routeOf?.()
      if (url === '/forbidden') throw forbidden('There is nothing here for this account.')
      const isShared = url.startsWith('/cells/cell-1')
      return {
        cell: 'cell-1',
        person: 'anna',
        url,
        prefix: isShared ? '/cells/cell-1' : '',
        isShared,
      }
    },
    isAllowed: async () => options.isAllowed?.() ?? true,
    async ask(cell) {
      options.onAsk?.(cell)
      return options.waiting ?? 'unmanaged'
    },
    async ownerOf() {
      const address = owners[Math.min(asked, owners.length - 1)] ?? null
      asked += 1
      const epoch = Math.min(asked, owners.length)
      return address === null ? null : { address, epoch, token: 'token of cell-1' }
    },
    log: { warn: options.warn ?? (() => undefined), error: () => undefined },
  })
  closers.push(() => forwarder.close())
  return listen(forwarder.listener)
}

export const send = (url: string, init: RequestInit = {}) =>
  fetch(url, init).then(async res => ({
    status: res.status,
    headers: res.headers,
    text: await res.text(),
  }))

/** After each test. */
export const closeForwarders = (): void => {
  for (const close of closers.splice(0)) close()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
}
