/** The tasks view's state: order, schedule preview, the form, actions, polling. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Job, JobRun } from '../../../lib/schema/cron.ts'
import { ApiError } from '../../../public/api.ts'
import { scheduleText } from '../../../public/features/tasks/task-draft.ts'
import { TasksState, resultOf, sortJobs } from '../../../public/features/tasks/tasks.ts'
import { readTranslation } from '../../../build/languages.ts'
import { scheduleWords } from '../../../public/features/tasks/schedule-words.ts'
import { setLanguage } from '../../../public/strings/t.ts'
import {
  formatDistance,
  formatDuration,
  formatMoment,
} from '../../../public/features/tasks/times.ts'
import { fakePlatform, fakeShell, settle } from '../_page.ts'

const job = (id: string, patch: Partial<Job> = {}): Job => ({
  id,
  name: id,
  prompt: 'look',
  skills: [],
  skill: null,
  model: null,
  provider: null,
  base_url: null,
  script: null,
  schedule: { kind: 'interval', minutes: 60, display: 'every 60m' },
  schedule_display: 'every 60m',
  repeat: { times: null, completed: 0 },
  enabled: true,
  state: 'scheduled',
  paused_at: null,
  paused_reason: null,
  created_at: null,
  next_run_at: '2026-02-02T11:00:00+00:00',
  last_run_at: null,
  last_status: null,
  last_error: null,
  last_delivery_error: null,
  deliver: 'local',
  origin: null,
  words: 'Every hour',
  running: false,
  ...patch,
})

const run = (run_id: string, patch: Partial<JobRun> = {}): JobRun => ({
  run_id,
  job_id: 'a',
  name: 'a',
  how: 'ran',
  status: 'ok',
  trigger: 'schedule',
  due_at: 1,
  due_until: 1,
  count: 1,
  started_at: 1,
  ended_at: 2,
  error: null,
  session_id: 's',
  filename: 'f.md',
  ...patch,
})

const setup = (jobs: Job[] = [job('a')], visible = () => true) => {
  const world = { jobs, runs: [run('1')] }
  const { platform, clock, service } = fakePlatform({
    'GET /api/crons': () => ({ jobs: world.jobs, timezone: 'UTC', problem: null }),
    'GET /api/crons/history': ({ limit }) => ({
      runs: world.runs.slice(0, Number(limit)),
      total: world.runs.length,
    }),
    'GET /api/crons/output': () => ({
      outputs: [{ filename: 'f.md', content: '# Cron Job: a\n\n## Response\n\nquiet\n' }],
    }),
    'GET /api/skills': () => ({ skills: [{ name: 'news' }] }),
    'POST /api/crons/preview': ({ schedule }) => {
      if (schedule === 'soon') throw new ApiError(400, 'not a schedule')
      return { words: `words of ${schedule}`, next: ['2026-02-02T11:00:00Z'], timezone: 'UTC' }
    },
    'POST /api/crons/create': ({ prompt }) => {
      if (prompt === 'no') throw new ApiError(400, 'prompt is required')
      return { job: job('new') }
    },
    'POST /api/crons/update': input => ({ job: job('a', input as Partial<Job>) }),
    'POST /api/crons/run': () => ({ status: 'triggered' }),
    'POST /api/crons/pause': () => {
      throw new ApiError(404, 'Job not found')
    },
  })
  const shell = fakeShell(platform)
  const tasks = new TasksState(shell, visible)
  return { tasks, clock, service, toasts: shell.toasts, unsaved: shell.layout.unsaved, world }
}

const test = suite('page: tasks')

test('sorts running first, then by next run, then unscheduled', () => {
  const sorted = sortJobs([
    job('paused', { enabled: false }),
    job('later', { next_run_at: '2026-02-03T11:00:00+00:00' }),
    job('soon'),
    job('runs', { running: true, next_run_at: null }),
  ])
  assert.equal(
    sorted.map(({ id }) => id),
    ['runs', 'soon', 'later', 'paused'],
  )
})

test('shows a schedule as typed; finds the result under its heading', () => {
  const text = (schedule: unknown, schedule_display = 'every 60m') =>
    scheduleText({ schedule, schedule_display })
  assert.is(text({ kind: 'cron', expr: '0 9 * * 1-5' }), '0 9 * * 1-5')
  assert.is(text({ kind: 'once', run_at: '2026-02-02T11:00:00+00:00' }), '2026-02-02T11:00')
  assert.is(text({ kind: 'interval', minutes: 60 }), 'every 60m')
  assert.is(text(null, 'strange'), 'strange')
  assert.is(
    resultOf('# Cron Job: a\n\n## Prompt\n\nx\n\n## Response\n\nhello\n## more'),
    'hello\n## more',
  )
  assert.is(resultOf('nothing of the kind'), '')
})

test('shows a failed list and retries', async () => {
  const { tasks, service } = setup()
  const answer = service.answers['GET /api/crons']!
  service.answers['GET /api/crons'] = () => {
    throw new ApiError(500, 'down')
  }
  await tasks.refresh()
  assert.is(tasks.state.value, 'failed')
  service.answers['GET /api/crons'] = answer
  await tasks.refresh()
  assert.is(tasks.state.value, 'ready')
  assert.equal(
    tasks.jobs.value.map(({ id }) => id),
    ['a'],
  )
})

test('previews the schedule after a pause; only the newest reply counts', async () => {
  const { tasks, clock, service } = setup()
  tasks.form.create()
  assert.is(tasks.form.preview.value.kind, 'empty')
  for (const schedule of ['s', 'so', 'soon']) tasks.form.change({ schedule })
  await clock.advance(300)
  await settle()
  assert.equal(service.of('POST /api/crons/preview'), [{ schedule: 'soon' }])
  assert.equal(tasks.form.preview.value, { kind: 'invalid', message: 'not a schedule' })
  const held = Promise.withResolvers<unknown>()
  service.answers['POST /api/crons/preview'] = ({ schedule }) =>
    schedule === 'slow' ? held.promise : { words: 'fast words', next: [], timezone: 'UTC' }
  tasks.form.change({ schedule: 'slow' })
  await clock.advance(300)
  tasks.form.change({ schedule: 'fast' })
  await clock.advance(300)
  await settle()
  held.resolve({ words: 'slow words', next: [], timezone: 'UTC' })
  await settle()
  assert.equal(tasks.form.preview.value, {
    kind: 'valid',
    words: 'fast words',
    next: [],
    timezone: 'UTC',
  })
})

test('keeps the form of a rejected task and shows why', async () => {
  const { tasks, unsaved } = setup()
  tasks.form.create()
  tasks.form.change({ prompt: 'no', schedule: 'every 1h' })
  assert.ok(unsaved.has('task'))
  assert.is(await tasks.form.save(), null)
  assert.equal(
    [tasks.form.draft.value?.prompt, tasks.form.draft.value?.problem, tasks.form.draft.value?.busy],
    ['no', 'prompt is required', false],
  )
  tasks.form.change({ prompt: 'yes' })
  assert.is(await tasks.form.save(), 'new')
  assert.is(tasks.form.draft.value, null)
  assert.not.ok(unsaved.has('task'))
})

test('sends the schedule of an edit only when it changed', async () => {
  const { tasks, service } = setup()
  tasks.form.edit(job('a'))
  tasks.form.change({ name: 'b', skills: ['news'] })
  await tasks.form.save()
  assert.equal(service.of('POST /api/crons/update')[0], {
    job_id: 'a',
    name: 'b',
    prompt: 'look',
    model: '',
    script: '',
    skills: ['news'],
  })
  tasks.form.edit(job('a'))
  tasks.form.change({ schedule: 'every 5m' })
  await tasks.form.save()
  assert.is(service.of('POST /api/crons/update')[1]!.schedule, 'every 5m')
})

test('toasts the result or the error of each action', async () => {
  const { tasks, toasts } = setup()
  await tasks.refresh()
  assert.is(await tasks.run(job('a')), true)
  assert.is(await tasks.pause(job('a')), false)
  assert.equal(
    toasts.list.value.map(({ text, kind }) => [text, kind]),
    [
      ['Started “a”', 'info'],
      ['Job not found', 'error'],
    ],
  )
})

test('polls every 30 s while visible, faster while a task runs', async () => {
  let looking = true
  const { tasks, clock, service, world } = setup([job('a')], () => looking)
  const count = () => service.of('GET /api/crons').length
  const stop = tasks.watch()
  await settle()
  assert.is(count(), 1)
  await clock.advance(29_000)
  assert.is(count(), 1)
  await clock.advance(1_500)
  await settle()
  assert.is(count(), 2)
  looking = false
  await clock.advance(60_000)
  await settle()
  assert.is(count(), 2)
  looking = true
  world.jobs = [job('a', { running: true })]
  await clock.advance(30_000)
  await settle()
  const before = count()
  await clock.advance(3_500)
  await settle()
  assert.is(count(), before + 1)
  stop()
  await clock.advance(120_000)
  await settle()
  assert.is(count(), before + 1)
})

test('loads runs and outputs of the open task only', async () => {
  const { tasks, service } = setup()
  const held = Promise.withResolvers<unknown>()
  const answer = service.answers['GET /api/crons/history']!
  service.answers['GET /api/crons/history'] = () => held.promise
  const first = tasks.show('a')
  service.answers['GET /api/crons/history'] = answer
  await tasks.show('b')
  held.resolve({ runs: [run('of a')], total: 1 })
  await first
  assert.equal([tasks.runs.value.of, tasks.runs.value.rows[0]?.run_id], ['b', '1'])
  assert.is(resultOf(tasks.outputs.value.get('f.md') ?? ''), 'quiet')
})

const now = new Date(2026, 1, 2, 10).getTime() / 1_000

test('formats times', () => {
  assert.is(formatDistance(now + 7_200, now, 'en'), 'in 2 hours')
  assert.is(formatDistance(now - 120, now, 'en'), '2 minutes ago')
  assert.is(formatDistance(now + 20, now, 'en'), 'due now')
  assert.match(formatMoment(now, now, 'en-GB'), /^Mon,? 2 Feb,? (?:at )?10:00$/)
  assert.match(formatMoment(now, now + 400 * 86_400, 'en-GB'), /2026/)
  assert.equal([0.2, 40, 600].map(formatDuration), ['1 s', '40 s', '10 min'])
})

test('describes common schedules in the page’s language, and leaves others to the server', () => {
  const cron = (expr: string) => scheduleWords({ kind: 'cron', expr }, 'server').replace(/\s/g, ' ')
  setLanguage('de', readTranslation('de'))
  try {
    for (const [expr, words] of [
      ['0 9 * * 1-5', 'Montags bis freitags um 09:00'],
      ['30 18 * * *', 'Jeden Tag um 18:30'],
      ['0 9,17 * * MON,fri', 'Jeden Montag und Freitag um 09:00 und 17:00'],
      ['0 0 * * 5-7', 'Jeden Freitag, Samstag und Sonntag um 00:00'],
      ['5 8 1 * *', 'Am 1. jedes Monats um 08:05'],
      ['0 * * * *', 'Jede Stunde'],
      ['30 * * * *', 'Jede Stunde zur Minute 30'],
      ['*/15 * * * *', 'Alle 15 Minuten'],
      ['*/7 * * * *', 'server'],
      ['0 9 1 1 *', 'server'],
      ['0 9 13 * 5', 'server'],
      ['0 9 * * 1#2', 'server'],
      ['0 9-17 * * *', 'server'],
      ['', 'server'],
    ])
      assert.is(cron(expr!), words, expr)
    const words = (schedule: unknown) => scheduleWords(schedule, 'server').replace(/\s/g, ' ')
    assert.is(words({ kind: 'interval', minutes: 2_880 }), 'Alle 2 Tage')
    assert.is(words({ kind: 'interval', minutes: 'x' }), 'server')
    assert.is(
      words({ kind: 'once', run_at: '2026-02-03T14:00:00+09:00' }),
      'Einmal, am 03.02.2026, 14:00',
    )
    for (const odd of [null, 'x', { kind: 'once' }, { kind: 'cron', expr: 5 }])
      assert.is(words(odd), 'server')
  } finally {
    setLanguage('en', {})
  }
})

test.run()
