/** What the build writes and reads: names of built files, and the fonts in build/fonts, which `npm run fonts` makes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { builtName } from '../build/files.mjs'
import { FONTS_DIRECTORY } from '../build/fonts.mjs'
import { PACKAGE_TARGETS } from '../build/package.mjs'
import { makeFonts } from '../build/subset-fonts.mjs'
import { thisTarget } from '../lib/store/sqlite-addon.ts'

const test = suite('build')

test('a build for a target never replaces the local one, also not for this machine', () => {
  const local = builtName(undefined)
  const names = [...PACKAGE_TARGETS, thisTarget()].map(target => builtName(target))
  assert.not.ok(names.includes(local))
  assert.is(new Set(names).size, new Set([...PACKAGE_TARGETS, thisTarget()]).size)
})

test('the stored fonts and their licenses are current: npm run fonts', async () => {
  const made = await makeFonts()
  assert.equal(readdirSync(FONTS_DIRECTORY).sort(), made.map(([name]) => name).sort())
  for (const [name, bytes] of made)
    assert.ok(readFileSync(join(FONTS_DIRECTORY, name)).equals(bytes), name)
})

test.run()
