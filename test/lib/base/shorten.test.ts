/** Shortened text. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { oneLine, shorten, shortenCounting } from '../../../lib/base/shorten.ts'

const test = suite('shorten')

test('shortened text has at most so many characters and no half of one', () => {
  assert.is(shorten('abcde', 5), 'abcde')
  assert.is(shorten('abcdef', 5), 'abcd…')
  assert.is(shorten('😀😀😀', 3), '😀😀😀')
  assert.is(shorten('😀😀😀😀', 3), '😀😀…')
  assert.is([...shorten('a😀'.repeat(1_000_000), 50)].length, 50)
  assert.is(shortenCounting('abcdef', 4), 'abcd… (2 more characters)')
  assert.is(shortenCounting('abc😀', 4).isWellFormed(), true)
  assert.is(oneLine('  a\n\t b\u00a0c '), 'a b c')
})

test.run()
