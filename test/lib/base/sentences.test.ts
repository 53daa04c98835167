/** A changed sentence has the change in its English, in its values, and in what is inside of them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { changeWords, Sentence } from '../../../lib/base/sentences.ts'

test('every text of a sentence is changed, also in lists and in sentences inside of it', () => {
  const values = {
    names: ['key', 'b'],
    reason: { code: 'net.refused', values: { host: 'key' } },
    n: 2,
  }
  const words = changeWords(new Sentence('a key', { code: 'x', values }), text =>
    text.replaceAll('key', '***'),
  )
  assert.instance(words, Sentence)
  assert.equal((words as Sentence).coded.values, {
    names: ['***', 'b'],
    reason: { code: 'net.refused', values: { host: '***' } },
    n: 2,
  })
  assert.is(String(words), 'a ***')
})

test.run()
