/** Requests to authorization servers: redirects, the size of responses, and https. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import { type HttpServer, parseServers } from '../../../lib/mcp/config.ts'
import { AuthFetch } from '../../../lib/mcp/oauth/auth-fetch.ts'
import { discover } from '../../../lib/mcp/oauth/discover.ts'

type World = { servers: Server[] }

const test = suite<World>('requests to authorization servers')
test.before.each(state => {
  state.servers = []
})
test.after.each(({ servers }) => {
  for (const server of servers) server.close().closeAllConnections()
})

const listen = async ({ servers }: World, listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const authFetch = () =>
  new AuthFetch({ serverUrl: 'http://127.0.0.1/mcp', allowPrivate: false, dispatcher: undefined })

test('a code or token is not sent on to where a redirect points', async world => {
  const seen: string[] = []
  const other = await listen(world, (req, res) => {
    seen.push(req.url ?? '')
    res.end('{}')
  })
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await listen(world, (_, res) => res.writeHead(status, { location: other }).end())
    const { fetch } = authFetch()
    assert.is((await fetch(url)).status, status)
    assert.is((await fetch(url, { method: 'POST', body: 'code=secret' })).status, status)
  }
  assert.equal(seen, [])
})

test('an answer is limited after it is decompressed', async world => {
  const answer = (mb: number) => brotliCompressSync(Buffer.alloc(mb * 1024 * 1024))
  const small = answer(1)
  const large = answer(2)
  const url = await listen(world, (req, res) =>
    res.writeHead(200, { 'content-encoding': 'br' }).end(req.url === '/large' ? large : small),
  )
  const auth = authFetch()
  const { fetch } = auth
  assert.is((await (await fetch(url)).arrayBuffer()).byteLength, 1024 * 1024)
  assert.is(auth.refusal, null)
  try {
    await fetch(`${url}large`)
    assert.unreachable('it was read')
  } catch (error) {
    assert.instance(error, UserError)
    assert.match((error as Error).message, 'larger than 1 MB')
  }
  assert.instance(auth.refusal, UserError)
})

test('a sign-in needs https: at the server, and at the page that the browser is sent to', async world => {
  const discoverAt = (url: string) => {
    const [server] = parseServers({ mcp_servers: { p: { url } } }) as HttpServer[]
    const options = { serverUrl: url, allowPrivate: false, dispatcher: undefined }
    return discover(server as HttpServer, {}, options).then(
      () => 'found',
      (error: Error) => error.message,
    )
  }
  assert.match(await discoverAt('http://mcp.example/mcp'), 'http://mcp.example is not an https')
  let page = ''
  const origin = await listen(world, (req, res) => {
    const issuer = `http://${req.headers.host}`
    const isServer = req.url?.includes('protected-resource')
    const about = isServer
      ? { resource: `${issuer}/mcp`, authorization_servers: [issuer] }
      : {
          issuer,
          authorization_endpoint: page,
          token_endpoint: `${issuer}/token`,
          response_types_supported: ['code'],
        }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(about))
  })
  page = 'http://evil.example/authorize'
  assert.match(await discoverAt(`${origin}mcp`), 'http://evil.example is not an https')
  page = 'https://good.example/authorize'
  assert.is(await discoverAt(`${origin}mcp`), 'found')
})

test.run()
