/** Files leave and arrive over HTTP: raw bytes, media, zip archives, uploads. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { join } from 'node:path'
import { crc32, inflateRawSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fileScope } from '../../lib/workspaces/file-scope.ts'
import { zipFolder } from '../../lib/workspaces/zip.ts'
import { type Desk, HOSTILE_NAMES, openDesk } from './_files.ts'

const raw = suite<Desk>('raw files and media')
raw.before.each(async context => void Object.assign(context, await openDesk()))
raw.after.each(({ app }) => app.close())

raw(
  'media types follow the extension; documents with scripts are sandboxed downloads',
  async desk => {
    const { app, root, query } = desk
    const types: Record<string, string> = {
      'a.png': 'image/png',
      'A.JPG': 'image/jpeg',
      'a.pdf': 'application/pdf',
      'a.json': 'application/json',
      'a.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'a.unknown': 'application/octet-stream',
      'a.constructor': 'application/octet-stream',
      Makefile: 'application/octet-stream',
      'a.svg': 'image/svg+xml',
      'a.html': 'text/html; charset=utf-8',
      'a.xhtml': 'application/xhtml+xml',
    }
    for (const [name, type] of Object.entries(types)) {
      writeFileSync(join(root, name), '<script>alert(1)</script>')
      const answer = await app.get(`/api/file/raw?${query({ path: name })}`)
      assert.is(answer.headers['content-type'], type, name)
      assert.is(answer.headers['x-content-type-options'], 'nosniff')
      assert.is(answer.headers['x-frame-options'], 'DENY')
      const isActive = /html|svg/.test(type)
      const policy = String(answer.headers['content-security-policy'])
      assert.is(policy.startsWith('sandbox'), isActive, name)
      const disposition = String(answer.headers['content-disposition'])
      assert.match(disposition, isActive ? /^attachment; / : /^inline; /, name)
      assert.not.match(policy, 'unsafe-inline')
    }
    const download = await app.get(`/api/file/raw?${query({ path: 'a.png', download: '1' })}`)
    assert.is(
      download.headers['content-disposition'],
      `attachment; filename="a.png"; filename*=UTF-8''a.png`,
    )
    // An ending that says nothing of what a link leads to: the file itself has the last word.
    symlinkSync('a.html', join(root, 'picture.png'))
    const linked = await app.get(`/api/file/raw?${query({ path: 'picture.png' })}`)
    assert.match(String(linked.headers['content-security-policy']), /^sandbox/)
  },
)

raw(
  'ranges, ETags and HEAD; a file truncated during the response aborts it',
  async ({ app, root, query }) => {
    writeFileSync(join(root, 'a.bin'), '0123456789')
    const url = `/api/file/raw?${query({ path: 'a.bin' })}`
    const ask = (headers: Record<string, string>) => app.get(url, { headers })
    const whole = await ask({})
    assert.equal(
      [whole.status, whole.text, whole.headers['accept-ranges']],
      [200, '0123456789', 'bytes'],
    )
    const cases: [string, number, string, string | undefined][] = [
      ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
      ['bytes=7-', 206, '789', 'bytes 7-9/10'],
      ['bytes=-3', 206, '789', 'bytes 7-9/10'],
      [
        'bytes=10-',
        416,
        '{"error":"The file has 10 bytes; the range starts beyond its end","code":"range_not_satisfiable"}',
        'bytes */10',
      ],
      ['bytes=0-1,4-5', 200, '0123456789', undefined],
      ['lines=1-2', 200, '0123456789', undefined],
    ]
    for (const [range, status, text, contentRange] of cases) {
      const answer = await ask({ Range: range })
      assert.equal([answer.status, answer.text], [status, text], range)
      assert.is(answer.headers['content-range'], contentRange, range)
    }
    const tag = String(whole.headers.etag)
    assert.is((await ask({ 'If-None-Match': tag })).status, 304)
    writeFileSync(join(root, 'a.bin'), 'changed')
    assert.is((await ask({ 'If-None-Match': tag })).text, 'changed', 'never older than the file')
    assert.is((await ask({ Range: 'bytes=0-1', 'If-Range': tag })).text, 'changed')
    const head = await app.request('HEAD', url)
    assert.equal([head.status, head.headers['content-length'], head.text], [200, '7', ''])

    const large = join(root, 'large.bin')
    writeFileSync(large, Buffer.alloc(40 * 1024 * 1024))
    const outcome = await new Promise(resolve => {
      const req = request(`${app.url}/api/file/raw?${query({ path: 'large.bin' })}`, res => {
        truncateSync(large, 1000)
        res.on('data', () => undefined)
        res.on('end', () => resolve(res.complete ? 'whole' : 'cut'))
        res.on('error', () => resolve('cut'))
      })
      req.end()
    })
    assert.is(outcome, 'cut')
  },
)

