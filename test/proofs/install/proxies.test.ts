/** The service behind reverse proxies: at the root, below a path that is removed, and below one that is kept. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { addressChecks } from '../../../lib/operations/checks/address-checks.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { endpoint, openServer } from '../../lib/http/_server.ts'
import {
  type Front,
  open,
  openCaddy,
  openNginx,
  openSmallProxy,
  type FrontProxy,
  type Targets,
  visit,
} from '../../_proxies.ts'

const PASSWORD = 'correct horse'
const MB = 1024 * 1024

type Context = { plain: TestApp; based: TestApp; targets: Targets }
const test = suite<Context>('reverse proxies')

test.before(async context => {
  const env = { AGENT_WEBUI_PASSWORD: PASSWORD }
  context.plain = await startApp({ env })
  context.based = await startApp({ env: { ...env, AGENT_WEBUI_BASE_PATH: '/agent' } })
  context.targets = { plain: context.plain.url, based: context.based.url }
})
test.after(async ({ plain, based }) => {
  await Promise.all([plain.close(), based.close()])
})

const cookiesOf = (headers: { 'set-cookie'?: string[] }) => headers['set-cookie'] ?? []

const signIn = async (front: Front): Promise<Record<string, string>> => {
  const origin = `https://${front.host}`
  const body = JSON.stringify({ password: PASSWORD })
  const from = (site: string, relation: string) =>
    visit(front, '/api/auth/login', {
      method: 'POST',
      body,
      headers: { Origin: site, 'Sec-Fetch-Site': relation, 'Content-Type': 'application/json' },
    })
  const other = await from('https://evil.example', 'cross-site')
  assert.is(other.status, 403)
  assert.is(JSON.parse(other.text).error, 'Cross-origin request rejected')
  const { status, headers, text } = await from(origin, 'same-origin')
  assert.is(status, 200, text)
  const [cookie = ''] = cookiesOf(headers)
  assert.match(cookie, /^agent_session=[^;]+;.* Path=\/; SameSite=Lax; Secure$/)
  return { Cookie: cookie.split(';')[0]!, Origin: origin }
}

const checkPages = async (front: Front): Promise<void> => {
  const { base } = front
  const first = await visit(front, '/tasks?a=b')
  assert.equal([first.status, first.headers.location], [302, `${base}/login`])
  const [wanted = ''] = cookiesOf(first.headers)
  assert.match(wanted, `agent_wanted=${encodeURIComponent('/tasks?a=b')}; `)
  assert.match(wanted, ` Path=${base}/login; `)
  assert.match(wanted, /; Secure$/)
  if (base !== '') {
    const bare = await visit(front, '')
    assert.ok(bare.status >= 301 && bare.status <= 308, `${bare.status}`)
    assert.is(new URL(bare.headers.location ?? '', `https://${front.host}/`).pathname, `${base}/`)
  }
  const login = await visit(front, '/login')
  assert.match(login.text, `<base href="${base}/">`)
  // Relative to the base, like the scope of the worker, which is the directory of its script.
  const { start_url, scope } = JSON.parse((await visit(front, '/manifest.webmanifest')).text)
  assert.equal([start_url, scope], ['./', './'])
  const worker = await visit(front, '/sw.js', { headers: { 'Service-Worker': 'script' } })
  assert.is(worker.status, 200)
  assert.is((await visit(front, '/health')).status, 200)
  assert.is((await visit(front, '/nowhere/at/all')).headers.location, `${base}/login`)
}

const checkApi = async (front: Front, headers: Record<string, string>): Promise<void> => {
  const page = await visit(front, '/', { headers })
  assert.equal([page.status, page.text.includes(`<base href="${front.base}/">`)], [200, true])
  // Visible where the style sheet cannot be loaded, because the proxy does not say its path.
  assert.match(page.text, /<p class="no-files">.+X-Forwarded-Prefix/)
  const style = /rel="stylesheet"[^>]* href="(static\/main[^"]*\.css)"/.exec(page.text)?.[1]
  assert.match((await visit(front, `/${style}`)).text, /\.no-files\s*\{\s*display:\s*none/)
  const script = /src="(static\/main[^"]*\.js)"/.exec(page.text)?.[1]
  assert.is((await visit(front, `/${script}`)).status, 200)
  const list = await visit(front, '/api/sessions?limit=5', { headers })
  assert.is(list.status, 200)
  const tag = list.headers.etag
  const again = { ...headers, 'If-None-Match': String(tag) }
  assert.is((await visit(front, '/api/sessions?limit=5', { headers: again })).status, 304)
}

/** The stream has not ended when its first event is here, nor when a later one arrives. */
const checkStream = async (front: Front, headers: Record<string, string>): Promise<string> => {
  const stream = await open(front, '/api/events', { headers })
  assert.match(stream.headers['content-type'] ?? '', 'text/event-stream')
  let text = ''
  const until = async (words: string): Promise<void> => {
    while (!text.includes(words)) {
      const chunk: Buffer | null = stream.read()
      if (chunk) text += chunk
      else await new Promise(resolve => stream.once('readable', resolve))
      assert.not.ok(stream.readableEnded)
    }
  }
  await until('event: ready')
  const made = await visit(front, '/api/session/new', {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: '{}',
  })
  assert.is(made.status, 200, made.text)
  const { session_id } = JSON.parse(made.text).session
  await until(session_id)
  stream.destroy()
  return session_id
}

