/** Types, format, lint: the tools that look at the sources without running them. `npm run check` runs this file alone. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const TOOLS: Readonly<Record<string, string[]>> = {
  types: ['tsc', '-p', '.', '--singleThreaded'],
  'format and lint': ['biome', 'ci', '--colors=off', '--diagnostic-level=error', '.'],
}

const test = suite('checks')

for (const [name, [tool = '', ...words]] of Object.entries(TOOLS))
  test(name, async () => {
    const output = await new Promise<string>(resolve =>
      execFile(join('node_modules/.bin', tool), words, { maxBuffer: 1e8 }, (error, out, err) =>
        resolve(error ? `${out}${err}${error.message}` : ''),
      ),
    )
    assert.is(output, '')
  })

test.run()
