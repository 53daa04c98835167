/** Hashes, and the comparison of secrets. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isSameSecret, sha256 } from '../../../lib/base/sha256.ts'

const test = suite('sha256')

test('SHA-256 is in hexadecimal digits, of text and of bytes', () => {
  const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  assert.equal([sha256('abc'), sha256(Buffer.from('abc'))], [abc, abc])
})

test('secrets are equal only as a whole, whatever their length', () => {
  for (const [a, b] of [
    ['', 'a'],
    ['abc', 'abd'],
    ['abc', 'abcd'],
    ['abc', 'ABC'],
  ] as const)
    assert.is(isSameSecret(a, b), false, `${a} ${b}`)
  assert.is(isSameSecret('', ''), true)
  assert.is(isSameSecret('größe', 'größe'), true)
})

test.run()
