/** Queries: the same fields as the platform's parser, without empty ones and repetitions; bodies: null is absent. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { parseInput, parseQuery } from '../../../lib/http/parse-input.ts'

const test = suite('parsing input')

const expected = (text: string): [string, string][] => {
  const found = new Map<string, string>()
  for (const [key, value] of new URLSearchParams(text))
    if (value !== '' && !found.has(key)) found.set(key, value)
  return [...found]
}

test('the fields of any query are those of URLSearchParams', () => {
  const parts = [
    'a',
    'b',
    'a=1',
    'a=2',
    '=',
    '=3',
    'b=',
    'b==4',
    'c=%41',
    'd=x+y',
    '?e=5',
    '%zz=6',
    '',
    '__proto__=7',
    'é=ü',
  ]
  for (const one of parts)
    for (const two of parts)
      for (const three of parts) {
        const text = [one, two, three].join('&')
        assert.equal(Object.entries(parseQuery(text)), expected(text), text)
      }
})

test('values beside a null are kept, also unknown fields and their nulls', () => {
  const schema = z.looseObject({ a: z.string().optional(), b: z.array(z.unknown()).optional() })
  assert.equal(parseInput(schema, { a: null, b: [null, { c: null }], d: null }), {
    b: [null, { c: null }],
    d: null,
  })
})

test('rejects a value without a length', () => {
  const schema = z.object({ name: z.string().min(1).max(9), all: z.array(z.string()).max(3) })
  const given = { name: { length: { toString: 1 } }, all: { length: [{ toString: 1 }] } }
  assert.throws(() => parseInput(schema, given), /not valid/)
})

test.run()