const checkUpload = async (front: Front, headers: Record<string, string>, id: string) => {
  const upload = (bytes: number) => {
    const head = `--b\r\nContent-Disposition: form-data; name="session_id"\r\n\r\n${id}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="${bytes}-${front.port}.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`
    const tail = '\r\n--b--\r\n'
    const content = Buffer.alloc(bytes - head.length - tail.length, 7)
    return visit(front, '/api/upload', {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'multipart/form-data; boundary=b' },
      body: Buffer.concat([Buffer.from(head), content, Buffer.from(tail)]),
    })
  }
  const largest = await upload(20 * MB)
  assert.is(largest.status, 200, largest.text)
  assert.match(JSON.parse(largest.text).path, `${20 * MB}-${front.port}.bin`)
  const over = await upload(20 * MB + 1)
  assert.equal([over.status, JSON.parse(over.text).code], [400, 'body_too_large'])
}

/** What `doctor --url` says: nothing but that the test's certificate is its own. */
const checkDoctor = async (front: Front): Promise<void> => {
  const { host, base, usesTls } = front
  // The small proxies only act as if they ended TLS.
  if (!usesTls) return
  const checks = await addressChecks(`https://${host}${base}`, {
    clock: systemClock,
    waitMs: 120_000,
    lookup: (_, { all }, found) => {
      if (all) found(null, [{ address: '127.0.0.1', family: 4 }])
      else found(null, '127.0.0.1', 4)
    },
  })
  assert.equal(
    checks.map(({ level, about }) => `${level} ${about}`),
    [
      'warn certificate',
      'ok page',
      'ok proxy headers',
      'ok origin',
      'ok event stream',
      'ok uploads',
      'ok clock',
    ],
    JSON.stringify(checks),
  )
}

const checkAll = async (proxy: FrontProxy): Promise<void> => {
  try {
    for (const [at, front] of proxy.fronts.entries()) {
      try {
        await checkPages(front)
        await checkDoctor(front)
        const headers = await signIn(front)
        await checkApi(front, headers)
        const id = await checkStream(front, headers)
        if (at === 0) await checkUpload(front, headers, id)
      } catch (error) {
        if (error instanceof Error) error.message = `${front.name}: ${error.message}`
        throw error
      }
    }
  } finally {
    await proxy.close()
  }
}

const HTTPS = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }

test('a small proxy: at the root, with the prefix removed or kept, named by the header or by AGENT_WEBUI_BASE_PATH', async ({
  targets: { plain, based },
}) => {
  const named = { ...HTTPS, 'x-forwarded-prefix': '/agent' }
  const forwarded = {
    host: '127.0.0.1:8787',
    headers: { ...HTTPS, 'x-forwarded-host': 'example.com' },
  }
  const proxies = await Promise.all([
    openSmallProxy('root', plain, { headers: HTTPS }),
    openSmallProxy('root, X-Forwarded-Host', plain, forwarded),
    openSmallProxy('removed, header', plain, { base: '/agent', headers: named }),
    openSmallProxy('kept, header', plain, { base: '/agent', keeps: true, headers: named }),
    openSmallProxy('removed, variable', based, { base: '/agent', headers: HTTPS }),
    openSmallProxy('kept, variable', based, { base: '/agent', keeps: true, headers: HTTPS }),
    openSmallProxy('header before variable', based, {
      base: '/other/path',
      headers: { ...HTTPS, 'x-forwarded-prefix': '/other/path/' },
    }),
  ])
  await checkAll({
    fronts: proxies.flatMap(({ fronts }) => fronts),
    close: async () => void (await Promise.all(proxies.map(proxy => proxy.close()))),
  })
})

test('nginx, with the files of the documentation', async ({ targets }) => {
  const proxy = await openNginx(targets)
  if (proxy) await checkAll(proxy)
})

