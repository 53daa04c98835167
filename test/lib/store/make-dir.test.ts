/** Creating directories; impossible paths fail immediately. */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { makeDir } from '../../../lib/store/make-dir.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string }>('make dir')
test.before.each(context => {
  context.dir = tempDir('make-dir')
})

test('creates missing directories with private mode; existing ones are no error', ({ dir }) => {
  const path = join(dir, 'a', 'b', 'c')
  for (const _ of [1, 2]) makeDir(path)
  assert.is(statSync(path).mode & 0o777, 0o700)
})

test('fails for a file in the way and an unwritable parent', ({ dir }) => {
  writeFileSync(join(dir, 'file'), '')
  assert.throws(() => makeDir(join(dir, 'file')))
  assert.throws(() => makeDir(join(dir, 'file', 'x')))
  if (process.platform === 'linux') assert.throws(() => makeDir('/proc/webui/state'))
})

test.run()
