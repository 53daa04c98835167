/** Every due time ran, missed or skipped, once: late, twice, killed, beside another service; on real files with a clock turned by hand. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { withFileLock } from '../../../lib/store/flock.ts'
import { createHome, fine, job, type TestHome } from './_home.ts'

const test = suite<{ it: TestHome }>('cron: scheduler')
test.before.each(context => {
  context.it = createHome()
})
test.after.each(({ it }) => it.remove())

const brief = (runs: readonly { how: string; count: number; trigger: string }[]) =>
  runs.map(({ how, count, trigger }) => `${how} ${count} ${trigger}`)

test('claims a due job before it runs and records its result', async ({ it }) => {
  it.put({ jobs: [job()] })
  const held = Promise.withResolvers<void>()
  const service = it.service('a', { end: () => held.promise.then(() => fine) })
  await service.scheduler.tick()
  it.to('2026-02-02T11:00:00Z')
  await service.scheduler.tick()
  assert.is(it.stored()[0]!.next_run_at, '2026-02-02T12:00:00+00:00')
  assert.is(it.stored()[0]!.last_run_at, null)
  assert.equal(
    service.scheduler.running().map(run => run.job_id),
    ['a1b2c3d4e5f6'],
  )
  assert.equal(brief(service.history.list()), ['running 1 schedule'])
  it.to('2026-02-02T11:00:40Z')
  held.resolve()
  await service.scheduler.whenIdle()
  const [stored] = it.stored()
  assert.is(stored!.last_run_at, '2026-02-02T11:00:40+00:00')
  assert.is(stored!.last_status, 'ok')
  assert.equal(stored!.repeat, { times: null, completed: 1 })
  // The rhythm is that of the due times, however long a run takes.
  assert.is(stored!.next_run_at, '2026-02-02T12:00:00+00:00')
  assert.equal(brief(service.history.list()), ['ran 1 schedule'])
})

test('catch-up: runs a slightly late job once', async ({ it }) => {
  it.put({ jobs: [job()] })
  it.to('2026-02-02T11:29:00Z')
  const service = it.service('a')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  await service.scheduler.tick()
  assert.equal(service.ran, ['hourly 11:29'])
  assert.is(it.stored()[0]!.next_run_at, '2026-02-02T12:00:00+00:00')
})

test('fast-forward: due times later than half a period are missed', async ({ it }) => {
  it.put({ jobs: [job()] })
  it.to('2026-02-02T14:31:00Z')
  const service = it.service('a')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  assert.equal(service.ran, [])
  assert.is(it.stored()[0]!.next_run_at, '2026-02-02T15:00:00+00:00')
  assert.equal(brief(service.history.list()), ['missed 4 schedule'])
  const [missed] = service.history.list()
  assert.is(missed!.due_at, Date.parse('2026-02-02T11:00:00Z') / 1_000)
  assert.is(missed!.due_until, Date.parse('2026-02-02T14:00:00Z') / 1_000)
  const missedAt = { code: 'task.missed', values: { time: '2026-02-02 14:00' } }
  assert.equal(missed!.sentences, { error: missedAt })
})

test('several due times within the grace period are one run; the earlier ones are skipped', async ({
  it,
}) => {
  it.put({
    jobs: [
      job({ schedule: { kind: 'interval', minutes: 1 }, next_run_at: '2026-02-02T11:00:00Z' }),
    ],
  })
  it.to('2026-02-02T11:01:30Z')
  const service = it.service('a')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  assert.equal(brief(service.history.list()), ['ran 1 schedule', 'skipped 1 schedule'])
  assert.equal(service.history.list()[1]!.sentences, { error: { code: 'task.once' } })
})

test('a job is not missed while the service was running and another process held the lock', async ({
  it,
}) => {
  it.put({
    jobs: [
      job({
        schedule: { kind: 'once', run_at: '2026-02-02T10:01:00Z' },
        next_run_at: '2026-02-02T10:01:00Z',
        repeat: { times: 1, completed: 0 },
      }),
    ],
  })
  const service = it.service('a')
  await service.scheduler.tick()
  await withFileLock(join(it.dir, '.tick.lock'), { timeoutMs: 5_000 }, async () => {
    it.to('2026-02-02T10:02:00Z')
    await service.scheduler.tick()
  })
  assert.equal(service.ran, [])
  it.to('2026-02-02T10:04:00Z')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  assert.equal(service.ran, ['hourly 10:04'])
})

test('a one-shot runs and is deleted', async ({ it }) => {
  const once = { kind: 'once', run_at: '2026-02-02T11:00:00+00:00', display: 'once' }
  it.put({
    jobs: [job({ schedule: once, repeat: { times: 1, completed: 0 } }), job({ id: 'other' })],
  })
  it.to('2026-02-02T11:00:00Z')
  const service = it.service('a')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  assert.equal(
    it.stored().map(each => each.id),
    ['other'],
  )
})

test('a one-shot more than two minutes late is recorded as missed', async ({ it }) => {
  const once = { kind: 'once', run_at: '2026-02-02T11:00:00+00:00', display: 'once' }
  it.put({ jobs: [job({ schedule: once, repeat: { times: 1, completed: 0 } })] })
  it.to('2026-02-02T11:02:01Z')
  const service = it.service('a')
  await service.scheduler.tick()
  const [stored] = it.stored()
  assert.equal(service.ran, [])
  assert.equal(
    [stored!.enabled, stored!.state, stored!.next_run_at, stored!.last_status],
    [false, 'completed', null, 'error'],
  )
  assert.match(stored!.last_error, /Missed.*11:00/)
  assert.equal(brief(service.history.list()), ['missed 1 schedule'])
})

test('a job is deleted after its last run', async ({ it }) => {
  it.put({ jobs: [job({ repeat: { times: 2, completed: 0 } })] })
  const service = it.service('a')
  for (const time of ['11:00', '12:00', '13:00']) {
    it.to(`2026-02-02T${time}:00Z`)
    await service.scheduler.tick()
    await service.scheduler.whenIdle()
  }
  assert.equal(service.ran, ['hourly 11:00', 'hourly 12:00'])
  assert.equal(it.stored(), [])
})

test('skips a due time while the job is still running', async ({ it }) => {
  it.put({ jobs: [job()] })
  const held = Promise.withResolvers<void>()
  const service = it.service('a', { end: () => held.promise.then(() => fine) })
  for (const time of ['11:00', '12:00']) {
    it.to(`2026-02-02T${time}:00Z`)
    await service.scheduler.tick()
  }
  assert.is(it.stored()[0]!.next_run_at, '2026-02-02T13:00:00+00:00')
  held.resolve()
  await service.scheduler.whenIdle()
  assert.is(service.ran.length, 1)
  assert.equal(brief(service.history.list()), ['skipped 1 schedule', 'ran 1 schedule'])
})

test('run now: starts at once in parallel, but not twice', async ({ it }) => {
  it.put({ jobs: [job({ id: 'a', name: 'a' }), job({ id: 'b', name: 'b' })] })
  const held = Promise.withResolvers<void>()
  const service = it.service('a', { end: () => held.promise.then(() => fine) })
  assert.throws(() => service.scheduler.runNow('gone'), /Job not found/)
  assert.is(service.scheduler.runNow('a').status, 'triggered')
  it.to('2026-02-02T10:00:05Z')
  assert.equal(service.scheduler.runNow('a'), { status: 'running', elapsed: 5 })
  assert.is(service.scheduler.runNow('b').status, 'triggered')
  assert.is(service.ran.length, 2)
  held.resolve()
  await service.scheduler.whenIdle()
  // It runs independently of its schedule, which is unchanged.
  assert.is(it.stored()[0]!.next_run_at, '2026-02-02T11:00:00+00:00')
  assert.equal(brief(service.history.list()), ['ran 1 manual', 'ran 1 manual'])
})

test('recurring jobs without a next run get one; a one-shot that is just due runs', async ({
  it,
}) => {
  const once = { kind: 'once', run_at: '2026-02-02T09:59:00+00:00', display: 'once' }
  it.put({
    jobs: [
      job({ id: 'r', next_run_at: null }),
      job({ id: 'o', name: 'once', schedule: once, next_run_at: null }),
      job({ id: 'x', schedule: 'nonsense', next_run_at: '2026-02-02T09:00:00Z' }),
    ],
  })
  const service = it.service('a')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  const [recurring, over, unread] = it.stored()
  assert.is(recurring!.next_run_at, '2026-02-02T11:00:00+00:00')
  assert.equal([over!.state, over!.enabled, over!.last_status], ['completed', false, 'ok'])
  assert.is(unread!.next_run_at, '2026-02-02T09:00:00Z')
  assert.equal(service.ran, ['once 10:00'])
})

test('does not claim a job that another process advanced between the check and the claim', async ({
  it,
}) => {
  it.put({ jobs: [job()] })
  it.to('2026-02-02T11:00:00Z')
  const service = it.service('a')
  const held = Promise.withResolvers<void>()
  const other = withFileLock(join(it.dir, '.jobs.lock'), { timeoutMs: 5_000 }, async () => {
    await held.promise
    it.put({ jobs: [job({ next_run_at: '2026-02-02T12:00:00+00:00' })] })
  })
  const tick = service.scheduler.tick()
  held.resolve()
  await Promise.all([other, tick])
  await service.scheduler.whenIdle()
  assert.equal(service.ran, [])
  assert.equal(service.history.list(), [])
})

test('kill −9 between claim and run: the run is recorded as interrupted and not repeated', async ({
  it,
}) => {
  it.put({
    jobs: [job(), job({ id: 'later', name: 'later', next_run_at: '2026-02-02T12:00:00Z' })],
  })
  const child = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '_killed.ts'), it.dir, '2026-02-02T11:00:00Z'],
    { encoding: 'utf8' },
  )
  assert.is(child.signal, 'SIGKILL', child.stderr)
  assert.is(it.stored()[0]!.next_run_at, '2026-02-02T12:00:00+00:00')
  it.to('2026-02-02T11:01:00Z')
  const service = it.service('next')
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  assert.equal(service.ran, [])
  assert.equal(brief(service.history.list()), ['interrupted 1 schedule'])
  const [stored] = it.stored()
  assert.equal([stored!.last_status, stored!.repeat.completed], ['error', 0])
  assert.match(stored!.last_error, /server stopped/)
  // And again: nothing is left to tell.
  const before = it.text()
  await it.service('third').scheduler.tick()
  assert.is(it.text(), before)
})

test('nothing is claimed before what an earlier process left is recovered, however long that waits for the lock', async ({
  it,
}) => {
  it.put({ jobs: [job()] })
  const due = it.text()
  const child = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '_killed.ts'), it.dir, '2026-02-02T11:00:00Z'],
    { encoding: 'utf8' },
  )
  assert.is(child.signal, 'SIGKILL', child.stderr)
  // As if it had been killed before the claim was in the list.
  it.put(JSON.parse(due))
  it.to('2026-02-02T11:01:00Z')
  const service = it.service('next')
  const lock = (name: string) => join(it.dir, name)
  const ticks: Promise<void>[] = []
  await withFileLock(lock('.jobs.lock'), { timeoutMs: 5_000 }, async () => {
    ticks.push(service.scheduler.tick(), service.scheduler.tick())
    await immediate()
    // A tick that claims holds this one while it waits.
    await withFileLock(lock('.tick.lock'), { timeoutMs: 0 }, async () => undefined)
  })
  await Promise.all(ticks)
  await service.scheduler.whenIdle()
  assert.equal(service.ran, ['hourly 11:01'])
  assert.equal(brief(service.history.list()), ['ran 1 schedule', 'interrupted 1 schedule'])
})

test('shutdown records running jobs as interrupted; the next process runs those that wait, once', async ({
  it,
}) => {
  it.put({ jobs: [job({ id: 'a', name: 'a' }), job({ id: 'b', name: 'b' })] })
  const service = it.service('a', { end: () => new Promise(() => undefined) })
  it.to('2026-02-02T11:00:00Z')
  await service.scheduler.tick()
  service.scheduler.stop()
  await service.scheduler.whenIdle()
  assert.equal(service.ran, ['a 11:00'])
  assert.equal(brief(service.history.list()), ['queued 1 schedule', 'interrupted 1 schedule'])
  await service.scheduler.tick()
  assert.is(service.ran.length, 1)
  for (const boot of ['b', 'c']) {
    const next = it.service(boot)
    await next.scheduler.tick()
    await next.scheduler.whenIdle()
    assert.equal(next.ran, boot === 'b' ? ['b 11:00'] : [])
  }
  assert.equal(brief(service.history.list()), ['ran 1 schedule', 'interrupted 1 schedule'])
})

test('a job that was deleted while it ran stays deleted; one that was paused stays paused', async ({
  it,
}) => {
  it.put({ jobs: [job({ id: 'a', name: 'a' }), job({ id: 'b', name: 'b' })] })
  const held = Promise.withResolvers<void>()
  const service = it.service('a', { end: () => held.promise.then(() => fine) })
  service.scheduler.runNow('a')
  service.scheduler.runNow('b')
  await service.jobs.remove('a')
  await service.jobs.pause('b', 'rest')
  held.resolve()
  await service.scheduler.whenIdle()
  const [left, ...none] = it.stored()
  assert.equal(none, [])
  assert.equal(
    [left!.id, left!.enabled, left!.state, left!.last_status],
    ['b', false, 'paused', 'ok'],
  )
})

/** A job as a clock at `from` left it, in that zone; what is due next after the first tick at `now`. */
const corrected = async (
  it: TestHome,
  given: Record<string, unknown>,
  now: string,
): Promise<{ next: string; notes: string[]; ran: string[] }> => {
  it.put({ jobs: [job(given)] })
  it.to(now)
  const service = it.service('a')
  await service.scheduler.tick()
  await service.scheduler.tick()
  await service.scheduler.whenIdle()
  return {
    next: it.stored()[0]!.next_run_at,
    notes: brief(service.history.list()),
    ran: service.ran,
  }
}

