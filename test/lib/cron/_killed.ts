/** A service that is killed the moment its claim is on disk and its run begins. */
import { openHistory } from '../../../lib/cron/history.ts'
import { jobsFile } from '../../../lib/cron/jobs-file.ts'
import { createScheduler } from '../../../lib/cron/scheduler.ts'
import { toIso } from '../../../lib/base/time-zone.ts'

const [dir = '', at = ''] = process.argv.slice(2)
const now = () => Date.parse(at)
const scheduler = createScheduler({
  file: jobsFile(dir, () => toIso(now(), 'UTC')),
  history: openHistory(dir, { pid: process.pid, boot: 'killed' }, { now }),
  run() {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  },
  now,
  zone: () => 'UTC',
  log: () => undefined,
})
await scheduler.tick()
await scheduler.settled()
