/** File attributes: kept while the directory reports no change, and never for long where nothing is reported. */
import { EventEmitter } from 'node:events'
import {
  type FSWatcher,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  type watch,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeAtomic } from '../../../lib/store/atomic-write.ts'
import {
  DirectoryWatches,
  lstatOnce,
  lstatWatched,
  statOnce,
  statWatched,
} from '../../../lib/store/file-stats.ts'
import { changesReported, until, writeOld } from '../../_wait.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('file stats')
const root = tempDir('file-stats')

const createDirectory = (name: string): string => {
  const dir = join(root, name)
  mkdirSync(dir)
  return dir
}

const sizeOf = (path: string): bigint | undefined => statWatched(path)?.size

/** Changes by another program are seen at once, and not only after a second. */
const assertSeenAtOnce = async (path: string, changed = path) => {
  for (const text of ['text', 'longer text']) {
    writeOld(changed, text)
    await changesReported()
    assert.is(sizeOf(path), BigInt(text.length))
  }
}

test('what has not changed is not looked up; what another program does is seen at once', async () => {
  const path = join(createDirectory('watched'), 'file')
  assert.is(statWatched(path), undefined)
  await assertSeenAtOnce(path)
  const found = statWatched(path)
  await immediate()
  assert.is(statWatched(path), found)
  rmSync(path)
  await changesReported()
  assert.is(statWatched(path), undefined)
})

test('what is looked up once in an iteration of the event loop is looked up again in the next one, and after a write of ours', async () => {
  const path = join(createDirectory('once'), 'file')
  for (const look of [statOnce, lstatOnce]) {
    writeOld(path, 'text')
    await immediate()
    const found = look(path)
    writeOld(path, 'longer text')
    assert.is(look(path), found)
    await immediate()
    assert.is(look(path)?.size, 11n)
    writeAtomic(path, 'other')
    assert.is(look(path)?.size, 5n)
    rmSync(path)
    await immediate()
    assert.is(look(path), undefined)
  }
})

test('what no watch reports is seen after a second', async () => {
  const path = join(createDirectory('one'), 'file')
  const other = join(createDirectory('two'), 'other-name')
  writeOld(other, 'text')
  linkSync(other, path)
  await until(() => sizeOf(path) === 4n)
  writeOld(other, 'longer text')
  await until(() => sizeOf(path) === 11n)
})

test('the target of a link is looked up in each iteration of the event loop', async () => {
  const path = join(createDirectory('link'), 'file')
  const target = join(createDirectory('target'), 'file')
  writeOld(target, 'text')
  symlinkSync(target, path)
  await assertSeenAtOnce(path, target)
})

test('a directory that took the place of another is the one that counts', async () => {
  const dir = createDirectory('replaced')
  const path = join(dir, 'file')
  writeOld(path, 'text')
  await until(() => sizeOf(path) === 4n)
  const next = createDirectory('next')
  writeOld(join(next, 'file'), 'longer text')
  renameSync(dir, join(root, 'moved'))
  renameSync(next, dir)
  await until(() => sizeOf(path) === 11n)
  await assertSeenAtOnce(path)
})

test('a write of ours counts at once, also under another name of the file', () => {
  const path = join(createDirectory('own'), 'file')
  writeOld(path, 'text')
  assert.is(lstatWatched(path)?.size, 4n)
  writeAtomic(path, 'longer text')
  assert.is(lstatWatched(path)?.size, 11n)
})

test('a file that changed just now is looked at each time', () => {
  const path = join(createDirectory('new'), 'file')
  writeFileSync(path, 'text')
  assert.is(statWatched(path)?.size, 4n)
  writeFileSync(path, 'longer text')
  assert.is(statWatched(path)?.size, 11n)
})

test('a directory that cannot be watched is not relied on, nor one whose watch fails', () => {
  const changes: (string | null)[] = []
  const without = new DirectoryWatches(path => changes.push(path), (() => {
    throw new Error('ENOSPC')
  }) as typeof watch)
  assert.is(without.covers(root), false)
  const emitter = Object.assign(new EventEmitter(), { close: () => undefined })
  const opened: string[] = []
  const failing = new DirectoryWatches(path => changes.push(path), ((dir: string) => {
    opened.push(dir)
    return emitter as unknown as FSWatcher
  }) as typeof watch)
  assert.is(failing.covers(root), true)
  emitter.emit('error', new Error('gone'))
  assert.equal(changes, [null])
  assert.is(failing.covers(root), false)
  assert.equal(opened, [root])
})

test.run()
