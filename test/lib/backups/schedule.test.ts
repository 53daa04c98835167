/** Scheduled backups: which are kept, when one is due, and what is said when one fails. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import type { Backup } from '../../../lib/backups/backup.ts'
import { createBackups } from '../../../lib/backups/backups.ts'
import { backupName, expired, timeOfName } from '../../../lib/backups/retention.ts'
import type { BackupResult } from '../../../lib/schema/backup.ts'

const test = suite('scheduled backups')

const DAY = 24 * 60 * 60_000
const at = (text: string) => Date.parse(text)

test('names of backups are their time; other names are nothing of ours', () => {
  const ms = at('2026-11-23T03:04:05Z')
  assert.is(timeOfName(backupName(ms)), ms)
  for (const name of ['mine.tar.zst', 'agent-webui-2026-99-99T00-00-00Z.tar.zst', '']) {
    assert.is(timeOfName(name), undefined)
    assert.equal(expired([name], { daily: 1, weekly: 0 }), [])
  }
})

test('the newest of each of the last days and weeks that have one is kept', () => {
  // Four weeks, two backups a day. The last day is a Sunday.
  const last = at('2026-11-29T15:00:00Z')
  const names = Array.from({ length: 56 }, (_, index) => backupName(last - (index * DAY) / 2))
  const gone = new Set(expired(names, { daily: 3, weekly: 3 }))
  const kept = names.filter(name => !gone.has(name)).map(name => name.slice(12, 25))
  assert.equal(kept, [
    '2026-11-29T15',
    '2026-11-28T15',
    '2026-11-27T15',
    '2026-11-22T15',
    '2026-11-15T15',
  ])
  assert.equal(expired(names.slice(0, 1), { daily: 1, weekly: 0 }), [])
})

test('gaps do not count: three days with backups are kept, however long ago they were', () => {
  const names = ['2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01'].map(day =>
    backupName(at(`${day}T03:00:00Z`)),
  )
  assert.equal(expired(names, { daily: 3, weekly: 0 }), names.slice(0, 1))
})

const setUp = () => {
  const dir = mkdtempSync(join(tmpdir(), 'scheduled-'))
  const clock = createTestClock(at('2026-11-23T02:00:00Z'))
  const failures: BackupResult[] = []
  const disk = { full: false }
  const backups = createBackups({
    path: join(dir, 'backups.json'),
    saved: () => [join(dir, 'home')],
    async make(target) {
      if (disk.full) throw new Error('The disk is full')
      writeFileSync(target, 'x')
      const made: Backup = { path: target, size: 1, files: 1, bytes: 1, keyFiles: [], problems: [] }
      return made
    },
    hasKeys: false,
    suggestedDir: '/somewhere',
    nextDue: (_, from) => Math.floor((from - 3 * 3_600_000) / DAY + 1) * DAY + 3 * 3_600_000,
    onFailure: result => failures.push(result),
    log: { info: () => undefined, warn: () => undefined },
    clock,
  })
  const tick = async (text: string) => {
    clock.set(at(text))
    backups.tick()
    await backups.idle()
  }
  return { dir, out: join(dir, 'out'), backups, failures, disk, tick }
}

test('refuses a folder that is inside of what is saved, or no path', () => {
  const { dir, backups } = setUp()
  for (const [given, why] of [
    ['backups', /full path/],
    ['', /full path/],
    [join(dir, 'home/x'), /gets saved/],
    [join(dir, 'backups.json'), /cannot be created/],
  ] as const) {
    if (given.endsWith('.json')) writeFileSync(given, '{}')
    assert.throws(() => backups.save({ dir: given, enabled: true }), why)
  }
  assert.not(backups.state().settings.enabled)
  assert.throws(() => backups.start(), /full path/)
  rmSync(dir, { recursive: true })
})

test('runs when it is due, once, and makes up for a time at which the service was off', async () => {
  const { dir, out, backups, tick } = setUp()
  backups.save({ enabled: true, dir: out })
  assert.is(backups.state().next_at, at('2026-11-23T03:00:00Z') / 1_000)
  await tick('2026-11-23T02:59:00Z')
  assert.equal(readdirSync(out), [])
  await tick('2026-11-23T03:00:00Z')
  await tick('2026-11-23T03:01:00Z')
  assert.is(readdirSync(out).length, 1)
  await tick('2026-11-25T12:00:00Z')
  await tick('2026-11-25T12:01:00Z')
  const { last, files, next_at } = backups.state()
  assert.equal(
    files.map(({ name }) => name),
    readdirSync(out).toSorted().toReversed(),
  )
  assert.is(last?.name, 'agent-webui-2026-11-25T12-00-00Z.tar.zst')
  assert.is(next_at, at('2026-11-26T03:00:00Z') / 1_000)
  backups.save({ enabled: false })
  assert.is(backups.state().next_at, null)
  rmSync(dir, { recursive: true })
})

test('after a clock that was ahead, backups are due again, and none of this time is deleted for one of then', async () => {
  const { dir, out, backups, tick } = setUp()
  backups.save({ enabled: true, dir: out, keep_daily: 2, keep_weekly: 0 })
  for (const day of ['01', '02', '03']) await tick(`2035-01-${day}T03:00:00Z`)
  assert.is(readdirSync(out).length, 2)
  await tick('2026-11-24T02:00:00Z')
  assert.is(backups.state().next_at, at('2026-11-24T03:00:00Z') / 1_000)
  for (const day of ['24', '25', '26']) await tick(`2026-11-${day}T03:00:00Z`)
  assert.equal(
    readdirSync(out)
      .map(name => name.slice(12, 22))
      .toSorted(),
    ['2026-11-25', '2026-11-26', '2035-01-02', '2035-01-03'],
  )
  rmSync(dir, { recursive: true })
})

test('a failure is reported once, is tried again at the next due time, and deletes nothing', async () => {
  const { dir, out, backups, failures, disk, tick } = setUp()
  backups.save({ enabled: true, dir: out, keep_daily: 1, keep_weekly: 0 })
  await tick('2026-11-23T03:00:00Z')
  disk.full = true
  await tick('2026-11-24T03:00:00Z')
  await tick('2026-11-24T03:01:00Z')
  assert.equal(
    failures.map(({ error }) => error),
    ['The disk is full'],
  )
  assert.is(backups.state().last?.ok, false)
  assert.is(readdirSync(out).length, 1)
  disk.full = false
  await tick('2026-11-25T03:00:00Z')
  assert.equal(readdirSync(out), ['agent-webui-2026-11-25T03-00-00Z.tar.zst'])
  assert.throws(() => backups.pathOf('../backups.json'), /no such backup/)
  assert.ok(existsSync(backups.pathOf('agent-webui-2026-11-25T03-00-00Z.tar.zst')))
  rmSync(dir, { recursive: true })
})

test.run()
