/** File attributes: looked up once in an iteration of the event loop, again after it, after a write of ours, and while a file changes. */
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeAtomic } from '../../../lib/store/atomic-write.ts'
import { lstatOnce, statOnce } from '../../../lib/store/file-stats.ts'

const test = suite('file stats')
const dir = mkdtempSync(join(tmpdir(), 'file-stats-'))
test.after(() => rmSync(dir, { recursive: true }))

/** Another program's write of a minute ago. */
const writeOld = (path: string, text: string) => {
  writeFileSync(path, text)
  const ago = Date.now() / 1_000 - 60
  utimesSync(path, ago, ago)
}

test('one lookup for each iteration of the event loop', async () => {
  const path = join(dir, 'lookups')
  assert.is(statOnce(path), undefined)
  writeOld(path, 'text')
  assert.is(statOnce(path), undefined)
  await immediate()
  const found = statOnce(path)
  assert.is(found?.size, 4n)
  writeOld(path, 'longer text')
  assert.is(statOnce(path), found)
  await immediate()
  assert.is(statOnce(path)?.size, 11n)
  rmSync(path)
  await immediate()
  assert.is(statOnce(path), undefined)
})

test('a write of ours counts at once, also under another name of the file', () => {
  const path = join(dir, 'own')
  writeOld(path, 'text')
  assert.is(lstatOnce(path)?.size, 4n)
  writeAtomic(path, 'longer text')
  assert.is(lstatOnce(path)?.size, 11n)
})

test('a file that changed just now is looked at each time', () => {
  const path = join(dir, 'new')
  writeFileSync(path, 'text')
  assert.is(statOnce(path)?.size, 4n)
  writeFileSync(path, 'longer text')
  assert.is(statOnce(path)?.size, 11n)
})

test.run()
