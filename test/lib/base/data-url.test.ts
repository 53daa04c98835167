/** `data:` URLs of any size and spelling. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { setFlagsFromString } from 'node:v8'
import { parseDataUrl } from '../../../lib/base/data-url.ts'

// The engine stops to optimize patterns in a process that has compiled many. They need more stack then.
setFlagsFromString('--no-regexp-optimization')

const test = suite('data URLs')

test('refuses what is not a base64 data URL', () => {
  for (const url of [
    '',
    'data:image/png,abc',
    'data:;base64,AAAA',
    'data:image/png;base64,',
    'data:image/png;base64,AA<A',
    'https://a.example/x;base64,AAAA',
    ` data:image/png;base64,AAAA`,
    `data:image/png;${'a'.repeat(300)};base64,AAAA`,
  ])
    assert.is(parseDataUrl(url), null, url)
})

test('reads type and data, without parameters', () => {
  const found = { mediaType: 'image/png', data: 'AA+/\n_-==' }
  assert.equal(parseDataUrl('data:image/png;base64,AA+/\n_-=='), found)
  assert.equal(parseDataUrl('DATA:Image/PNG;name=a.png;charset=utf-8;BASE64,AA+/\n_-=='), found)
})

test('reads megabytes in a process that no longer optimizes patterns', () => {
  const data = 'AbcQ'.repeat(4_000_000)
  assert.throws(() => /^([A-Za-z0-9+/]+=*)$/.exec(data), RangeError)
  assert.is(parseDataUrl(`data:image/png;base64,${data}`)?.data.length, data.length)
  assert.is(parseDataUrl(`data:image/png;base64,${data}!`), null)
})

test.run()
