/** File attributes: kept while the directory reports no change, and never for long where nothing is reported. */
import { EventEmitter } from 'node:events'
import {
  type FSWatcher,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  type watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeAtomic } from '../../../lib/store/atomic-write.ts'
import { createDirectoryWatches, lstatWatched, statWatched } from '../../../lib/store/file-stats.ts'
import { writeOld } from '../../_wait.ts'

const test = suite('file stats')
const root = mkdtempSync(join(tmpdir(), 'file-stats-'))
test.after(() => rmSync(root, { recursive: true }))

const createDirectory = (name: string): string => {
  const dir = join(root, name)
  mkdirSync(dir)
  return dir
}

/** Milliseconds until a lookup finds this size; null: no file. */
const untilSize = async (path: string, size: bigint | null): Promise<number> => {
  const started = performance.now()
  while ((statWatched(path)?.size ?? null) !== size) {
    assert.ok(performance.now() - started < 30_000, `${path} does not become ${size}`)
    await immediate()
  }
  return performance.now() - started
}

/** The shortest of some tries: a busy machine can delay each of them. */
const shortest = async (attempt: () => Promise<number>): Promise<number> => {
  const times: number[] = []
  for (let round = 0; round < 5; round++) times.push(await attempt())
  return Math.min(...times)
}

/** Two changes by another program are seen at once, and not only after a second. */
const assertSeenAtOnce = async (path: string, changed = path) => {
  const time = await shortest(async () => {
    writeOld(changed, 'text')
    const first = await untilSize(path, 4n)
    writeOld(changed, 'longer text')
    return first + (await untilSize(path, 11n))
  })
  assert.ok(time < 900, `${time} ms`)
}

test('what has not changed is not looked up; what another program does is seen at once', async () => {
  const path = join(createDirectory('watched'), 'file')
  const time = await shortest(async () => {
    assert.is(statWatched(path), undefined)
    writeOld(path, 'text')
    const appeared = await untilSize(path, 4n)
    const found = statWatched(path)
    await immediate()
    if (statWatched(path) !== found) return Number.POSITIVE_INFINITY
    writeOld(path, 'longer text')
    const changed = await untilSize(path, 11n)
    rmSync(path)
    return appeared + changed + (await untilSize(path, null))
  })
  assert.ok(time < 900, `${time} ms`)
})

test('what no watch reports is seen after a second', async () => {
  const path = join(createDirectory('one'), 'file')
  const other = join(createDirectory('two'), 'other-name')
  writeOld(other, 'text')
  linkSync(other, path)
  await untilSize(path, 4n)
  writeOld(other, 'longer text')
  await untilSize(path, 11n)
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
  await untilSize(path, 4n)
  const next = createDirectory('next')
  writeOld(join(next, 'file'), 'longer text')
  renameSync(dir, join(root, 'moved'))
  renameSync(next, dir)
  await untilSize(path, 11n)
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
  const without = createDirectoryWatches(path => changes.push(path), (() => {
    throw new Error('ENOSPC')
  }) as typeof watch)
  assert.is(without.covers(root), false)
  const emitter = Object.assign(new EventEmitter(), { close: () => undefined })
  const opened: string[] = []
  const failing = createDirectoryWatches(path => changes.push(path), ((dir: string) => {
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
