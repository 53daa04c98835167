/** When a cell of a worker may end, and when it must be started again. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { App } from '../../../lib/app/app.ts'
import { Activity } from '../../../lib/app/worker-cell.ts'
import { alone } from '../../../lib/cluster/alone.ts'

const test = suite('app/worker-cell')

/** Nothing to do, unless given otherwise. */
const activityOf = (given: {
  turns?: number
  runs?: number
  isAnyRunning?: boolean
  isAnyOpen?: boolean
  isRunning?: boolean
  isImporting?: boolean
  due?: [cron: number | null, notification: number | null]
}) => {
  const [cron, notification] = given.due ?? [null, null]
  const app = {
    cell: alone,
    turns: { count: () => given.turns ?? 0 },
    cron: { count: () => given.runs ?? 0, nextDue: () => cron },
    processes: { isAnyRunning: () => given.isAnyRunning ?? false },
    terminals: { isAnyOpen: () => given.isAnyOpen ?? false },
    backups: { isRunning: () => given.isRunning ?? false },
    imports: { isRunning: () => given.isImporting ?? false },
    notifications: { nextDue: () => notification },
  }
  return new Activity(app as unknown as App)
}

test('a turn, a task, a command, a terminal, a backup, and an import are something to do', () => {
  assert.is(activityOf({}).isBusy(), false)
  for (const given of [
    { turns: 1 },
    { runs: 1 },
    { isAnyRunning: true },
    { isAnyOpen: true },
    { isRunning: true },
    { isImporting: true },
  ])
    assert.is(activityOf(given).isBusy(), true, JSON.stringify(given))
})

test('it wakes for what is due first: a task, or a notification that waits', () => {
  assert.is(activityOf({}).nextDue(), null)
  assert.is(activityOf({ due: [5, null] }).nextDue(), 5)
  assert.is(activityOf({ due: [null, 3] }).nextDue(), 3)
  assert.is(activityOf({ due: [5, 4] }).nextDue(), 4)
})

test.run()
