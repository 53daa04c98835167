/** POST /api/transcribe: what is no recording, no service, a real call to one, and its refusals in its own words. */
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { form, FORM_TYPE } from './_form.ts'

const recording = (data: string | Buffer = 'sound') =>
  form({ name: 'file', filename: 'voice-input.webm', data })

/** Answers every request with what `answer` says, and keeps what it got. */
const speechService = async (answer: { status: number; body: unknown }) => {
  const got: { url: string; authorization: string; text: string }[] = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      got.push({
        url: req.url ?? '',
        authorization: req.headers.authorization ?? '',
        text: Buffer.concat(chunks).toString('latin1'),
      })
      res.writeHead(answer.status, { 'Content-Type': 'application/json' })
      res.end(JSON.stringify(answer.body))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    got,
    answer,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => server.close(),
  }
}

const test = suite<{ app: TestApp }>('transcribe')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(async ({ app }) => {
  // In every case the recording is deleted.
  assert.equal(
    readdirSync(join(app.state, 'cache')).filter(name => name.endsWith('.part')),
    [],
  )
  await app.close()
})

const send = (app: TestApp, body: Buffer | string, headers: Record<string, string> = FORM_TYPE) =>
  app.request('POST', '/api/transcribe', { body, headers })

test('rejects a form without a recording (400)', async ({ app }) => {
  const refused = async (body: Buffer) => {
    const answer = await send(app, body)
    assert.is(answer.status, 400)
    return answer.body.error
  }
  assert.is(await refused(form({ name: 'a', data: 'b' })), 'No file field in request')
  assert.is(await refused(form({ name: 'file', filename: '', data: 'b' })), 'No filename in upload')
  assert.equal(app.errors, [])
})

test('returns 503 without a speech service', async ({ app }) => {
  const answer = await send(app, recording())
  assert.equal(
    [answer.status, answer.body.error],
    [503, 'Speech-to-text is unavailable on this server'],
  )
  assert.equal((await app.get('/api/transcribe/capability')).body, { available: false })
})

test('sends a recording to the configured service and returns its text', async ({ app }) => {
  const service = await speechService({ status: 200, body: { text: ' hello there ' } })
  writeFileSync(
    join(app.home, 'config.yaml'),
    `stt:\n  base_url: ${service.url}\n  api_key: sk-stt-secret\n  model: whisper-tiny\n`,
  )
  assert.equal((await app.get('/api/transcribe/capability')).body, { available: true })
  const sound = Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 256))
  const answer = await send(app, form({ name: 'file', filename: '../a b.webm', data: sound }))
  assert.equal([answer.status, answer.body], [200, { ok: true, transcript: 'hello there' }])
  const [got] = service.got
  assert.is(got!.url, '/v1/audio/transcriptions')
  assert.is(got!.authorization, 'Bearer sk-stt-secret')
  assert.ok(got!.text.includes('whisper-tiny'))
  assert.ok(got!.text.includes('filename="a_b.webm"'))
  assert.ok(got!.text.includes(sound.toString('latin1')))
  service.close()
})

test('reports the service’s error without the key', async ({ app }) => {
  const service = await speechService({
    status: 400,
    body: { error: { message: 'Invalid file format, sk-stt-secret' } },
  })
  writeFileSync(
    join(app.home, 'config.yaml'),
    `stt:\n  base_url: ${service.url}\n  api_key: sk-stt-secret\n`,
  )
  const bad = await send(app, recording())
  assert.equal([bad.status, bad.body.error], [400, 'Invalid file format, ***'])
  Object.assign(service.answer, { status: 500, body: 'oops' })
  const broken = await send(app, recording())
  assert.equal([broken.status, broken.body.error], [503, 'The speech service returned status 500'])
  service.close()
  writeFileSync(join(app.home, 'config.yaml'), 'stt:\n  base_url: http://127.0.0.1:9/v1\n')
  const away = await send(app, recording())
  assert.equal([away.status, away.body.error], [503, 'Couldn’t reach the speech service'])
  assert.equal(app.errors, [])
})

test.run()
