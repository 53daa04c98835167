/** The fonts in build/fonts are what `npm run fonts` makes of the packages of package-lock.json. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FONTS_DIRECTORY } from '../build/fonts.mjs'
import { makeFonts } from '../build/subset-fonts.mjs'

const test = suite('fonts')

test('the stored fonts and their licenses are current: npm run fonts', async () => {
  const made = await makeFonts()
  assert.equal(readdirSync(FONTS_DIRECTORY).sort(), made.map(([name]) => name).sort())
  for (const [name, bytes] of made)
    assert.ok(readFileSync(join(FONTS_DIRECTORY, name)).equals(bytes), name)
})

test.run()
