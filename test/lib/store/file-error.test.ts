/** Sentences about what the file system refuses. */
import { readdirSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { invalid } from '../../../lib/errors.ts'
import { sentenceOf } from '../../../lib/store/file-error.ts'

const test = suite('file errors')

test('the end of a command names the path, without codes and calls of the system', () => {
  let error: unknown
  try {
    readdirSync(import.meta.filename)
  } catch (thrown) {
    error = thrown
  }
  assert.is(
    sentenceOf(error),
    `${import.meta.filename} cannot be used: a part of its path is not a directory`,
  )
})

test('other errors keep their text', () => {
  assert.is(sentenceOf(invalid('Not this.')), 'Not this.')
  assert.is(sentenceOf(Object.assign(new Error('odd'), { code: 'EODD', path: '/x' })), 'odd')
  assert.is(sentenceOf('text'), 'text')
})

test.run()
