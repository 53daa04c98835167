/** When: the whole grammar of schedules, the next runs with the clock changes, and the words that say it back. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { graceMs, nextRun, nextRuns } from '../../../lib/cron/next-run.ts'
import {
  cronAfter,
  inWords,
  parseSchedule,
  readSchedule,
} from '../../../lib/cron/parse-schedule.ts'
import { toExactSchedule } from '../../../lib/cron/schedule-words.ts'
import { toIso, zoneOf } from '../../../lib/base/time-zone.ts'

const BERLIN = 'Europe/Berlin'
const at = (text: string) => Date.parse(text)
const NOW = at('2026-02-02T10:20:30Z')
const parse = (text: string, zone = 'UTC') => parseSchedule(text, NOW, zone)

const grammar = suite('cron: grammar')

const refused: [string, RegExp][] = [
  ['', /is not a schedule.*every 30m.*0 9 \* \* 1-5.*2026-02-03T14:00.*"30m"/],
  ['whenever', /is not a schedule/],
  ['every', /is not a schedule/],
  ['every now and then', /is not an interval/],
  ['every 0m', /at least one minute/],
  ['0m', /at least one minute/],
  ['every 99999999d', /ten years/],
  ['every -5m', /is not an interval/],
  ['61 * * * *', /not a cron schedule/],
  ['0 9 31 2 *', /not a cron schedule/],
  ['5-1 9 * * *', /not a cron schedule/],
  ['* * * *', /is not a schedule/],
  ['* * * * * * *', /five fields, or six/],
  ['0 9 * * FOO', /not a cron schedule/],
  ['2026-02-30T10:00', /not a date and time/],
  ['2026-02-03T25:00', /not a date and time/],
  ['2026-13-01', /not a date and time/],
  ['2020-01-01T10:00', /has passed/],
  ['30x', /is not a schedule/],
  ['x'.repeat(500), /too long/],
]
for (const [text, sentence] of refused) {
  grammar(`rejects an invalid schedule: ${text.slice(0, 30)}`, () =>
    assert.throws(() => parse(text), sentence),
  )
}

grammar('every <duration> is an interval, in all its units', () => {
  const minutes = (text: string) => {
    const found = parse(text)
    return found.kind === 'interval' ? [found.minutes, found.display] : found
  }
  assert.equal(minutes('every 30m'), [30, 'every 30m'])
  for (const unit of ['m', 'min', 'mins', 'minute', 'minutes', ' m', ' Minutes'])
    assert.equal(minutes(`every 5${unit}`), [5, 'every 5m'])
  for (const unit of ['h', 'hr', 'hrs', 'hour', 'hours'])
    assert.equal(minutes(`every 2${unit}`), [120, 'every 120m'])
  for (const unit of ['d', 'day', 'days'])
    assert.equal(minutes(`EVERY 1 ${unit}`), [1_440, 'every 1440m'])
})

grammar('five cron fields, or six with seconds last as in the host agent', () => {
  assert.equal(parse('0 9 * * 1-5'), { kind: 'cron', expr: '0 9 * * 1-5', display: '0 9 * * 1-5' })
  assert.equal(parse('  */15   8-18 1,15 * MON  '), {
    kind: 'cron',
    expr: '*/15 8-18 1,15 * MON',
    display: '*/15 8-18 1,15 * MON',
  })
  const six = parse('0 9 * * * 30')
  assert.is(toIso(nextRun(six, { now: NOW, zone: 'UTC' })!, 'UTC'), '2026-02-03T09:00:30+00:00')
})

grammar('a date and time without an offset is in the configured zone', () => {
  assert.equal(parse('2026-07-01T14:00', BERLIN), {
    kind: 'once',
    run_at: '2026-07-01T14:00:00+02:00',
    display: 'once at 2026-07-01 14:00',
  })
  assert.equal(parse('2026-07-01 14:00', BERLIN), parse('2026-07-01T14:00:00+02:00', BERLIN))
  assert.equal(parse('2026-07-01T12:00Z', BERLIN), parse('2026-07-01T14:00', BERLIN))
  assert.is((parse('2026-07-01') as { run_at: string }).run_at, '2026-07-01T00:00:00+00:00')
  // Just passed, within the grace: it still runs.
  assert.ok(parse('2026-02-02T10:19:00Z'))
  assert.throws(() => parse('2026-02-02T10:18:00Z'), /has passed/)
})

grammar('a bare duration is a single run after that delay', () => {
  assert.equal(parse('2h'), {
    kind: 'once',
    run_at: '2026-02-02T12:20:30+00:00',
    display: 'once in 2h',
  })
})

