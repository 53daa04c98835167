/** Bodies: null is absent, and no value breaks a schema. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { parseInput } from '../../../lib/http/parse-input.ts'

const test = suite('parsing input')

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