raw('media: serves only the workspace, the home’s folders and /tmp; never a secret', async desk => {
  const { app, root, id } = desk
  const get = (path: string, more = '') =>
    app.get(`/api/media?path=${encodeURIComponent(path)}${more}`)
  const missing = await app.get('/api/media')
  assert.equal(
    [missing.status, missing.body],
    [400, { error: 'path parameter required', code: 'missing_fields' }],
  )
  const elsewhere = mkdtempSync('/var/tmp/media-')
  writeFileSync(join(elsewhere, 'a.png'), 'ELSEWHERE')
  mkdirSync(join(app.home, 'images'))
  try {
    for (const name of ['.env', 'auth.json', 'config.yaml', 'state.db', 'webui/.signing_key'])
      writeFileSync(join(app.home, name), 'SECRET')
    writeFileSync(join(root, 'copy.db'), 'SECRET')
    symlinkSync(join(elsewhere, 'a.png'), join(root, 'link.png'))
    for (const path of [
      '/etc/passwd',
      join(elsewhere, 'a.png'),
      join(root, 'link.png'),
      `${root}/${'../'.repeat(20)}var/tmp/${elsewhere.split('/').at(-1)}/a.png`,
      'relative.png',
      'README.md',
      `${root}/README.md\0`,
      `file://${root}/README.md`,
      join(app.home, '.env'),
      join(app.home, 'auth.json'),
      join(app.home, 'config.yaml'),
      join(app.home, 'state.db'),
      join(app.home, 'webui/.signing_key'),
      join(app.home, 'webui/settings.json'),
      join(root, 'copy.db'),
    ]) {
      for (const more of ['', `&session_id=${id}`]) {
        const answer = await get(path, more)
        assert.equal(
          [answer.status, answer.body],
          [403, { error: 'Path not in allowed location', code: 'path_not_allowed' }],
          path,
        )
      }
    }
    assert.equal((await get(join(root, 'gone.png'))).body, {
      error: 'not found',
      code: 'not_found',
    })
    assert.is((await get(join(root, 'src'))).status, 404)

    writeFileSync(join(app.home, 'images', 'shot.png'), 'picture')
    const shown = await get(join(app.home, 'images', 'shot.png'))
    assert.equal([shown.status, shown.text], [200, 'picture'])
    assert.match(String(shown.headers['content-disposition']), /^inline; /)
    for (const name of ['a.svg', 'a.html', 'a.pdf', 'a.txt']) {
      writeFileSync(join(root, name), 'x')
      const answer = await get(join(root, name), `&session_id=${id}`)
      assert.is(answer.status, 200, name)
      assert.match(String(answer.headers['content-disposition']), /^attachment; /, name)
    }
    const range = await app.get(`/api/media?path=${encodeURIComponent(join(root, 'a.txt'))}`, {
      headers: { Range: 'bytes=0-0' },
    })
    assert.is(range.status, 206)
  } finally {
    rmSync(elsewhere, { recursive: true })
  }
})

raw.run()

const zips = suite<Desk>('folder downloads')
zips.before.each(async context => void Object.assign(context, await openDesk()))
zips.after.each(({ app }) => app.close())

/** Name → content, by way of the directory at the archive's end; checks sums and sizes. */
const unzip = (bytes: Buffer): Record<string, string> => {
  const end = bytes.lastIndexOf(Buffer.from('PK\u0005\u0006'))
  const found: Record<string, string> = {}
  let at = bytes.readUInt32LE(end + 16)
  for (let n = bytes.readUInt16LE(end + 10); n > 0; n--) {
    assert.is(bytes.toString('latin1', at, at + 4), 'PK\u0001\u0002')
    const [packed, size] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)]
    const lengths = [28, 30, 32].map(offset => bytes.readUInt16LE(at + offset))
    const [nameLength = 0, extra = 0, comment = 0] = lengths
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength)
    const local = bytes.readUInt32LE(at + 42)
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
    const stored = bytes.subarray(start, start + packed)
    const content = bytes.readUInt16LE(at + 10) === 8 ? inflateRawSync(stored) : stored
    assert.equal([content.length, crc32(content)], [size, bytes.readUInt32LE(at + 16)], name)
    found[name] = content.toString()
    at += 46 + nameLength + extra + comment
  }
  return found
}

