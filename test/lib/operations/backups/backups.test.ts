/** Backups that the page asks for: where they may be, which files are listed, and what is said when one fails. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../../_clock.ts'
import type { Backup } from '../../../../lib/operations/backups/backup.ts'
import { Backups } from '../../../../lib/operations/backups/backups.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('backups of the page')

const setUp = () => {
  const dir = tempDir('backups')
  const clock = createTestClock(Date.parse('2026-11-23T02:00:00Z'))
  const warnings: string[] = []
  const disk = { full: false }
  const backups = new Backups({
    path: join(dir, 'backups.json'),
    sources: () => [join(dir, 'home')],
    async make(target) {
      if (disk.full) throw new Error('The disk is full')
      writeFileSync(target, 'x')
      const made: Backup = { path: target, size: 1, files: 1, bytes: 1, keyFiles: [], problems: [] }
      return made
    },
    hasKeys: false,
    suggestedDir: '/somewhere',
    log: { info: () => undefined, warn: text => void warnings.push(text) },
    clock,
  })
  const run = async () => {
    backups.start()
    await backups.idle()
    return backups.state()
  }
  return { dir, out: join(dir, 'out'), backups, warnings, disk, clock, run }
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
    assert.throws(() => backups.save({ dir: given }), why)
  }
  assert.is(backups.state().settings.dir, '')
  assert.throws(() => backups.start(), /full path/)
  rmSync(dir, { recursive: true })
})

test('lists the files with a name of ours, the newest first', async () => {
  const { dir, out, backups, clock, run } = setUp()
  backups.save({ dir: out })
  await run()
  for (const name of ['mine.tar.zst', 'agent-webui-2026-99-99T00-00-00Z.tar.zst'])
    writeFileSync(join(out, name), '')
  clock.set(Date.parse('2026-11-23T03:04:05Z'))
  const { last, files } = await run()
  assert.equal(
    files.map(({ name }) => name),
    ['agent-webui-2026-11-23T03-04-05Z.tar.zst', 'agent-webui-2026-11-23T02-00-00Z.tar.zst'],
  )
  assert.is(files[0]?.at, Date.parse('2026-11-23T03:04:05Z') / 1_000)
  assert.is(last?.name, files[0]?.name)
  rmSync(dir, { recursive: true })
})

test('a failure is the last result, and earlier backups stay', async () => {
  const { dir, out, backups, warnings, disk, clock, run } = setUp()
  backups.save({ dir: out })
  await run()
  disk.full = true
  clock.set(Date.parse('2026-11-24T03:00:00Z'))
  const { last } = await run()
  assert.equal([last?.ok, last?.error], [false, 'The disk is full'])
  assert.equal(warnings, ['backup: The disk is full'])
  const name = 'agent-webui-2026-11-23T02-00-00Z.tar.zst'
  assert.equal(readdirSync(out), [name])
  assert.throws(() => backups.pathOf('../backups.json'), /no such backup/)
  assert.ok(existsSync(backups.pathOf(name)))
  rmSync(dir, { recursive: true })
})

test('says that an earlier version made them on a schedule, until a folder is chosen', async () => {
  const { dir, out, backups, run } = setUp()
  const former = { enabled: true, dir: out, every: 'day', at: '03:00', weekday: 0, keep_daily: 7 }
  writeFileSync(
    join(dir, 'backups.json'),
    JSON.stringify({ version: 1, settings: former, since: 5 }),
  )
  assert.equal(backups.state().settings, { dir: out })
  assert.is((await run()).was_scheduled, true)
  assert.is(backups.save({ dir: out }).was_scheduled, false)
  rmSync(dir, { recursive: true })
})

test.run()
