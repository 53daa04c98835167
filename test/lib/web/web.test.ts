/** Fetching pages over real HTTP: where a name leads at the moment of the connection, redirects, sizes, types, what is cut off. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync, brotliCompressSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fetchPage, type FetchOptions } from '../../../lib/web/web.ts'
import { readPage } from '../../../lib/web/extract.ts'

type Handler = (req: IncomingMessage, res: ServerResponse) => void
type Context = { server: Server; port: number; paths: Record<string, Handler>; asked: string[] }
const test = suite<Context>('web fetch')

test.before(async context => {
  context.paths = {}
  context.asked = []
  context.server = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://x')
    context.asked.push(`${req.headers.host} ${pathname}`)
    const handler = context.paths[pathname]
    if (handler) handler(req, res)
    else res.writeHead(404).end()
  })
  await new Promise<void>(done => context.server.listen(0, '127.0.0.1', done))
  context.port = (context.server.address() as AddressInfo).port
})
test.before.each(context => {
  context.asked.length = 0
})
test.after(({ server }) => {
  server.closeAllConnections()
  server.close()
})

const page =
  (body: string | Buffer, headers: Record<string, string> = {}): Handler =>
  (_req, res) =>
    res.writeHead(200, { 'content-type': 'text/html', ...headers }).end(body)
const redirect =
  (location: string): Handler =>
  (_req, res) =>
    res.writeHead(302, { location }).end()

const here = (host: string) => host === '127.0.0.1' || host === '::1'
const options = (more: Partial<FetchOptions> = {}): FetchOptions => ({
  signal: new AbortController().signal,
  allow: here,
  accept: '*/*',
  checkType: () => undefined,
  maxBytes: 1_000_000,
  timeoutMs: 120_000,
  ...more,
})
/** Names lead here; nothing is asked of a real resolver. */
const leading = (...addresses: string[]) => {
  const left = [...addresses]
  const resolve = async () => [{ address: left.length > 1 ? left.shift()! : left[0]!, family: 4 }]
  return resolve
}
const fetching = (...addresses: string[]) => {
  const resolve = leading(...addresses)
  return (url: string, given: FetchOptions) => fetchPage(url, { ...given, resolve })
}
const said = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  throw new Error('It should have been refused.')
}

test('rejects a name that resolves to this machine when connecting, and sends nothing', async ({
  port,
  asked,
}) => {
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1']) {
    const fetch = fetching(address)
    const why = await said(fetch(`http://public.example:${port}/`, options({ allow: () => false })))
    assert.match(why, 'public.example is not on the public internet', address)
  }
  assert.equal(asked, [])
})

test('rejects a name that resolves differently the second time: every lookup is checked', async ({
  port,
  paths,
  asked,
}) => {
  paths['/first'] = (_req, res) =>
    void res.writeHead(302, { location: '/second', connection: 'close' }).end()
  paths['/second'] = page('never')
  // 127.0.0.1 plays the public internet, the machine's second address the private network.
  const fetch = fetching('127.0.0.1', '127.0.0.2')
  const allow = (host: string) => host === '127.0.0.1'
  const why = await said(fetch(`http://rebind.example:${port}/first`, options({ allow })))
  assert.match(why, 'public internet')
  assert.equal(asked, [`rebind.example:${port} /first`])
})

test('redirects: rejects private addresses, other schemes, credentials and endless chains', async ({
  port,
  paths,
}) => {
  const fetch = fetching('127.0.0.1')
  const start = `http://public.example:${port}`
  const only = options({ allow: host => host === '127.0.0.1' })
  paths['/meta'] = redirect('http://169.254.169.254/latest')
  paths['/six'] = redirect(`http://[::ffff:10.0.0.1]:${port}/`)
  paths['/local'] = redirect(`http://localhost:${port}/`)
  paths['/file'] = redirect('file:///etc/passwd')
  paths['/login'] = redirect(`http://a:b@public.example:${port}/`)
  paths['/round'] = redirect('/round')
  assert.match(await said(fetch(`${start}/meta`, only)), 'public internet')
  assert.match(await said(fetch(`${start}/six`, only)), 'public internet')
  assert.match(await said(fetch(`${start}/local`, only)), 'public internet')
  assert.match(await said(fetch(`${start}/file`, only)), 'http:// or https://')
  assert.match(await said(fetch(`${start}/login`, only)), 'user name or password')
  assert.match(await said(fetch(`${start}/round`, only)), 'redirects too often')
})

