/** A strict token server: each refresh token is valid once, and using one again revokes the sign-in. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const CLIENT = 'client-1'

/** An unsigned JWT. */
export const jwt = (claims: Record<string, unknown>): string => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.c2lnbmF0dXJl`
}

export type TokenServer = {
  url: string
  /** The only refresh token that is accepted; null after a revocation. */
  current: string | null
  requests: { headers: IncomingHttpHeaders; form: Record<string, string> }[]
  /** Replaces the reply to the next request; the token is not rotated unless it calls `rotate`. */
  next: ((res: ServerResponse, rotate: () => Record<string, unknown>) => unknown) | null
  /** Claims of the tokens it issues, besides `exp`. */
  claims: Record<string, unknown>
  arrived: (n: number) => Promise<void>
  close: () => Promise<void>
}

export const sendJson = (res: ServerResponse, status: number, body: unknown): void => {
  res.writeHead(status, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}

export const startIssuer = async (first = 'refresh-0'): Promise<TokenServer> => {
  let wake: (() => void)[] = []
  let issued = 0
  const rotate = () => {
    issued++
    server.current = `refresh-${issued}`
    const exp = Math.floor(Date.now() / 1_000) + 3_600
    return {
      access_token: jwt({ client_id: CLIENT, exp, issued, ...server.claims }),
      refresh_token: server.current,
      token_type: 'Bearer',
      expires_in: 3_600,
    }
  }
  const http = createServer(async (req, res) => {
    let text = ''
    for await (const chunk of req) text += chunk
    const form = Object.fromEntries(new URLSearchParams(text))
    server.requests.push({ headers: req.headers, form })
    for (const each of wake.splice(0)) each()
    const { next } = server
    server.next = null
    if (next) return next(res, rotate)
    const isWrongForm =
      req.method !== 'POST' ||
      req.headers['content-type'] !== 'application/x-www-form-urlencoded' ||
      form.grant_type !== 'refresh_token' ||
      form.client_id !== CLIENT
    if (isWrongForm) return sendJson(res, 400, { error: 'invalid_request' })
    if (form.refresh_token === server.current) return sendJson(res, 200, rotate())
    // Reuse: the whole sign-in is revoked.
    server.current = null
    return sendJson(res, 400, { error: 'invalid_grant', error_description: 'reuse detected' })
  })
  await new Promise<void>(done => http.listen(0, '127.0.0.1', done))
  const server: TokenServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/oauth/token`,
    current: first,
    requests: [],
    next: null,
    claims: {},
    async arrived(n) {
      while (server.requests.length < n) await new Promise<void>(done => wake.push(done))
    },
    close: () =>
      new Promise(done => {
        wake = []
        http.closeAllConnections()
        http.close(() => done())
      }),
  }
  return server
}
