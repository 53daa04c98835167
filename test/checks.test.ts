/** Types, format, lint: the tools that look at the sources without running them. `npm run check` runs this file alone. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const TOOLS: Readonly<Record<string, string[]>> = {
  types: ['tsc', '-p', '.', '--singleThreaded'],
  'format and lint': ['biome', 'ci', '--colors=off', '--diagnostic-level=error', '.'],
  'style sheets': ['stylelint', '--no-color', 'public/**/*.css'],
  imports: ['depcruise', 'router.ts', 'handlers', 'lib', 'public'],
  'unused code': ['knip', '--no-progress'],
}

/** The compiler ends before collecting garbage pays: a fifth less time, for a tenth more memory. */
const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '3GiB' }

const bin = (tool: string) => join('node_modules/.bin', tool)

const test = suite('checks')

for (const [name, [tool = '', ...words]] of Object.entries(TOOLS))
  test(name, async () => {
    const output = await new Promise<string>(resolve =>
      // On our Node: the scripts name whichever is on the path.
      execFile(
        process.execPath,
        [bin(tool), ...words],
        { env, maxBuffer: 1e8 },
        (error, out, err) => resolve(error ? `${out}${err}${error.message}` : ''),
      ),
    )
    assert.is(output, '')
  })

test.run()
