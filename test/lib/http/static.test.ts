/** Files: from the table of the page, and from the disk with ranges. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, gunzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { missing } from '../../../lib/errors.ts'
import { file } from '../../../lib/http/reply.ts'
import type { Asset } from '../../../lib/store/packed.ts'
import { assetReply, createAsset, encodingFor } from '../../../lib/http/static.ts'
import { endpoint, missingHeaders, openServer, type TestServer } from './_server.ts'
import { tempDir } from '../../_temp-dir.ts'

const script = Buffer.from('export const a = 1\n'.repeat(100))
const assets = new Map<string, Asset>([
  ['index.html', createAsset('index.html', Buffer.from('secret template'))],
  [
    '/static/app.js',
    createAsset('app.js', script, {
      br: brotliCompressSync(script),
      gzip: gzipSync(script),
      immutable: true,
    }),
  ],
  ['/static/plain.css', createAsset('plain.css', Buffer.from('a{}'))],
  ['/static/icon.png', createAsset('icon.png', Buffer.from([1, 2]))],
  ['/static/notes.xyz', createAsset('notes.xyz', Buffer.from('x'))],
  ['/static/zip.js', createAsset('zip.js', script, { gzip: gzipSync(script) })],
])
const dir = tempDir('agent-webui-static')
const path = join(dir, 'file.txt')
writeFileSync(path, '0123456789')
writeFileSync(join(dir, 'empty'), '')
mkdirSync(join(dir, 'folder'))
execFileSync('mkfifo', [join(dir, 'pipe')])

const raw = { summary: 'file', raw: '*/*' }
const test = suite<{ at: TestServer }>('http/static')
test.before(async context => {
  context.at = await openServer(
    {
      'GET /file': endpoint({
        ...raw,
        run: () =>
          file(path, {
            type: 'text/plain; charset=utf-8',
            headers: { 'Content-Disposition': 'attachment' },
          }),
      }),
      'GET /empty': endpoint({
        ...raw,
        run: () => file(join(dir, 'empty'), { type: 'text/plain' }),
      }),
      'GET /folder': endpoint({
        ...raw,
        run: () => file(join(dir, 'folder'), { type: 'text/plain' }),
      }),
      'GET /pipe': endpoint({ ...raw, run: () => file(join(dir, 'pipe'), { type: 'text/plain' }) }),
      'GET /gone': endpoint({ ...raw, run: () => file(join(dir, 'gone'), { type: 'text/plain' }) }),
      'GET /below': endpoint({ ...raw, run: () => file(join(path, 'x'), { type: 'text/plain' }) }),
    },
    {
      patternRoutes: {
        'GET /static/*': endpoint({
          ...raw,
          public: true,
          run: ctx => {
            const asset = assets.get(ctx.url.path)
            if (!asset) throw missing('not found')
            return assetReply(asset, ctx.req.headers)
          },
        }),
      },
    },
  )
})
test.after(async ({ at }) => {
  await at.close()
  rmSync(dir, { recursive: true })
})

