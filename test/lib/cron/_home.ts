/** One home's jobs with a clock that is turned by hand, and runs that end when a test says so. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestClock } from '../../_clock.ts'
import { History } from '../../../lib/cron/history.ts'
import { Jobs } from '../../../lib/cron/jobs.ts'
import { JobsFile } from '../../../lib/cron/jobs-file.ts'
import type { RunResult } from '../../../lib/cron/run-job.ts'
import { Scheduler } from '../../../lib/cron/scheduler.ts'
import { toIso } from '../../../lib/base/time-zone.ts'
import { tempDir } from '../../_temp-dir.ts'

export const fine: RunResult = {
  status: 'ok',
  error: null,
  deliveryError: null,
  filename: '2026-02-02_10-00-00.md',
  interrupted: false,
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert the contents of the file
type Stored = Record<string, any>

export const createHome = (at = '2026-02-02T10:00:00Z') => {
  const home = tempDir('cron')
  const dir = join(home, 'cron')
  const path = join(dir, 'jobs.json')
  const clock = createTestClock(Date.parse(at))
  const zone = () => 'UTC'

  /** As one service of its own over the same files. */
  const service = (
    boot: string,
    options: { end?: () => Promise<RunResult>; pid?: number } = {},
  ) => {
    const file = new JobsFile(dir, () => toIso(clock.now(), 'UTC'))
    const history = new History(dir, { pid: options.pid ?? process.pid, boot }, clock)
    const ran: string[] = []
    const logged: string[] = []
    const scheduler = new Scheduler({
      file,
      history,
      async run(job, { signal }) {
        ran.push(`${job.name} ${new Date(clock.now()).toISOString().slice(11, 16)}`)
        const stopped = new Promise<RunResult>(resolve =>
          signal.addEventListener('abort', () =>
            resolve({ ...fine, status: 'error', error: 'stopped', interrupted: true }),
          ),
        )
        return Promise.race([options.end?.() ?? Promise.resolve(fine), stopped])
      },
      clock,
      zone,
      log: (line, extra) => logged.push(`${line} ${JSON.stringify(extra)}`),
    })
    const jobs = new Jobs(file, home, clock, zone)
    return { file, history, ran, logged, scheduler, jobs }
  }

  return {
    home,
    dir,
    path,
    clock,
    service,
    to: (text: string) => clock.set(Date.parse(text)),
    put: (value: unknown) => {
      mkdirSync(dir, { recursive: true })
      writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
    },
    text: () => readFileSync(path, 'utf8'),
    stored: (): Stored[] => JSON.parse(readFileSync(path, 'utf8')).jobs,
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

export type TestHome = ReturnType<typeof createHome>

/** A job as the agent writes it. */
export const job = (given: Stored = {}): Stored => ({
  id: 'a1b2c3d4e5f6',
  name: 'hourly',
  prompt: 'look around',
  skills: [],
  schedule: { kind: 'interval', minutes: 60, display: 'every 60m' },
  schedule_display: 'every 60m',
  repeat: { times: null, completed: 0 },
  enabled: true,
  state: 'scheduled',
  next_run_at: '2026-02-02T11:00:00+00:00',
  last_run_at: null,
  ...given,
})