grammar('reads every schedule format found in files; an unparsable one is no schedule', () => {
  const read = (value: unknown) => readSchedule(value, NOW, 'UTC')?.kind
  assert.is(read({ kind: 'interval', minutes: 5 }), 'interval')
  assert.is(read({ kind: 'interval', minutes: '60' }), 'interval')
  assert.is(read({ kind: 'once', run_at: '2020-01-01T00:00:00.123456+00:00' }), 'once')
  assert.is(read({ kind: 'cron', expr: '0 9 * * *', display: 'daily' }), 'cron')
  // A client's plain text in the place of a schedule.
  assert.is(read('every 30m'), 'interval')
  for (const value of [
    null,
    7,
    {},
    [],
    'x',
    { kind: 'interval' },
    { kind: 'interval', minutes: 'x' },
    { kind: 'cron', expr: 'x' },
  ])
    assert.is(read(value), undefined)
})

/** From a moment in UTC on: the local times of the next runs. */
const CHANGES: [zone: string, expr: string, from: string, runs: string[]][] = [
  ['Europe/Berlin', '15 2 * * *', '2026-03-28T12:00Z', ['29 03:15', '30 02:15']],
  ['Europe/Berlin', '15 2 * * *', '2026-10-24T12:00Z', ['25 02:15', '26 02:15']],
  ['Europe/Berlin', '*/30 * * * *', '2026-10-25T00:10Z', ['25 02:30', '25 02:00', '25 02:30']],
  ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T12:00Z', ['04 02:45', '05 02:15']],
  ['Australia/Lord_Howe', '15 2 * * *', '2026-04-04T12:00Z', ['05 02:15', '06 02:15']],
  ['Antarctica/Troll', '15 2 * * *', '2026-03-28T12:00Z', ['29 04:15', '30 02:15']],
  ['Antarctica/Troll', '15 * * * *', '2026-10-24T23:20Z', ['25 02:15', '25 01:15', '25 02:15']],
  ['America/Havana', '15 0 * * *', '2026-03-07T12:00Z', ['08 01:15', '09 00:15']],
  ['America/Nuuk', '30 23 * * *', '2026-03-28T12:00Z', ['29 00:30', '29 23:30']],
  ['Pacific/Apia', '15 9 * * *', '2011-12-29T21:00Z', ['31 09:15', '01 09:15']],
]
for (const [zone, expr, from, runs] of CHANGES)
  grammar(`changes of the clocks: ${expr} in ${zone} from ${from}`, () => {
    let ms = at(from)
    const found = runs.map(() => {
      ms = cronAfter(expr, ms, zone)
      return toIso(ms, zone).slice(8, 16).replace('T', ' ')
    })
    assert.equal(found, runs)
  })

for (const [zone, from, until] of [
  ['Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T06:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T12:00Z', '2026-10-03T18:00Z'],
  ['Antarctica/Troll', '2026-10-24T22:00Z', '2026-10-25T06:00Z'],
  ['Asia/Pyongyang', '2015-08-14T12:00Z', '2015-08-14T18:00Z'],
] as const)
  grammar(`the next run is the same whenever it is asked for: ${zone} from ${from}`, () => {
    for (const expr of ['15 2 * * *', '59 1 * * *', '0 * * * *', '*/30 * * * *', '45 23 * * *']) {
      let next = cronAfter(expr, at(from), zone)
      for (let ms = at(from); ms < at(until); ms += 7 * 60_000) {
        if (ms >= next) next = cronAfter(expr, next, zone)
        assert.is(cronAfter(expr, ms, zone), next, `${expr} asked at ${toIso(ms, zone)}`)
      }
    }
  })

// NOW is a Monday, 10:20 in UTC.
const plain: [text: string, exact: string | RegExp][] = [
  ['weekdays at 9', '0 9 * * 1-5'],
  ['at 9 on weekdays', '0 9 * * 1-5'],
  ['daily at noon', '0 12 * * *'],
  ['every day at 12am', '0 0 * * *'],
  ['every day at 8 and 20', '0 8,20 * * *'],
  ['Mondays, Wednesdays and Fridays at 18:15', '15 18 * * 1,3,5'],
  ['every tuesday at seven', '0 7 * * 2'],
  ['mon-fri at 6:05', '5 6 * * 1-5'],
  ['friday to monday at 8', '0 8 * * 5-6,0-1'],
  ['weekends at 10', '0 10 * * 0,6'],
  ['the 1st of every month at 9', '0 9 1 * *'],
  ['monthly on the 15th and 1st at half past nine', '30 9 1,15 * *'],
  ['every hour', 'every 1h'],
  ['tomorrow 9:00', '2026-02-03T09:00'],
  ['at 9', '2026-02-03T09:00'],
  ['on friday at 5pm', '2026-02-06T17:00'],
  ['next monday at 8', '2026-02-09T08:00'],
  ['December 24 at 18:00', '2026-12-24T18:00'],
  ['in 2 hours', '2026-02-02T12:20:30+00:00'],
  ['every 30m', 'every 30m'],
  ['tomorrow', /Add a time/],
  ['weekdays', /Add a time/],
  ['weekly', /Say on which day/],
  ['every other day at 9', /every 2d/],
  ['every day at 8:00 and 9:30', /same minute/],
  ['every day at 25', /is not an interval/],
  ['the 32nd of every month at 9', /is not a schedule/],
  ['today at 9:00', /has passed/],
  ['tomorrow at 9 or so', /is not a schedule/],
  ['tomorrow at 9 and friday at 10', /is not a schedule/],
  ['rm -rf at 9', /is not a schedule/],
]
for (const [text, exact] of plain)
  grammar(`plain English: ${text}`, async () => {
    const found = await toExactSchedule(text, NOW, 'UTC').catch((error: Error) => error)
    if (typeof exact === 'string') assert.is(found, exact)
    else assert.match(found instanceof Error ? found.message : `accepted as ${found}`, exact)
  })