const cron = (expr: string) => ({ kind: 'cron', expr, display: expr })
const every = (minutes: number) => ({ kind: 'interval', minutes, display: `every ${minutes}m` })
const NOW = '2026-02-02T10:00:30Z'

for (const [name, given, next] of [
  [
    'every minute',
    { schedule: cron('* * * * *'), next_run_at: '2035-01-01T00:01:00+00:00' },
    '2026-02-02T10:01:00+00:00',
  ],
  [
    'an interval',
    { schedule: every(60), next_run_at: '2035-01-01T01:00:00+00:00' },
    '2026-02-02T11:00:30+00:00',
  ],
  [
    'a daily interval that ran 20 hours ahead',
    {
      schedule: every(1_440),
      next_run_at: '2026-02-04T06:00:30+00:00',
      last_run_at: '2026-02-03T06:00:30+00:00',
    },
    '2026-02-03T10:00:30+00:00',
  ],
  [
    'a delay',
    {
      schedule: { kind: 'once', run_at: '2035-01-01T00:30:00+00:00', display: 'once in 30m' },
      schedule_display: 'once in 30m',
      created_at: '2035-01-01T00:00:00+00:00',
      next_run_at: '2035-01-01T00:30:00+00:00',
    },
    '2026-02-02T10:30:30+00:00',
  ],
] as const)
  test(`a clock that was ahead: ${name} is due when its schedule says, and the history says why`, async ({
    it,
  }) => {
    const found = await corrected(it, given, NOW)
    assert.is(found.next, next)
    assert.equal(found.notes, ['skipped 1 schedule'])
    assert.equal(found.ran, [])
  })

