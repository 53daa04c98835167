/** A network for browser tests that can be cut and stalled, and what a page does while it is. */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Page } from 'playwright-core'

/** A proxy that serves below a path, and can be cut like a network. `host`: a name for the browser; the service sees its own. */
export const createNetwork = async (target: () => string, prefix: string, host = '127.0.0.1') => {
  const sockets = new Set<Socket>()
  /** Paths whose next request arrives, while its reply is lost. */
  const lost: string[] = []
  /** Requests arrive and get no reply. */
  const state = { isStalled: false }
  /** Paths whose requests arrive and get no reply, with what is called then. */
  const stalled = new Map<string, () => void>()
  let port = 0
  let server: Server
  const up = async () => {
    server = createServer((req, res) => {
      if (state.isStalled) return
      const path = req.url?.startsWith(`${prefix}/`) ? req.url.slice(prefix.length) : '/nowhere'
      const onStalled = stalled.get(path)
      if (onStalled) return onStalled()
      const own = new URL(target())
      const headers = {
        ...{ ...req.headers, 'x-forwarded-prefix': prefix },
        ...(host !== '127.0.0.1' && { host: own.host }),
        ...(host !== '127.0.0.1' && req.headers.origin && { origin: own.origin }),
      }
      const onward = request(`${target()}${path}`, { method: req.method, headers }, answer => {
        const at = lost.indexOf(path)
        if (at >= 0) {
          lost.splice(at, 1)
          answer.resume().on('end', () => res.destroy())
          return
        }
        res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
        answer.pipe(res)
      })
      onward.on('error', () => res.destroy())
      res.on('close', () => onward.destroy())
      req.pipe(onward)
    })
    server.on('connection', socket => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  await up()
  return {
    url: `http://${host}:${port}${prefix}`,
    lost,
    state,
    stalled,
    up,
    async cut() {
      const closed = new Promise(resolve => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Sends a message. */
export const write = async (page: Page, text: string) => {
  await page.locator('#composer').fill(text)
  await page.keyboard.press('Enter')
}

/** Messages of the open chat that wait to be sent. */
export const waitingIn = (page: Page) =>
  page.getByRole('list', { name: /waiting to be sent/ }).getByRole('listitem')
