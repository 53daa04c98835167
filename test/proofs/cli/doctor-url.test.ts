/** `agent-webui doctor --url`: each thing that a reverse proxy does wrong is one sentence; a right one is all OK. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import {
  addressChecks,
  type AddressOptions,
} from '../../../lib/operations/checks/address-checks.ts'
import { ProxyCheck } from '../../../lib/http/proxy-check.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { openSmallProxy } from '../../_proxies.ts'
import { createDesk } from '../../lib/cli/_run.ts'

type Options = NonNullable<Parameters<typeof openSmallProxy>[2]>

const test = suite<{ app: TestApp }>('agent-webui doctor --url')
test.before(async context => {
  context.app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
})
test.after(async ({ app }) => app.close())

const FOR = { 'x-forwarded-for': '192.0.2.1' }
const PREFIX = { 'x-forwarded-prefix': '/agent' }

/** Where the event comes at once, however busy the machine is. */
const PATIENCE_MS = 120_000

/** What is not OK behind such a proxy. */
const through = async (
  app: TestApp,
  { path, ...options }: Options & { path?: string },
  given: Partial<AddressOptions> = {},
): Promise<string[]> => {
  const proxy = await openSmallProxy('small', app.url, options)
  try {
    const address = `http://127.0.0.1:${proxy.fronts[0]!.port}${path ?? options.base ?? ''}`
    const checks = await addressChecks(address, {
      clock: systemClock,
      waitMs: PATIENCE_MS,
      ...given,
    })
    for (const { level, advice } of checks) assert.is(level === 'ok', advice === undefined)
    return checks
      .filter(({ level }) => level !== 'ok')
      .map(({ level, about, said, advice }) => `${level} ${about}: ${said}. ${advice}`)
  } finally {
    await proxy.close()
  }
}

/** A server of any kind at an address of its own. */
const beside = async (listener: RequestListener, path = '/'): Promise<string[]> => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const checks = await addressChecks(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
      { clock: systemClock },
    )
    return checks
      .filter(({ level }) => level !== 'ok')
      .map(({ level, about, said }) => `${level} ${about}: ${said}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const expect = (found: string[], ...wanted: RegExp[]): void => {
  assert.is(found.length, wanted.length, found.join('\n'))
  for (const [at, each] of wanted.entries()) assert.match(found[at] ?? '', each)
}

test('a wrong address, and something else at it', async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  free.close()
  await once(free, 'close')
  const closed = await addressChecks(`http://127.0.0.1:${port}`, { clock: systemClock })
  assert.equal(
    closed.map(({ level, about, said }) => `${level} ${about}: ${said}`),
    [`fail address: http://127.0.0.1:${port}: connection refused`],
  )
  expect(
    await beside((_, res) => res.writeHead(502).end('<h1>Bad Gateway</h1>')),
    /^fail page: The proxy at \S+ answers 502: it does not reach agent-webui$/,
  )
  expect(
    await beside((_, res) => res.end('<h1>It works!</h1>')),
    /^fail page: \S+ answers 200, and not from agent-webui$/,
  )
  expect(
    await beside((req, res) =>
      req.url === '/'
        ? res.writeHead(302, { Location: '/login' }).end()
        : res.writeHead(404).end('{"error": "no"}'),
    ),
    /^fail page: \S+ does not know this check \(404\): it is another program, or an older agent-webui$/,
  )
  expect(
    await beside((_, res) => res.writeHead(401, { 'WWW-Authenticate': 'Basic' }).end()),
    /^warn page: The proxy at \S+ asks for a sign-in of its own \(401\)$/,
  )
  expect(
    await beside((_, res) => res.writeHead(302, { Location: 'https://sso.example/' }).end()),
    /^warn page: The proxy at \S+ asks for a sign-in of its own at sso\.example$/,
  )
  expect(
    await beside((_, res) =>
      res.writeHead(301, { Location: 'https://127.0.0.1:8443/agent/' }).end(),
    ),
    /^fail page: \S+ leads to https:\/\/127\.0\.0\.1:8443\/agent\/$/,
  )
  expect(
    await beside(req => req.socket.end('220 mail\r\n')),
    /^fail address: \S+: it does not speak HTTP$/,
  )
  // Text of another program, which the terminal must not obey.
  expect(
    await beside((_, res) => res.writeHead(500).end('{"error": "a\\u001b[31mb\\r\\nc"}')),
    /^fail page: a[^\p{Cc}]+$/u,
  )
  // More than anyone wants to read.
  expect(
    await beside((_, res) => {
      const send = () => {
        while (!res.destroyed && res.write('x'.repeat(100_000)));
      }
      res.on('drain', send)
      send()
    }),
    /^fail page: \S+ answers 200, and not from agent-webui$/,
  )
})

test('TLS where there is none', async ({ app }) => {
  const [check, ...more] = await addressChecks(app.url.replace('http:', 'https:'), {
    clock: systemClock,
  })
  assert.is(more.length, 0)
  assert.match(check?.said ?? '', 'it does not speak TLS; should the address begin with http://')
})

test('a path that is not named, or is another', async ({ app }) => {
  expect(
    await through(app, { base: '/agent', headers: FOR }),
    /^fail path: The page is made for the path \/, but the proxy serves it below \/agent\. Make the proxy send "X-Forwarded-Prefix: \/agent", or set AGENT_WEBUI_BASE_PATH=\/agent\.$/,
  )
  expect(
    await through(app, { base: '/agent', keeps: true, headers: FOR }),
    /^fail page: Not found\. If your reverse proxy serves this below \/agent, set AGENT_WEBUI_BASE_PATH=\/agent/,
  )
  expect(
    await through(app, { headers: { ...FOR, ...PREFIX } }),
    /^fail path: The page is made for the path \/agent, but the proxy serves it at \/\. Remove/,
  )
  expect(
    await through(app, { base: '/agent', headers: { ...FOR, ...PREFIX }, path: '/other' }),
    /^fail page: \S+\/other\/ answers 404, and not from agent-webui/,
  )
})

