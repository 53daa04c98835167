/** The payload of the one file: read when asked for, and only as it was written. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import zlib from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPacked, packedHere } from '../../../lib/store/packed.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('packed file')
const root = tempDir('packed')

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const page = Buffer.from('body { color: red }'.repeat(50))
const picture = Buffer.from([0, 1, 2, 255])

/** A file as `build/pack.mjs` lays it: code, then the payload in a comment that ends the file. */
const write = (name: string, platform = 'plan9-mips') => {
  const texts: string[] = []
  const add = (bytes: Buffer) => {
    const at = texts.join('').length
    texts.push(bytes.toString('base64'))
    return { at, size: texts.at(-1)?.length, crc32: zlib.crc32(bytes) }
  }
  const asset = { type: 'text/css', etag: 'tag', immutable: true }
  const addAll = (bytes: Buffer) => ({ ...add(zlib.zstdCompressSync(bytes)), bytes: bytes.length })
  const later = { name: 'later', code: addAll(Buffer.from('(later)')), compiled: addAll(picture) }
  const contents = {
    scripts: [{ ...later, parts: ['./later.js', './last.js'] }],
    worker: add(zlib.zstdCompressSync(Buffer.from('work()'))),
    assets: [
      { path: '/static/a.css', ...asset, br: add(zlib.brotliCompressSync(page)) },
      { path: '/static/b.png', ...asset, raw: add(picture) },
    ],
  }
  const index = {
    version: 'v1',
    platform,
    first: { name: 'start', code: addAll(Buffer.from('({})')), compiled: addAll(page) },
    addons: { t: { block: add(zlib.zstdCompressSync(picture)), sha256: sha256(picture) } },
    contents: add(zlib.zstdCompressSync(Buffer.from(JSON.stringify(contents)))),
  }
  const payload = texts.join('')
  const file = join(root, name)
  writeFileSync(file, `code()\n/*${payload}*/\n`)
  const packing = { ...index, payloadSize: payload.length }
  return { file, open: () => openPacked(JSON.stringify(packing), pathToFileURL(file).href) }
}

test('an unbuilt run has nothing packed', () => {
  assert.is(packedHere(), undefined)
})

test('rejects a file that was changed after its index was read', () => {
  const { file, open } = write('changed')
  const packed = open()
  writeFileSync(file, 'x'.repeat(5_000))
  assert.throws(() => packed.searchWorker(), /changed while it was running/)
  assert.throws(() => packed.server('./later.js'), /changed while it was running/)
  assert.throws(() => packed.first(), /changed while it was running/)
  assert.throws(() => packed.assets, /changed while it was running/)
})

test('every entry unpacks to its original bytes', () => {
  const packed = write('good').open()
  assert.is(packed.version, 'v1')
  assert.equal(packed.first(), { script: 'start', code: '({})', compiled: undefined })
  const later = { script: 'later', code: '(later)', compiled: undefined }
  assert.equal([packed.server('./later.js'), packed.server('./last.js')], [later, later])
  assert.is(packed.server('./none.js'), undefined)
  assert.is(packed.searchWorker(), 'work()')
  assert.equal(packed.addons.t?.read(), picture)
})

test('a code cache is used on its own platform only', () => {
  const here = write('here', `${process.platform}-${process.arch}`).open()
  assert.equal([here.first().compiled, here.server('./later.js')?.compiled], [page, picture])
  const elsewhere = write('elsewhere').open()
  assert.is(elsewhere.first().compiled, undefined)
  assert.is(elsewhere.server('./later.js')?.compiled, undefined)
})

test('an asset is available in every encoding a browser may request', () => {
  const assets = write('assets').open().assets
  const style = assets?.get('/static/a.css')
  assert.equal(style?.raw, page)
  assert.equal(zlib.brotliDecompressSync(style?.br ?? ''), page)
  assert.equal(zlib.gunzipSync(style?.gzip ?? ''), page)
  assert.is(style?.raw, style?.raw, 'made once')
  const image = assets?.get('/static/b.png')
  assert.equal([image?.raw, image?.br, image?.gzip], [picture, undefined, undefined])
})

test.run()