zips(
  'download of a folder: rejects a file, a missing path, a path outside, and too much data',
  async desk => {
    const { app, root, query } = desk
    const get = (path: string) => app.get(`/api/folder/download?${query({ path })}`)
    assert.equal((await get('README.md')).body, {
      error: 'Path is not a folder',
      code: 'not_a_folder',
    })
    for (const path of ['gone', '..', 'up', '/etc']) assert.is((await get(path)).status, 404, path)
    const area = fileScope(root)
    for (const limits of [
      { entries: 2, bytes: 1e9 },
      { entries: 100, bytes: 5 },
    ]) {
      const error = await zipFolder(area, '.', limits).then(
        () => undefined,
        (e: Error) => e,
      )
      assert.match(error?.message ?? '', /too large/)
    }
  },
)

zips(
  'downloads a folder completely, with unusual names and empty folders; skips links',
  async desk => {
    const { app, root, query } = desk
    for (const name of HOSTILE_NAMES) writeFileSync(join(root, 'src', name), name)
    mkdirSync(join(root, 'src', 'empty', 'deeper'), { recursive: true })
    writeFileSync(join(root, 'src', 'nothing'), '')
    writeFileSync(join(root, 'src', 'old'), 'old')
    utimesSync(join(root, 'src', 'old'), new Date(0), new Date(0))
    symlinkSync('../../secret.txt', join(root, 'src', 'out'))
    symlinkSync('/etc', join(root, 'src', 'etc'))
    const answer = await app.get(`/api/folder/download?${query({ path: 'src' })}`)
    assert.equal([answer.status, answer.headers['content-type']], [200, 'application/zip'])
    assert.is(
      answer.headers['content-disposition'],
      `attachment; filename="src.zip"; filename*=UTF-8''src.zip`,
    )
    const found = unzip(answer.bytes)
    const expected = Object.fromEntries([
      ...HOSTILE_NAMES.map(name => [`src/${name.replace(/[\\:]/g, '_')}`, name]),
      ...['src/', 'src/empty/', 'src/empty/deeper/', 'src/nothing'].map(name => [name, '']),
      ['src/main.ts', 'export {}\n'],
      ['src/old', 'old'],
    ])
    assert.equal(
      Object.fromEntries(Object.entries(found).sort()),
      Object.fromEntries(Object.entries(expected).sort()),
    )
    assert.equal(
      Object.keys(
        unzip((await app.get(`/api/folder/download?${query({ path: 'src/empty/deeper' })}`)).bytes),
      ),
      ['deeper/'],
    )
    // The whole workspace, under its name.
    const all = unzip((await app.get(`/api/folder/download?${query({})}`)).bytes)
    assert.is(all['project/README.md'], 'hello\nworld\n')
    assert.not(Object.values(all).includes('OUTSIDE'))
  },
)

zips('a folder download excludes the state directory and secrets', async ({ app }) => {
  writeFileSync(join(app.home, '.env'), 'SECRET')
  writeFileSync(join(app.home, 'SOUL.md'), 'soul')
  await app.post('/api/workspaces/add', { path: app.home })
  const made = await app.post('/api/session/new', { workspace: app.home })
  const id = made.body.session.session_id
  const answer = await app.get(`/api/folder/download?session_id=${id}`)
  assert.equal(Object.keys(unzip(answer.bytes)), ['.agent/', '.agent/SOUL.md'])
})

zips('a client that disconnects leaves no file open', async ({ app, root, query }) => {
  // Cannot be compressed, so that it does not fit into any buffer.
  const noise = randomBytes(8 * 1024 * 1024)
  for (let n = 0; n < 4; n++) writeFileSync(join(root, 'src', `${n}.bin`), noise)
  const open = () =>
    readdirSync('/proc/self/fd')
      .map(fd => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`)
        } catch {
          // Closed since it was listed.
          return ''
        }
      })
      .filter(path => path.startsWith(root))
  for (let n = 0; n < 5; n++) {
    await new Promise<void>(resolve => {
      const req = request(`${app.url}/api/folder/download?${query({ path: 'src' })}`, res => {
        res.once('data', () => req.destroy())
        res.on('error', () => undefined)
        res.on('close', () => resolve())
      })
      req.on('error', () => undefined)
      req.end()
    })
  }
  for (let n = 0; n < 500 && open().length > 0; n++) await app.get('/health')
  assert.equal(open(), [])
  assert.is((await app.get(`/api/folder/download?${query({ path: 'src' })}`)).status, 200)
})

zips.run()
