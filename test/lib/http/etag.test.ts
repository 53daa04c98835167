/** The tag of a text: another text has another tag, wherever they differ. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { etagOf } from '../../../lib/http/etag.ts'

const test = suite('etag')

test('texts that differ only at their end have different tags', () => {
  const start = 'x'.repeat(10_000)
  assert.is(etagOf(`${start}a`), etagOf(`${start}a`))
  assert.is.not(etagOf(`${start}a`), etagOf(`${start}b`))
})

test.run()
