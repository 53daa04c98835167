/** A turn with an expired sign-in: only the issuer is contacted, through the proxy, and the chat says what happened. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { CLIENT, jwt } from '../lib/models/sign-in/_issuer.ts'

const test = suite('a turn with an expired sign-in')

/** A proxy that notes the wanted hosts and connects to none of them. */
const startProxy = async () => {
  const wanted: string[] = []
  const server = createServer()
  server.on('connect', ({ url }, socket) => {
    wanted.push(url ?? '')
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const close = () => new Promise<void>(done => server.close(() => done()))
  return { url: `http://127.0.0.1:${port}`, wanted, [Symbol.asyncDispose]: close }
}

test('fails with a sentence when the issuer cannot be reached, and keeps the tokens', async () => {
  await using proxy = await startProxy()
  await using app = await startApp({ env: { HTTPS_PROXY: proxy.url } })
  const model = { provider: 'openai-codex', default: 'gpt-5.4' }
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({ model, agent: { api_max_retries: 1 } }),
  )
  const tokens = { access_token: jwt({ client_id: CLIENT, exp: 1 }), refresh_token: 'refresh-0' }
  const auth = { version: 1, providers: { 'openai-codex': { tokens, auth_mode: 'chatgpt' } } }
  writeFileSync(join(app.home, 'auth.json'), JSON.stringify(auth))
  const { session } = (await app.post('/api/session/new', {})).body
  const { body } = await app.post('/api/chat/start', {
    session_id: session.session_id,
    message: 'hello',
  })
  let message = ''
  for await (const { event, data } of app.events(`/api/chat/stream?stream_id=${body.stream_id}`)) {
    if (event === 'apperror') message = String((data as { message: unknown }).message)
    if (event === 'stream_end') break
  }
  assert.match(message, 'Couldn’t renew the sign-in of OpenAI Codex: auth.openai.com')
  assert.equal([...new Set(proxy.wanted)], ['auth.openai.com:443'])
  const { providers } = JSON.parse(readFileSync(join(app.home, 'auth.json'), 'utf8'))
  assert.equal(providers, auth.providers)
})

test.run()
