/** Every entry of the state directory that the sources name is in the table, so that a backup has it and tools cannot reach it. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { stateEntry } from '../../../lib/store/state-files.ts'

const test = suite('the state directory')

test('names every entry that the sources make', () => {
  const named = globSync('{lib,handlers}/**/*.ts').flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(/join\((?:\w+\.)*stateDir, '([^'/]+)'/g)].map(
      ([, name = '']) => name,
    ),
  )
  assert.ok(named.length > 25, `${named.length} found`)
  assert.equal(
    [...new Set(named)].filter(name => stateEntry(name) === undefined),
    [],
  )
})

test.run()
