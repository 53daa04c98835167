/** POST /api/tts: nothing configured, addresses that get no key, errors of the service, and audio that streams. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp }>('text to speech')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(async ({ app }) => {
  assert.equal(app.errors, [])
  await app.close()
})

type Got = { authorization: string; body: Record<string, unknown> }

/** Accepts only what OpenAI's speech API accepts. */
const strictService = async (answer: (res: ServerResponse, req: IncomingMessage) => void) => {
  const got: Got[] = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const { input, model, voice, response_format, ...other } = JSON.parse(
        `${Buffer.concat(chunks)}`,
      )
      const isValid =
        req.method === 'POST' &&
        req.url === '/v1/audio/speech' &&
        req.headers['content-type'] === 'application/json' &&
        [input, model, voice].every(value => typeof value === 'string' && value !== '') &&
        response_format === 'mp3' &&
        Object.keys(other).length === 0
      if (!isValid) return res.writeHead(422).end('{"error":{"message":"not valid"}}')
      got.push({ authorization: req.headers.authorization ?? '', body: { input, model, voice } })
      return answer(res, req)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    got,
    url: `http://127.0.0.1:${port}/v1`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const configure = (app: TestApp, text: string) => writeFileSync(join(app.home, 'config.yaml'), text)
const say = (app: TestApp, text: string, more = {}) => app.post('/api/tts', { text, ...more })
const isAvailable = async (app: TestApp) => (await app.get('/api/tts/capability')).body.available

test('without a configured service it is unavailable; no key is sent to an address it was not written for', async ({
  app,
}) => {
  writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-main-secret\n')
  const UNUSABLE = [
    '',
    // Reading aloud with OpenAI costs money, so it has to be named.
    'model: {provider: openai}',
    'tts: {provider: edge}',
    'tts: {provider: 5}',
    'tts: {enabled: off, provider: openai}',
    'tts: {provider: edge, openai: {base_url: "https://voices.example/v1", api_key: k}}',
    'tts: {base_url: "https://voices.example/v1"}',
    'tts: {base_url: "http://voices.example/v1", api_key: k}',
    'tts: {base_url: "https://user:pass@voices.example/v1", api_key: k}',
  ]
  for (const config of UNUSABLE) {
    configure(app, config)
    assert.is(await isAvailable(app), false, config)
    const { status, body } = await say(app, 'Hello')
    assert.equal([status, body.code], [503, 'speech_unavailable'], config)
  }
  configure(app, 'tts: {provider: openai}')
  assert.is(await isAvailable(app), true)
  assert.is((await say(app, ' ')).status, 400)
  assert.is((await say(app, 'x'.repeat(4_097))).status, 400)
  const service = await strictService(res =>
    res.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound'),
  )
  configure(app, `tts: {base_url: "${service.url}"}`)
  assert.is((await say(app, 'Hello')).status, 200)
  assert.is(service.got[0]?.authorization, '')
  service.close()
})

test('errors of the service are sentences without the key; what is no audio is none', async ({
  app,
}) => {
  let answer = (res: ServerResponse) => {
    res.writeHead(400).end('{"error":{"message":"Unknown voice, sk-tts-secret"}}')
  }
  const service = await strictService(res => answer(res))
  configure(app, `tts: {base_url: "${service.url}", api_key: sk-tts-secret}`)
  const refused = async () => {
    const { status, body } = await say(app, 'Hello')
    return [status, body.error]
  }
  assert.equal(await refused(), [400, 'Unknown voice, ***'])
  answer = res => void res.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
  assert.equal(await refused(), [503, 'Couldn’t reach the speech service'])
  answer = res => void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>')
  assert.equal(await refused(), [503, 'The speech service returned no audio'])
  service.close()
  assert.equal(await refused(), [503, 'Couldn’t reach the speech service'])
})

test('the audio arrives while the service still speaks; a reader who leaves ends the call', async ({
  app,
}) => {
  const speaking = Promise.withResolvers<ServerResponse>()
  const service = await strictService(res => {
    res.writeHead(200, { 'content-type': 'audio/mpeg' })
    res.write('first')
    speaking.resolve(res)
  })
  configure(
    app,
    `tts: {provider: Local, voice: calm, local: {base_url: "${service.url}", api_key: k1, model: tiny}}`,
  )
  const { hostname, port } = new URL(app.url)
  const headers = { 'content-type': 'application/json' }
  const sent = request({ hostname, port, method: 'POST', path: '/api/tts', headers })
  sent.end(JSON.stringify({ text: ' Hello there. ' }))
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal([reply.statusCode, reply.headers['content-type']], [200, 'audio/mpeg'])
  const [chunk] = await once(reply, 'data')
  assert.is(`${chunk}`, 'first')
  assert.equal(service.got, [
    {
      authorization: 'Bearer k1',
      body: { input: 'Hello there.', model: 'tiny', voice: 'calm' },
    },
  ])
  const call = await speaking.promise
  const closed = once(call, 'close')
  sent.destroy()
  await closed
  assert.is(call.writableFinished, false)
  service.close()
})

test.run()
