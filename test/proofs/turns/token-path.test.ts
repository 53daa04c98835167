/** The way of a token from the model's socket to the browser's: few modules, and JSON once for the disk and for all who read. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { TokenPath } from './_token-path.ts'

/** Who reads the way of a token reads so many files, beside the helpers of lib/base. */
const MAX_MODULES = 12

const test = suite('the way of a token')

test('it passes few modules and becomes JSON once', () => {
  const script = join(import.meta.dirname, '_token-path.ts')
  // Coverage of the test itself would count the same functions.
  const { NODE_V8_COVERAGE: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    encoding: 'utf8',
    env,
    timeout: 120_000,
  })
  assert.is(status, 0, stderr)
  const { modules, written }: TokenPath = JSON.parse(stdout)
  const paths = modules.map(({ path }) => path)
  for (const end of ['lib/agent/providers/stream-request.ts', 'lib/http/sse.ts'])
    assert.ok(paths.includes(end), `${end} is not among ${paths.join(', ')}`)
  assert.ok(paths.length <= MAX_MODULES, paths.join('\n'))
  assert.is(written, 1)
})

test.run()
