/** Local times of a time zone: skipped and repeated hours, offsets, formats. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  canonicalZone,
  dayOf,
  fromWall,
  isZone,
  parseInstant,
  toIso,
  toMinute,
  toStamp,
  zoneOf,
} from '../../../lib/base/time-zone.ts'

const BERLIN = 'Europe/Berlin'
const at = (text: string) => Date.parse(text)
const local = (text: string) => new Date(fromWall(at(`${text}Z`), BERLIN)).toISOString()

const test = suite('time zone')

test('an unknown zone is undefined, and the machine’s own is used instead', () => {
  assert.is(canonicalZone('Nowhere/Land'), undefined)
  assert.is(isZone('Nowhere/Land'), false)
  assert.is(zoneOf('Nowhere/Land'), zoneOf(undefined))
  assert.is(zoneOf(7), zoneOf(''))
  assert.is(zoneOf(' Asia/Kolkata '), zoneOf('Asia/Kolkata'))
  assert.is(canonicalZone('europe/berlin'), BERLIN)
})

test('a text that is no instant is undefined', () => {
  const texts = ['', 'soon', '2026', '2026-02-30', '2026-07-01T24:00', '2026-07-01T14:00+99:00']
  for (const text of [...texts, null, 7]) assert.is(parseInstant(text, 'UTC'), undefined)
})

test('an instant has its own offset or is local to the zone', () => {
  assert.is(parseInstant('2026-07-01T14:00:00.123456+05:30', 'UTC'), at('2026-07-01T08:30:00.123Z'))
  assert.is(parseInstant('2026-07-01T14:00:00', BERLIN), at('2026-07-01T12:00:00Z'))
  assert.is(parseInstant('2026-07-01', BERLIN), at('2026-06-30T22:00:00Z'))
})

test('a skipped hour is read after the gap, a repeated one as the first', () => {
  assert.is(local('2026-03-29T02:30:00'), '2026-03-29T01:30:00.000Z')
  assert.is(local('2026-10-25T02:30:00'), '2026-10-25T00:30:00.000Z')
  assert.is(local('2026-07-01T14:00:00'), '2026-07-01T12:00:00.000Z')
})

test('formats of the host agent', () => {
  const noon = at('2026-07-01T12:00:00Z')
  assert.is(toIso(noon + 500, 'America/St_Johns'), '2026-07-01T09:30:00.500-02:30')
  assert.is(toStamp(noon, BERLIN), '2026-07-01_14-00-00')
  assert.is(toMinute(noon, BERLIN), '2026-07-01 14:00')
  assert.is(dayOf(at('2026-07-01T23:00:00Z'), BERLIN), '2026-07-02')
})

test('the date in the machine’s own zone is told without a format of Intl', () => {
  const { DateTimeFormat } = Intl
  const [ms, own] = [Date.parse('2026-07-01T23:30:00Z'), zoneOf(undefined)]
  const days = [0, 6, 12, 18].map(hours => toIso(ms + hours * 3_600_000, own).slice(0, 10))
  let made = 0
  const count = () => {
    made += 1
    throw new Error('Not needed')
  }
  Intl.DateTimeFormat = count as unknown as typeof DateTimeFormat
  try {
    const named = [0, 6, 12, 18].map(hours => dayOf(ms + hours * 3_600_000, ' '))
    assert.equal(named, days)
  } finally {
    Intl.DateTimeFormat = DateTimeFormat
  }
  assert.is(made, 0)
})

test.run()
