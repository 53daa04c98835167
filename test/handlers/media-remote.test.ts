/** Pictures of other hosts: fetched by the service, for a person of this page, by the rules for the agent's own requests. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

type Context = {
  app: TestApp
  host: Server
  url: string
  asked: { path: string; cookie: string }[]
}

const test = suite<Context>('GET /api/media/remote')
test.before.each(async context => {
  context.asked = []
  context.host = createServer((req, res) => {
    context.asked.push({ path: req.url ?? '', cookie: req.headers.cookie ?? '' })
    if (req.url === '/page') return void res.setHeader('content-type', 'image/png').end('<html>')
    if (req.url === '/away') return void res.writeHead(302, { location: '/a.png' }).end()
    res.setHeader('content-type', 'text/html').end(PNG)
  })
  await new Promise<void>(resolve => context.host.listen(0, '127.0.0.1', resolve))
  context.url = `http://127.0.0.1:${(context.host.address() as AddressInfo).port}`
  context.app = await startApp()
})
test.after.each(async ({ app, host }) => {
  await app.close()
  host.close()
})

const path = (url: string) => `/api/media/remote?url=${encodeURIComponent(url)}`

test('rejects private addresses, other schemes and cross-site requests without fetching', async ({
  app,
  url,
  asked,
}) => {
  for (const place of [`${url}/a.png`, 'file:///etc/passwd', 'http://169.254.169.254/', 'x', '']) {
    const { status, body } = await app.get(path(place))
    assert.ok(status >= 400 && status < 500, `${place}: ${status}`)
    assert.type(body.error, 'string')
  }
  writeFileSync(join(app.home, 'config.yaml'), 'browser:\n  allow_private_urls: true\n')
  const foreign = await app.get(path(`${url}/a.png`), {
    headers: { 'sec-fetch-site': 'cross-site' },
  })
  assert.is(foreign.status, 403)
  assert.equal(asked, [])
})

test('detects an image by its content, not its name; forwards no cookie', async ({
  app,
  url,
  asked,
}) => {
  writeFileSync(join(app.home, 'config.yaml'), 'browser:\n  allow_private_urls: true\n')
  const { status, headers, bytes } = await app.get(path(`${url}/away`), {
    headers: { cookie: 'agent_session=secret' },
  })
  assert.is(status, 200)
  assert.is(headers['content-type'], 'image/png')
  assert.match(String(headers['content-security-policy']), /^sandbox/)
  assert.ok(bytes.equals(PNG))
  assert.equal(
    asked.map(({ cookie }) => cookie),
    ['', ''],
  )
  assert.is((await app.get(path(`${url}/page`))).status, 503)
})

test('the page may load nothing from other hosts', async ({ app }) => {
  const policy = String((await app.get('/')).headers['content-security-policy'])
  assert.match(policy, "img-src 'self' data: blob:;")
  assert.not.match(policy, /https?:/)
})

test.run()