test('Caddy, with the files of the documentation', async ({ targets }) => {
  const proxy = await openCaddy(targets)
  if (proxy) await checkAll(proxy)
})

test('a proxy that withholds a header gets its name and the line that adds it', async ({
  plain,
  targets,
}) => {
  const upstream = targets.plain.slice('http://'.length)
  const proxies = await Promise.all([
    openSmallProxy('no Host', targets.plain, { host: upstream, headers: HTTPS }),
    openSmallProxy('no X-Forwarded-Proto', targets.plain),
    openSmallProxy('no prefix', targets.plain, { base: '/agent', keeps: true, headers: HTTPS }),
  ])
  const [noHost, noScheme, noPrefix] = proxies.map(({ fronts }) => fronts[0]!) as [
    Front,
    Front,
    Front,
  ]
  const login = (front: Front, headers: Record<string, string>) =>
    visit(front, '/api/auth/login', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ password: PASSWORD }),
    })
  try {
    const here = { Origin: 'https://example.com' }
    const sentence = `Cross-origin request rejected. The browser is at https://example.com, but the request arrived with "Host: ${upstream}". Your reverse proxy must pass the Host header on (nginx: proxy_set_header Host $http_host;).`
    const same = { ...here, 'Sec-Fetch-Site': 'same-origin' }
    for (const headers of [here, same]) {
      const { status, text } = await login(noHost, headers)
      assert.equal([status, JSON.parse(text).error], [403, sentence])
    }
    // Another site gets no explanation.
    const foreign = await login(noHost, { ...here, 'Sec-Fetch-Site': 'cross-site' })
    assert.is(JSON.parse(foreign.text).error, 'Cross-origin request rejected')

    const port = await login(noScheme, {
      Origin: 'https://example.com:8443',
      'Sec-Fetch-Site': 'same-origin',
    })
    assert.match(port.text, '"Host: example.com\\", without the port. Your reverse proxy must pass')

    for (let n = 0; n < 2; n++) assert.is((await login(noScheme, here)).status, 200)
    const warnings = plain.lines.filter(line => line.includes('X-Forwarded-Proto: https'))
    assert.is(warnings.length, 1, plain.lines.join('\n'))

    for (const path of ['/', '/login', '/static/main.js', '/api/auth/status']) {
      const { status, text } = await visit(noPrefix, path)
      assert.is(status, 404, path)
      assert.match(
        JSON.parse(text).error,
        'set AGENT_WEBUI_BASE_PATH=/agent, or make the proxy send "X-Forwarded-Prefix: /agent"',
      )
    }
    // Nothing is said about paths that need a sign-in.
    assert.is((await visit(noPrefix, '/api/sessions')).headers.location, '/login')
  } finally {
    await Promise.all(proxies.map(proxy => proxy.close()))
  }
})

test('headers of a proxy that is not trusted are ignored, and the refusal says so', async () => {
  const env = { AGENT_WEBUI_PASSWORD: PASSWORD, AGENT_WEBUI_TRUSTED_PROXIES: '10.0.0.1' }
  const app = await startApp({ env })
  const proxy = await openSmallProxy('not trusted', app.url, {
    host: '127.0.0.1:8787',
    headers: { ...HTTPS, 'x-forwarded-host': 'example.com', 'x-forwarded-prefix': '/agent' },
  })
  const front = proxy.fronts[0]!
  try {
    assert.is((await visit(front, '/')).headers.location, '/login')
    const { status, text } = await visit(front, '/api/auth/login', {
      method: 'POST',
      headers: { Origin: 'https://example.com', 'Content-Type': 'application/json' },
      body: JSON.stringify({ password: PASSWORD }),
    })
    assert.is(status, 403)
    assert.is(
      JSON.parse(text).error,
      'Cross-origin request rejected. X-Forwarded-Host of 127.0.0.1 was ignored. If that is your proxy, add the address to AGENT_WEBUI_TRUSTED_PROXIES.',
    )
  } finally {
    await proxy.close()
    await app.close()
  }
})

test('a base path that begins like a path of the service is rejected', async () => {
  for (const basePath of ['/api', '/api/x', '/static/x'])
    await openServer(
      { 'GET /api/x': endpoint({ summary: 'x', run: () => ({}) }) },
      {
        config: { host: '', allowedOrigins: [], trustedProxies: [], basePath },
        patternRoutes: { 'GET /static/*': endpoint({ summary: 'x', run: () => ({}) }) },
      },
    ).then(
      () => assert.unreachable(basePath),
      error => assert.match(error.message, `must not begin with /${basePath.split('/')[1]}`),
    )
})

test.run()