grammar('plain English means the time of the zone, also after a change of the clock', async () => {
  const exact = (text: string) => toExactSchedule(text, at('2026-03-28T20:00:00Z'), BERLIN)
  assert.is(await exact('tomorrow at 9'), '2026-03-29T09:00')
  assert.is(await exact('in 12 hours'), '2026-03-29T10:00:00+02:00')
  assert.is(
    await toExactSchedule('today at 23:30', at('2026-02-02T23:10:00Z'), 'Asia/Tokyo'),
    '2026-02-03T23:30',
  )
})

grammar('describes schedules in words', () => {
  const words = (text: string, zone?: string) => inWords(parse(text, zone), zone ?? 'UTC')
  assert.is(words('every 30m'), 'Every 30 minutes')
  assert.is(words('every 60m'), 'Every hour')
  assert.is(words('every 3h'), 'Every 3 hours')
  assert.is(words('every 1d'), 'Every day')
  assert.is(words('0 9 * * 1-5'), 'At 09:00, Monday through Friday')
  assert.is(words('0 9 * * * 30'), 'At 09:00:30')
  assert.is(words('2026-07-01T14:00', BERLIN), 'Once, on 2026-07-01 at 14:00')
})

grammar.run()

const next = suite('cron: next run')
const after = (text: string, now: string, zone = BERLIN, count = 3) =>
  nextRuns(parseSchedule(text, NOW, zone), at(now), zone, count).map(ms => toIso(ms, zone))

next('a time skipped by a clock change runs once, after the gap', () => {
  assert.equal(after('30 2 * * *', '2026-03-28T00:00Z'), [
    '2026-03-28T02:30:00+01:00',
    '2026-03-29T03:30:00+02:00',
    '2026-03-30T02:30:00+02:00',
  ])
})

next('a time repeated by a clock change runs once', () => {
  assert.equal(after('30 2 * * *', '2026-10-24T12:00Z'), [
    '2026-10-25T02:30:00+02:00',
    '2026-10-26T02:30:00+01:00',
    '2026-10-27T02:30:00+01:00',
  ])
})

next('uses the configured zone, or the machine’s zone when it is unknown', () => {
  assert.equal(after('0 9 * * *', '2026-07-01T00:00Z', 'America/New_York', 1), [
    '2026-07-01T09:00:00-04:00',
  ])
  assert.is(zoneOf('Asia/Kolkata'), 'Asia/Kolkata')
  assert.is(zoneOf('Nowhere/Land'), zoneOf(''))
  assert.is(zoneOf(undefined), zoneOf(7))
})

next('a one-shot runs once, and not when it is more than two minutes late', () => {
  const once = parse('2026-02-02T12:00Z')
  const run = (now: string) => nextRun(once, { now: at(now), zone: 'UTC' })
  assert.is(run('2026-02-02T12:02:00Z'), at('2026-02-02T12:00Z'))
  assert.is(run('2026-02-02T12:02:01Z'), null)
  assert.is(nextRuns(once, NOW, 'UTC').length, 1)
})

next(
  'the grace period is half the period, between two minutes and two hours; two minutes for one-shots',
  () => {
    const grace = (text: string) => graceMs(parse(text), at('2026-02-02T12:00Z'), 'UTC') / 1_000
    assert.is(grace('every 1m'), 120)
    assert.is(grace('every 30m'), 900)
    assert.is(grace('every 1d'), 7_200)
    assert.is(grace('0 * * * *'), 1_800)
    assert.is(grace('0 9 * * *'), 7_200)
    assert.is(grace('2026-02-02T12:00Z'), 120)
  },
)

next.run()
