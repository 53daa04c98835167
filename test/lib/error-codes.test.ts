/** Documentation of the error codes. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { errorCodesPage, undocumented } from '../../build/error-codes-docs.ts'
import { ERROR_CODES } from '../../lib/schema/error-code.ts'

const test = suite('error codes')

test('each code is in docs/error-codes.md, which is current (npm run docs)', () => {
  assert.equal(undocumented(), [])
  assert.is(
    readFileSync(new URL('../../docs/error-codes.md', import.meta.url), 'utf8'),
    errorCodesPage(),
  )
})

test('each code is that of some error', () => {
  const code = globSync('{lib,handlers}/**/*.ts')
    .filter(path => path !== 'lib/schema/error-code.ts')
    .map(path => readFileSync(path, 'utf8'))
    .join('\n')
  assert.equal(
    ERROR_CODES.filter(each => !code.includes(`'${each}'`)),
    [],
  )
})

test.run()
