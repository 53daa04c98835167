/** Quiet hours as instants: midnight, both changes of the clocks, and times that do not exist or happen twice. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { quietUntil } from '../../../lib/notifications/quiet-hours.ts'

const test = suite('quiet hours')

const until = (at: string, from: string, to: string, zone = 'Europe/Berlin', enabled = true) => {
  const end = quietUntil(Date.parse(at), { enabled, from, to, zone })
  return end === null ? null : new Date(end).toISOString().replace('.000', '')
}

test('are never in force when they are off or have no length', () => {
  assert.is(until('2026-01-10T23:00:00Z', '22:00', '07:00', 'UTC', false), null)
  assert.is(until('2026-01-10T22:00:00Z', '22:00', '22:00', 'UTC'), null)
})

test('begin with their first minute and end before their last', () => {
  assert.is(until('2026-01-10T20:59:59Z', '22:00', '07:00'), null)
  assert.is(until('2026-01-10T21:00:00Z', '22:00', '07:00'), '2026-01-11T06:00:00Z')
  assert.is(until('2026-01-11T05:59:59Z', '22:00', '07:00'), '2026-01-11T06:00:00Z')
  assert.is(until('2026-01-11T06:00:00Z', '22:00', '07:00'), null)
  assert.is(until('2026-01-11T12:30:00Z', '13:00', '14:00'), '2026-01-11T13:00:00Z')
})

test('keep their clock times over both changes of the clocks', () => {
  // Clocks go forward on March 29, 2026, at 01:00 UTC, and back on October 25.
  assert.is(until('2026-03-28T21:30:00Z', '22:00', '07:00'), '2026-03-29T05:00:00Z')
  assert.is(until('2026-03-29T05:00:00Z', '22:00', '07:00'), null)
  assert.is(until('2026-10-24T20:30:00Z', '22:00', '07:00'), '2026-10-25T06:00:00Z')
  assert.is(until('2026-10-25T05:59:00Z', '22:00', '07:00'), '2026-10-25T06:00:00Z')
})

test('an end in the skipped hour is moved behind it, one in the repeated hour counts once', () => {
  assert.is(until('2026-03-29T00:59:00Z', '22:00', '02:30'), '2026-03-29T01:30:00Z')
  assert.is(until('2026-10-25T00:15:00Z', '22:00', '02:30'), '2026-10-25T00:30:00Z')
  assert.is(until('2026-10-25T01:15:00Z', '22:00', '02:30'), null, '02:15 for the second time')
  assert.is(
    until('2026-10-25T01:15:00Z', '02:30', '08:00'),
    '2026-10-25T07:00:00Z',
    'they have begun, though the clock shows 02:15 again',
  )
})

test.run()