test('headers that are missing: the host, the visitor', async ({ app }) => {
  expect(
    await through(app, { host: '127.0.0.1:8787', headers: FOR }),
    /^fail origin: Cross-origin request rejected\. The browser is at http:\/\/127\.0\.0\.1:\d+, but the request arrived with "Host: 127\.0\.0\.1:8787"\. Your reverse proxy must pass the Host header on/,
  )
  expect(
    await through(app, { via: '1.1 proxy' }),
    /^warn proxy headers: The proxy does not say for whom it asks, so all visitors count as this machine\. Make it send X-Forwarded-For/,
  )
})

test('headers of a proxy that is not trusted are ignored', async () => {
  const env = { AGENT_WEBUI_PASSWORD: 'x', AGENT_WEBUI_TRUSTED_PROXIES: '192.0.2.0/24' }
  const app = await startApp({ env })
  try {
    expect(
      await through(app, { headers: FOR }),
      /^warn proxy headers: X-Forwarded-For of 127\.0\.0\.1 was ignored\. If that is your proxy, add the address to AGENT_WEBUI_TRUSTED_PROXIES\.$/,
    )
  } finally {
    await app.close()
  }
})

test('a host name that is unknown without a password', async () => {
  const app = await startApp()
  try {
    expect(
      await through(app, { host: 'agent.example.com', headers: FOR }),
      /^fail page: This host name is not allowed while no password is set; add its origin/,
    )
  } finally {
    await app.close()
  }
})

test('responses that are held back, and bodies that are refused', async ({ app }) => {
  expect(
    await through(app, { headers: FOR, collects: true }, { waitMs: 300 }),
    /^fail event stream: The proxy holds event streams back, so answers arrive all at once\. Turn buffering off/,
  )
  expect(
    await through(app, { headers: FOR, maxBytes: 1024 * 1024 }),
    /^fail uploads: The proxy refuses requests of 2 MB.*\. Allow 25 MB \(nginx: client_max_body_size 25m;\)\.$/,
  )
})

test('a clock that is another than here', async ({ app }) => {
  expect(
    await through(app, { headers: FOR }, { clock: createTestClock(Date.now() + 2 * 86_400_000) }),
    /^warn clock: The clock is 2 days ahead of that of 127\.0\.0\.1:\d+\. Set the clock/,
  )
})

test('a right proxy is OK, and so is no proxy', async ({ app }) => {
  expect(await through(app, { headers: FOR }))
  expect(await through(app, { base: '/agent', headers: { ...FOR, ...PREFIX } }))
  expect(await through(app, { base: '/agent', keeps: true, headers: { ...FOR, ...PREFIX } }))
  assert.ok(
    (await addressChecks(app.url, { clock: systemClock })).every(({ level }) => level === 'ok'),
  )
  const stream = await fetch(`${app.url}/api/proxy-check`)
  assert.is(stream.status, 200)
  const reader = stream.body!.getReader()
  assert.match(new TextDecoder().decode((await reader.read()).value), 'event: ready')
  await reader.cancel()
})

test('only so many streams are open at the same time', async () => {
  const proxyCheck = new ProxyCheck(systemClock)
  const clients = Array.from({ length: 8 }, () => new AbortController())
  const streams = clients.map(({ signal }) => proxyCheck.stream(signal))
  for (const each of streams) assert.match((await each.next()).value ?? '', 'event: ready')
  assert.throws(() => proxyCheck.stream(new AbortController().signal), /Too many checks/)
  const end = streams[0]!.next()
  clients[0]!.abort()
  assert.is((await end).done, true)
  // One that is disconnected before its event is read ends, too.
  const gone = proxyCheck.stream(AbortSignal.abort())
  await gone.next()
  assert.is((await gone.next()).done, true)
  const again = proxyCheck.stream(new AbortController().signal)
  assert.is((await again.next()).done, false)
  await again.return(undefined)
  for (const client of clients) client.abort()
  await Promise.all(streams.map(each => each.next()))

  const busy: RequestListener = (req, res) => {
    if (req.method === 'POST') res.end('{"base_path": "", "is_forwarded": true, "problem": null}')
    else if (req.url === '/') res.end('<base href="/">')
    else res.writeHead(429).end('{}')
  }
  expect(await beside(busy), /^warn event stream: Too many checks run at the same time$/)
})

test('the command: exit codes, JSON, wrong arguments', async ({ app }) => {
  const desk = createDesk()
  try {
    const good = await desk.talk(['doctor', '--url', app.url])
    assert.is(good.code, 0)
    assert.match(good.out, '✓ event stream: events arrive at once\n')
    assert.match(good.out, 'Everything is OK.')
    const bad = await desk.talk(['doctor', '--json', `--url=${app.url}/agent`])
    assert.is(bad.code, 1)
    const { ok, checks } = JSON.parse(bad.out)
    assert.equal([ok, checks[0].about], [false, 'page'])
    for (const [args, said] of [
      [['--url'], '--url needs a value.'],
      [['--url', 'example.com'], 'needs an address like https://'],
      [['--url', 'ftp://example.com'], 'needs an address like https://'],
      [['--url', 'https://me@example.com'], 'needs an address like https://'],
      [['--url', app.url, '--fix'], 'use it without --fix'],
      [['--url', app.url, '--wait'], 'use it without --fix'],
    ] as const) {
      const { code, err } = await desk.talk(['doctor', ...args])
      assert.is(code, 2)
      assert.match(err, said)
    }
  } finally {
    desk.close()
  }
})

test.run()