test('checks every address of a redirect chain', async ({ port, paths }) => {
  paths['/one'] = redirect('/two?x=secret')
  const seen: string[] = []
  const check = (url: URL) => {
    seen.push(url.pathname)
    if (url.search) throw new Error('no')
  }
  const fetch = fetching('127.0.0.1')
  await said(fetch(`http://public.example:${port}/one`, options({ check })))
  assert.equal(seen, ['/one', '/two'])
})

test('rejects too large bodies, also when decompressed, truncated ones and ones that never arrive', async ({
  port,
  paths,
}) => {
  const fetch = fetching('127.0.0.1')
  const at = (path: string) => `http://public.example:${port}${path}`
  const small = options({ maxBytes: 1 << 20 })
  paths['/large'] = page('x'.repeat(2 << 20))
  paths['/bomb'] = page(gzipSync(Buffer.alloc(8 << 20)), { 'content-encoding': 'gzip' })
  paths['/cut'] = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/html', 'content-length': '100' }).write('half')
    setImmediate(() => res.destroy())
  }
  paths['/never'] = () => undefined
  assert.match(await said(fetch(at('/large'), small)), 'larger than 1 MB')
  assert.match(await said(fetch(at('/bomb'), small)), 'larger than 1 MB')
  assert.match(await said(fetch(at('/cut'), small)), 'could not be read')
  assert.match(await said(fetch(at('/never'), { ...small, timeoutMs: 400 })), 'timed out')
  assert.match(await said(fetch(at('/gone'), small)), 'status 404')
  const stopped = AbortSignal.abort(new Error('stopped'))
  assert.match(await said(fetch(at('/large'), { ...small, signal: stopped })), 'stopped')
})

test('converts a page to text: the article, absolute links, its charset', async ({
  port,
  paths,
}) => {
  const paragraph = 'This is a long sentence about brewing coffee in a French press at home. '
  const html = `<html><head><meta charset="iso-8859-1"><title>Caf\u00e9</title><script>alert(1)</script></head>
<body><nav>Menu</nav><article><h1>Caf\u00e9</h1><p>${paragraph.repeat(6)}</p><p>More <a href="/b?c">here</a>. ${paragraph.repeat(4)}</p></article></body></html>`
  paths['/latin'] = page(brotliCompressSync(Buffer.from(html, 'latin1')), {
    'content-encoding': 'br',
  })
  paths['/list'] = page('<ul><li>One</li><li>Two <a href="javascript:x()">bad</a></li></ul>')
  paths['/json'] = page('{"a":1}', { 'content-type': 'application/json; charset=utf-8' })
  paths['/pdf'] = page('%PDF', { 'content-type': 'application/pdf' })
  paths['/zip'] = page('PK', { 'content-type': 'application/zip' })
  paths['/picture'] = page('x', { 'content-type': 'image/png' })
  const deps = {
    resolve: leading('127.0.0.1'),
    allow: here,
    check: () => undefined,
    summarize: null,
  }
  const read = (path: string) =>
    readPage(deps, `http://public.example:${port}${path}`, new AbortController().signal)
  const latin = await read('/latin')
  assert.is(latin.title, 'Café')
  assert.match(latin.content, 'brewing coffee')
  assert.match(latin.content, `[here](http://public.example:${port}/b?c)`)
  assert.not.match(latin.content, /alert|Menu/)
  const { content } = await read('/list')
  assert.match(content, /- +One/)
  assert.not.match(content, 'javascript')
  assert.is((await read('/json')).content, '{"a":1}')
  assert.match(await said(read('/pdf')), 'PDF')
  assert.match(await said(read('/zip')), 'application/zip')
  assert.match(await said(read('/picture')), 'vision_analyze')
})

test('summarizes a long page with a model, or truncates it without one', async ({
  port,
  paths,
}) => {
  const text = `${'word '.repeat(9_000)}END`
  paths['/long'] = page(text, { 'content-type': 'text/plain' })
  const deps = { resolve: leading('127.0.0.1'), allow: here, check: () => undefined }
  const { signal } = new AbortController()
  const url = `http://public.example:${port}/long`
  const cut = await readPage({ ...deps, summarize: null }, url, signal)
  assert.match(cut.content, /25003 more characters of this page are not shown/)
  const given: string[] = []
  const summarize = async (long: string) => {
    given.push(long)
    return 'It is about words.'
  }
  const short = await readPage({ ...deps, summarize }, url, signal)
  assert.is(short.content, '[Summary of 45003 characters]\nIt is about words.')
  assert.ok(given[0]?.endsWith('END'))
  const failing = async () => {
    throw new Error('nobody')
  }
  assert.is((await readPage({ ...deps, summarize: failing }, url, signal)).content, cut.content)
})

test.run()
