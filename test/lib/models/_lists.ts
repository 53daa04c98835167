/** A server that lists models, over real HTTP, and a way to have far hosts answered by it. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, type Dispatcher } from 'undici'

export type ListAnswer = {
  status?: number
  body?: unknown
  headers?: Record<string, string>
  /** Never answers. */
  silent?: boolean
}

export type Asked = { path: string; headers: IncomingHttpHeaders }

export type ListServer = AsyncDisposable & {
  url: string
  port: number
  asked: Asked[]
  /** Answers every request from now on. */
  answer: ListAnswer | ((asked: Asked) => ListAnswer)
  /** Settles when the n-th request (from 1) has arrived. */
  arrived(n: number): Promise<void>
  /** Brings requests to any host here; they carry the origin they were meant for as `x-origin`. */
  dispatcher: Dispatcher
  close(): Promise<void>
}

export const startLists = async (answer: ListServer['answer'] = {}): Promise<ListServer> => {
  const held = { answer, asked: [] as Asked[] }
  let waiting: (() => void)[] = []
  const server = createServer((req, res) => {
    const asked = { path: req.url ?? '', headers: req.headers }
    held.asked.push(asked)
    for (const wake of waiting.splice(0)) wake()
    const said = typeof held.answer === 'function' ? held.answer(asked) : held.answer
    if (said.silent) return
    res.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers })
    const { body = { data: [] } } = said
    res.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const agent = new Agent()
  const dispatcher = agent.compose(dispatch => (options, handler) => {
    const headers = {
      ...(options.headers as Record<string, string>),
      'x-origin': `${options.origin}`,
    }
    return dispatch({ ...options, headers, origin: `http://127.0.0.1:${port}` }, handler)
  })
  return Object.assign(held, {
    url: `http://127.0.0.1:${port}`,
    port,
    dispatcher,
    async arrived(n: number) {
      while (held.asked.length < n) await new Promise<void>(wake => waiting.push(wake))
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      waiting = []
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
      await agent.destroy()
    },
  })
}

export const idsOf = (...ids: string[]) => ({ body: { data: ids.map(id => ({ id })) } })
