/** A service that is killed the moment its claim is on disk and its run begins. */
import { createTestClock } from '../../_clock.ts'
import { History } from '../../../lib/cron/history.ts'
import { JobsFile } from '../../../lib/cron/jobs-file.ts'
import { Scheduler } from '../../../lib/cron/scheduler.ts'
import { toIso } from '../../../lib/base/time-zone.ts'

const [dir = '', at = ''] = process.argv.slice(2)
const clock = createTestClock(Date.parse(at))
const scheduler = new Scheduler({
  file: new JobsFile(dir, () => toIso(clock.now(), 'UTC')),
  history: new History(dir, { pid: process.pid, boot: 'killed' }, clock),
  run() {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  },
  clock,
  zone: () => 'UTC',
  log: () => undefined,
})
await scheduler.tick()
await scheduler.whenIdle()