test('serves nothing outside the table, for every spelling of a path', async ({ at }) => {
  const names = [
    '',
    '../index.html',
    '..%2findex.html',
    '%2e%2e/index.html',
    '..\\index.html',
    '..%5cindex.html',
    '%00',
    'app.js%00.css',
    'app.js/',
    './app.js',
    '/app.js',
    '//etc/passwd',
    '/etc/passwd',
    'C:\\x',
    'APP.JS',
    'app%2ejs',
    '....//index.html',
    'index.html',
    '__proto__',
    'constructor',
  ]
  for (const name of names) {
    const answer = await at.raw(
      `GET /static/${name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    assert.match(
      answer,
      /^HTTP\/1.1 404 [\s\S]*\r\n\r\n\{"error":"not found","code":"not_found"\}$/,
      name,
    )
  }
})

test('text media types have a charset', async ({ at }) => {
  const types = {
    'app.js': 'application/javascript; charset=utf-8',
    'plain.css': 'text/css; charset=utf-8',
    'icon.png': 'image/png',
    'notes.xyz': 'text/plain; charset=utf-8',
  }
  for (const [name, type] of Object.entries(types)) {
    const answer = await at.get(`/static/${name}`)
    assert.equal([answer.headers.get('content-type'), missingHeaders(answer.headers)], [type, []])
    await answer.arrayBuffer()
  }
})

test('sends the best accepted encoding, each with its own ETag', async ({ at }) => {
  const ask = async (accepted: string, more: Record<string, string> = {}) =>
    at.raw(
      `GET /static/app.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept-Encoding: ${accepted}\r\n${Object.entries(
        more,
      )
        .map(([k, v]) => `${k}: ${v}\r\n`)
        .join('')}\r\n`,
    )
  const tags = new Set<string>()
  for (const [accepted, encoding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0', 'gzip'],
    ['identity', undefined],
  ] as const) {
    const answer = await ask(accepted)
    assert.is(/^content-encoding: (\w+)/im.exec(answer)?.[1], encoding)
    assert.match(answer, /^vary: accept-encoding/im)
    assert.match(answer, /^cache-control: public, max-age=31536000, immutable/im)
    const etag = /^etag: (".*")/im.exec(answer)?.[1] ?? ''
    tags.add(etag)
    assert.match(
      await ask(accepted, { 'If-None-Match': etag }),
      /^HTTP\/1.1 304 (?![\s\S]*content-length)[\s\S]*\r\n\r\n$/i,
    )
    if (encoding === 'gzip')
      assert.equal(
        gunzipSync(Buffer.from(answer.split('\r\n\r\n').slice(1).join('\r\n\r\n'), 'latin1')),
        script,
      )
  }
  assert.is(tags.size, 3)
})

test('chooses the encoding', () => {
  const app = assets.get('/static/app.js')!
  const zip = assets.get('/static/zip.js')!
  const cases: [Asset, string | undefined, string | undefined][] = [
    [app, undefined, undefined],
    [app, '', undefined],
    [app, 'br;q=0, gzip', 'gzip'],
    [app, 'br;q=0.1,gzip;q=0', 'br'],
    [app, 'br ; q=0.5 , x', 'br'],
    [app, 'brx, xgzip', undefined],
    [app, 'BR', 'br'],
    [zip, 'br', undefined],
    [zip, 'gzip, br', 'gzip'],
    [assets.get('/static/plain.css')!, 'br', undefined],
  ]
  for (const [asset, accepted, encoding] of cases)
    assert.is(encodingFor(asset, accepted), encoding, accepted)
})

test('HEAD of a file has Content-Length', async ({ at }) => {
  const answer = await fetch(`${at.url}/static/plain.css`, { method: 'HEAD' })
  assert.equal(
    [answer.status, answer.headers.get('content-length'), await answer.text()],
    [200, '3', ''],
  )
  const onDisk = await fetch(`${at.url}/file`, { method: 'HEAD' })
  assert.equal([onDisk.status, onDisk.headers.get('content-length')], [200, '10'])
})

test('replies 404 for anything but regular files', async ({ at }) => {
  for (const name of ['folder', 'pipe', 'gone', 'below'])
    assert.is((await at.get(`/${name}`)).status, 404)
  assert.equal(at.errors, [])
})

test('sends a file on disk, whole and in ranges', async ({ at }) => {
  const whole = await at.get('/file')
  assert.equal(
    [whole.status, await whole.text(), whole.headers.get('content-disposition')],
    [200, '0123456789', 'attachment'],
  )
  const etag = whole.headers.get('etag') ?? ''
  const BEHIND =
    '{"error":"The file has 10 bytes; the range starts beyond its end","code":"range_not_satisfiable"}'
  const cases: [string, number, string, string | null][] = [
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=10-', 416, BEHIND, 'bytes */10'],
    ['bytes=-0', 416, BEHIND, 'bytes */10'],
    ['bytes=4-2', 200, '0123456789', null],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
    ['lines=0-1', 200, '0123456789', null],
    [`bytes=${'9'.repeat(30)}-`, 200, '0123456789', null],
  ]
  for (const [range, status, text, shown] of cases) {
    const answer = await at.get('/file', { Range: range })
    assert.equal(
      [answer.status, await answer.text(), answer.headers.get('content-range')],
      [status, text, shown],
      range,
    )
  }
  assert.is((await at.get('/file', { Range: 'bytes=0-1', 'If-Range': etag })).status, 206)
  assert.is((await at.get('/file', { Range: 'bytes=0-1', 'If-Range': '"old"' })).status, 200)
  assert.is((await at.get('/file', { 'If-None-Match': etag })).status, 304)
  utimesSync(path, 1, 1)
  assert.is((await at.get('/file', { 'If-None-Match': etag })).status, 200)
  const nothing = await at.get('/empty')
  assert.equal([nothing.status, await nothing.text()], [200, ''])
  assert.is((await at.get('/empty', { Range: 'bytes=0-' })).status, 416)
})

test.run()
