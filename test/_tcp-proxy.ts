/** A TCP proxy that can stop forwarding without closing anything, as a network that is cut does. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type TcpProxy = {
  readonly port: number
  /** From now on no byte passes in either direction, and no connection is closed; new ones are accepted and silent. */
  cut(): void
  /** New connections pass. Those that were cut are closed. */
  heal(): void
  /** Connections that were accepted so far. */
  readonly accepted: number
  close(): Promise<void>
}

export const startTcpProxy = async (target: number): Promise<TcpProxy> => {
  let isCut = false
  let accepted = 0
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    accepted += 1
    const upstream = connect(target, '127.0.0.1')
    const pair = [client, upstream] as const
    for (const [from, to] of [pair, [upstream, client]] as const) {
      sockets.add(from)
      from.on('data', bytes => {
        // What was sent during a cut is lost, and with it the connection.
        if (!isCut) to.write(bytes)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        if (!isCut) to.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted
    },
    cut() {
      isCut = true
    },
    heal() {
      for (const socket of sockets) socket.destroy()
      isCut = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
