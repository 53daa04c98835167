/** The native addon is unpacked only into directories that no other user can write to. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  addonCandidates,
  installAddon,
  installProgram,
  thisTarget,
} from '../../../lib/store/unpack-native.ts'
import type { PackedFile } from '../../../lib/store/packed.ts'
import { openDatabase } from '../../../lib/store/sqlite.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('sqlite addon')
const root = tempDir('addon')

const bytes = Buffer.from('not really an addon')
const source: PackedFile = {
  sha256: createHash('sha256').update(bytes).digest('hex'),
  read: () => bytes,
}
/** As in a file that was built for this platform only. */
const ours = (addon: PackedFile) => ({ [thisTarget()]: addon })
const fresh = (name: string, mode = 0o700) => {
  const path = join(root, name)
  mkdirSync(path)
  chmodSync(path, mode)
  return path
}
const accept = () => {}

test('rejects another platform’s addon before writing', () => {
  const directory = fresh('foreign')
  const install = (...targets: string[]) => {
    const sources = Object.fromEntries(targets.map(target => [target, source]))
    return () => installAddon(sources, [() => directory], accept)
  }
  assert.throws(install('plan9-mips'), /built for plan9-mips .* --target=/)
  assert.throws(install('plan9-mips', 'plan9-vax'), /only on plan9-mips, plan9-vax\. On Windows/)
  assert.equal(readdirSync(directory), [])
})

test('lists the reason for each directory when all fail', () => {
  const file = join(root, 'a-file')
  writeFileSync(file, '')
  const open = fresh('for-programs', 0o777)
  const link = join(root, 'link')
  symlinkSync(fresh('link-target'), link)
  const noexec = fresh('noexec')
  const refuse = () => {
    throw new Error('failed to map segment')
  }
  assert.throws(
    () => installAddon(ours(source), [() => file, () => open, () => link, () => noexec], refuse),
    (error: Error) =>
      error.message.includes(`${file}: `) &&
      error.message.includes(`${open}: others may write`) &&
      error.message.includes(`${link}: not a directory`) &&
      error.message.includes(`${noexec}: failed to map`),
  )
})

test('uses the first directory that works, and reuses it', () => {
  const good = fresh('good')
  const unread = { ...source, read: () => assert.unreachable('it is there already') as never }
  const path = installAddon(ours(source), [() => fresh('open2', 0o777), () => good], accept)
  assert.equal(readdirSync(good), [path.slice(good.length + 1)])
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.is(installAddon(ours(unread), [() => good], accept), path)
})

test('rewrites a changed file before loading it', () => {
  const directory = fresh('changed')
  const path = installAddon(ours(source), [() => directory], accept)
  writeFileSync(path, 'something else')
  const loaded: string[] = []
  installAddon(ours(source), [() => directory], each => loaded.push(readFileSync(each, 'utf8')))
  assert.equal(loaded, [bytes.toString()])
})

test('a program is installed where it can be run, once, and written anew when it was changed', () => {
  const open = fresh('open-to-others', 0o777)
  assert.is(installProgram(source, 'rg', [() => open]), undefined)
  const dir = fresh('program')
  const install = () => installProgram(source, 'rg', [() => open, () => dir]) ?? ''
  const path = install()
  assert.ok(path.startsWith(join(dir, 'rg-')), path)
  assert.is(statSync(path).mode & 0o777, 0o700)
  writeFileSync(path, 'changed')
  assert.is(install(), path)
  assert.equal(readFileSync(path), bytes)
})

test('the real addon is written, loaded and opens a database', () => {
  const addon = readFileSync(`node_modules/better-sqlite3/prebuilds/${thisTarget()}.node`)
  const real = { sha256: createHash('sha256').update(addon).digest('hex'), read: () => addon }
  const stateDir = fresh('state')
  const places = addonCandidates({ stateDir, cacheHome: undefined, userHome: root })
  const path = installAddon(ours(real), places)
  assert.match(path, join(stateDir, 'cache'))
  const db = openDatabase(':memory:', { addon: path })
  assert.equal(db.prepare('select 1 as one').get(), { one: 1 })
  db.close()
})

test.run()
