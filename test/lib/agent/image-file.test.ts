/** The size of images, read from the headers of each format; damaged files are no images. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { imageType, readImageFile } from '../../../lib/agent/image-file.ts'
import { imageKeeper, sendsImages } from '../../../lib/agent/images.ts'
import { png } from '../../_images.ts'

const test = suite('image files')

const latin = (text: string) => Buffer.from(text, 'latin1')
const webp = (chunk: string, ...rest: number[]) =>
  Buffer.concat([latin(`RIFF\0\0\0\0WEBP${chunk}`), Buffer.from([0, 0, 0, 0, ...rest])])

const FILES: [name: string, bytes: Buffer, type: string, width: number, height: number][] = [
  ['PNG', png(640, 3), 'image/png', 640, 3],
  ['GIF', Buffer.concat([latin('GIF89a'), Buffer.from([0x40, 1, 0xc8, 0])]), 'image/gif', 320, 200],
  [
    'JPEG with a preview before the frame header, and padding',
    Buffer.from([
      0xff, 0xd8, 0xff, 0xe1, 0, 6, 0xff, 0xc0, 0, 0, 0xff, 0xff, 0xc2, 0, 11, 8, 0x01, 0x2c, 0x02,
      0x58,
    ]),
    'image/jpeg',
    600,
    300,
  ],
  ['WebP, extended', webp('VP8X', 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0), 'image/webp', 640, 480],
  [
    'WebP, lossy',
    webp('VP8 ', 0, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x42, 0xe0, 0x01),
    'image/webp',
    640,
    480,
  ],
  ['WebP, lossless', webp('VP8L', 0x2f, 0x7f, 0xc2, 0x77, 0), 'image/webp', 640, 480],
]

for (const [name, bytes, type, width, height] of FILES)
  test(name, () => {
    const found = readImageFile(bytes)
    assert.equal([found?.type, found?.width, found?.height], [type, width, height])
    for (let length = 0; length < Math.min(bytes.length, 16); length++)
      assert.is(readImageFile(bytes.subarray(0, length)), null, String(length))
  })

test('other files are no images', () => {
  for (const text of ['', 'text', '<svg/>', 'RIFF0000WAVE', 'GIF88a', 'BM000000'])
    assert.is(imageType(latin(text)), null, text)
  assert.is(readImageFile(png(0, 5)), null)
  assert.is(readImageFile(Buffer.from([0xff, 0xd8, 0xff, 0x00])), null)
  assert.is(readImageFile(webp('ALPH', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), null)
})

test('images go to models that are known to accept them, unless the mode says otherwise', () => {
  const apiMode = 'chat_completions' as const
  const sent = (mode: 'auto' | 'native' | 'text') =>
    [true, false, undefined].map(vision => sendsImages(mode, { apiMode, vision }))
  assert.equal(sent('auto'), [true, false, false])
  assert.equal(sent('native'), [true, true, true])
  assert.equal(sent('text'), [false, false, false])
  assert.is(sendsImages('native', { apiMode: 'demo', vision: true }), false)
})

test('one run stores a limited number of images', () => {
  let count = 0
  const keep = imageKeeper({
    mode: 'auto',
    load: () => null,
    save: () => `image-${String(count++).padStart(32, '0')}.png`,
  })
  for (let n = 0; n < 500; n += 1) keep(png(1, 1), 'a')
  assert.throws(() => keep(png(1, 1), 'a'), 'A turn stores 500 images at most.')
  assert.is(count, 500)
})

test.run()
