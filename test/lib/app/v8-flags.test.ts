/** The compiler that can keep a process from ending at its exit is not used; the hang itself is too rare for a test. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const test = suite('V8 flags')

const compilations = (mode: string): string =>
  execFileSync(
    process.execPath,
    ['--trace-opt', join(import.meta.dirname, '_hot-function.ts'), mode],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  )

test('hot code is optimized without Maglev', () => {
  assert.match(compilations('as-is'), /<JSFunction sum .*MAGLEV/)
  const prevented = compilations('prevented')
  assert.not.match(prevented, /<JSFunction sum .*MAGLEV/)
  assert.match(prevented, /<JSFunction sum .*TURBOFAN/)
})

test.run()