for (const [name, given] of [
  [
    'a date that was entered',
    {
      schedule: { kind: 'once', run_at: '2035-01-01T00:00:00+00:00', display: 'once at' },
      created_at: '2035-01-01T00:00:00+00:00',
      next_run_at: '2035-01-01T00:00:00+00:00',
    },
  ],
  [
    'the next of a rare date',
    { schedule: cron('0 0 29 2 *'), next_run_at: '2028-02-29T00:00:00+00:00' },
  ],
  [
    'an interval that was changed or resumed after its last run',
    {
      schedule: every(60),
      last_run_at: '2026-02-02T09:10:30+00:00',
      next_run_at: '2026-02-02T11:00:30+00:00',
    },
  ],
  [
    'the next day of what ran before the clock was set back a little',
    {
      schedule: cron('2 10 * * *'),
      last_run_at: '2026-02-02T10:02:05+00:00',
      next_run_at: '2026-02-03T10:02:00+00:00',
    },
  ],
  ['an interval of weeks', { schedule: every(40_320), next_run_at: '2026-03-01T10:00:00+00:00' }],
  [
    'a job that is off',
    { enabled: false, schedule: cron('* * * * *'), next_run_at: '2035-01-01T00:01:00+00:00' },
  ],
] as const)
  test(`what may be right stays: ${name}`, async ({ it }) => {
    const found = await corrected(it, given, NOW)
    assert.is(found.next, given.next_run_at)
    assert.equal(found.notes, [])
  })

for (const [name, from, to, now, next] of [
  // 09:00 in the zone of the file; what is due at `now`, and next.
  [
    'Berlin → UTC, at the old hour',
    '2026-02-03T09:00:00+01:00',
    'UTC',
    '2026-02-03T08:00:30Z',
    '2026-02-03T09:00:00+00:00',
  ],
  [
    'Kolkata → UTC, at the old hour',
    '2026-02-03T09:00:00+05:30',
    'UTC',
    '2026-02-03T03:30:30Z',
    '2026-02-03T09:00:00+00:00',
  ],
] as const)
  test(`another time zone: ${name} runs at the new hour alone`, async ({ it }) => {
    assert.is(to, 'UTC')
    const found = await corrected(it, { schedule: cron('0 9 * * *'), next_run_at: from }, now)
    assert.is(found.next, next)
    assert.equal(found.ran, [])
  })

test('a run that another program asked for at once is not put off', async ({ it }) => {
  const found = await corrected(
    it,
    { schedule: cron('0 9 * * *'), next_run_at: '2026-02-02T10:00:10+00:00' },
    NOW,
  )
  assert.is(found.ran.length, 1)
})

test.run()
