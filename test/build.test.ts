/** What the build writes and reads: names of built files, and the fonts in build/fonts, which `npm run fonts` makes. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { builtName } from '../build/files.mjs'
import { FONTS_DIRECTORY } from '../build/fonts.mjs'
import { createLoader } from '../build/launch.mjs'
import { NODE_FLAGS } from '../build/node-flags.mjs'
import { bundleServer } from '../build/pack.mjs'
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

test('npm start gives Node the same options as the executable', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  assert.match(scripts.start, `node ${NODE_FLAGS.join(' ')} setup.mjs `)
})

test('a package that is imported at run time has the exports that Node gives it', async () => {
  const parts = await bundleServer()
  const code = new Map(parts.map(([name, text]) => [name, { code: text }]))
  const file = join(import.meta.dirname, '..', 'router.ts')
  const { load } = createLoader({
    read: name => code.get(name),
    selfUrl: pathToFileURL(file).href,
    selfDirectory: dirname(file),
    require: createRequire(file),
  })
  const packages = parts.filter(([, , source]) => source?.startsWith('node_modules/'))
  assert.ok(packages.length > 10)
  for (const [name, , source = ''] of packages) {
    const theirs: object = await import(join(import.meta.dirname, '..', source))
    const missing = Object.keys(theirs).filter(key => !(key in (load(name) ?? {})))
    // Names for `require`, which only Node makes.
    assert.equal(
      missing.filter(key => key !== 'module.exports'),
      [],
      source,
    )
  }
})

test.run()
