/** Narrowing values of unknown shape. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  asArray,
  asCount,
  asObject,
  asObjects,
  asString,
  asStrings,
  isObject,
  isObjectOrArray,
  stringOrNull,
} from '../../../lib/base/json.ts'

const test = suite('json')

test('null, arrays and primitives are not objects', () => {
  for (const value of [null, undefined, [], 'a', 1, true]) {
    assert.is(isObject(value), false)
    assert.equal(asObject(value), {})
  }
})

test('isObjectOrArray accepts arrays, but not null', () => {
  assert.equal([null, 'a', [], {}].map(isObjectOrArray), [false, false, true, true])
})

test('an object is returned by identity', () => {
  const value = { a: 1 }
  assert.ok(isObject(value))
  assert.is(asObject(value), value)
})

test('values of another type become empty strings and arrays', () => {
  assert.is(asString(1), '')
  assert.is(stringOrNull(1), null)
  assert.equal(asArray({ length: 1 }), [])
  assert.equal(asStrings('ab'), [])
})

test('strings and arrays are kept', () => {
  assert.is(asString('a'), 'a')
  assert.is(stringOrNull(''), '')
  assert.equal(asArray([1]), [1])
})

test('entries of another type are left out of a list', () => {
  assert.equal(asStrings(['a', 1, null, 'b']), ['a', 'b'])
  assert.equal(asObjects([{ a: 1 }, [], null, 'b']), [{ a: 1 }])
})

test('a count is a finite positive number', () => {
  for (const value of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, '3', null])
    assert.is(asCount(value), 0)
  assert.is(asCount(3), 3)
})

test.run()
