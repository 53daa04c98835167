/** Scheduled jobs over real HTTP: what may be written, what is refused, what other programs and profiles see. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { create, listed } from './_crons.ts'

const edits = suite<{ app: TestApp }>('crons: edits')
edits.before.each(async context => {
  context.app = await startApp()
})
edits.after.each(({ app }) => app.close())

const bad: [string, Record<string, unknown>, number, RegExp][] = [
  ['create', {}, 400, /required.*: prompt, schedule/],
  ['create', { prompt: 'x' }, 400, /required.*: schedule/],
  ['create', { prompt: 'x', schedule: 'whenever' }, 400, /not a schedule.*every 30m/],
  ['create', { prompt: ' ', schedule: '1h' }, 400, /prompt is required/],
  ['create', { prompt: 'x', schedule: '1h', script: '../../.bashrc' }, 400, /must be a file in/],
  ['update', {}, 400, /required.*: job_id/],
  ['update', { job_id: '0123456789ab', name: 'x' }, 404, /^Job not found$/],
  ['delete', { job_id: '0123456789ab' }, 404, /^Job not found$/],
  ['delete', { job_id: '../../x' }, 400, /Invalid job_id/],
  ['run', {}, 400, /required.*: job_id/],
  ['run', { job_id: '0123456789ab' }, 404, /^Job not found$/],
  ['pause', {}, 400, /required.*: job_id/],
  ['pause', { job_id: '0123456789ab' }, 404, /^Job not found$/],
  ['resume', { job_id: '0123456789ab' }, 404, /^Job not found$/],
  ['preview', {}, 400, /required.*: schedule/],
  ['preview', { schedule: 'soon' }, 400, /not a schedule/],
  ['preview', { schedule: '1h', timezone: 'Moon/Base' }, 400, /not a time zone/],
]

edits('POST /api/crons/*: rejects invalid values with a reason', async ({ app }) => {
  for (const [verb, body, status, sentence] of bad) {
    const answer = await app.post(`/api/crons/${verb}`, body)
    assert.is(answer.status, status, `${verb} ${JSON.stringify(body)}`)
    assert.match(answer.body.error, sentence)
  }
  assert.is((await app.get('/api/crons/output')).status, 400)
  assert.match((await app.get('/api/crons/output')).body.error, /required.*: job_id/)
  assert.is((await app.get('/api/crons/output?job_id=../../../etc')).status, 400)
  assert.is((await app.get('/api/crons/history?job_id=..%2f..')).status, 400)
  assert.equal((await app.get('/api/crons')).body.jobs, [])
  assert.not.ok(existsSync(join(app.home, 'cron', 'jobs.json')))
})

edits('Cron: create accepts skills; list returns every key of a job', async ({ app }) => {
  const { body } = await app.post('/api/crons/create', {
    prompt: 'tell me',
    schedule: '0 9 * * 1-5',
    skills: ['news', 'style'],
    model: 'some-model',
  })
  assert.is(body.ok, true)
  const [job] = (await app.get('/api/crons')).body.jobs
  assert.equal(job, body.job)
  assert.match(job.id, /^[0-9a-f]{12}$/)
  const { id, created_at, next_run_at, ...rest } = job
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$/)
  assert.match(next_run_at, /T09:00:00[+-]\d\d:\d\d$/)
  assert.equal(rest, {
    name: 'tell me',
    prompt: 'tell me',
    skills: ['news', 'style'],
    skill: 'news',
    model: 'some-model',
    provider: null,
    base_url: null,
    script: null,
    schedule: { kind: 'cron', expr: '0 9 * * 1-5', display: '0 9 * * 1-5' },
    schedule_display: '0 9 * * 1-5',
    repeat: { times: null, completed: 0 },
    enabled: true,
    state: 'scheduled',
    paused_at: null,
    paused_reason: null,
    last_run_at: null,
    last_status: null,
    last_error: null,
    last_delivery_error: null,
    deliver: 'local',
    origin: null,
    words: 'At 09:00, Monday through Friday',
    running: false,
  })
  const file = join(app.home, 'cron', 'jobs.json')
  assert.is(statSync(file).mode & 0o777, 0o600)
  const stored = JSON.parse(readFileSync(file, 'utf8')).jobs[0]
  assert.equal(
    ['words', 'running'].filter(key => key in stored),
    [],
  )
})

edits(
  'POST /api/crons/preview: describes the schedule in words, with the next three runs',
  async ({ app }) => {
    const { body } = await app.post('/api/crons/preview', {
      schedule: '30 2 * * *',
      timezone: 'Europe/Berlin',
    })
    assert.equal(
      [body.ok, body.display, body.words, body.kind],
      [true, '30 2 * * *', 'At 02:30', 'cron'],
    )
    assert.is(body.next.length, 3)
    for (const at of body.next) assert.match(at, /T0[23]:30:00\+0[12]:00$/)
    writeFileSync(join(app.home, 'config.yaml'), 'timezone: Asia/Kolkata\n')
    const own = await app.post('/api/crons/preview', { schedule: 'every 90m' })
    assert.is(own.body.timezone, 'Asia/Kolkata')
    assert.match(own.body.next[0], /\+05:30$/)
    assert.is((await app.get('/api/crons')).body.timezone, 'Asia/Kolkata')
  },
)

edits(
  'plain words of the page’s language are understood, and stored in their exact form',
  async ({ app }) => {
    const french = { headers: { 'accept-language': 'fr' } }
    const preview = (schedule: string, language = french) =>
      app.post('/api/crons/preview', { schedule }, language)
    const { body } = await preview('en semaine à 9h')
    assert.equal([body.display, body.next.length], ['0 9 * * 1-5', 3])
    // English everywhere, French only where the page is French.
    assert.is((await preview('weekdays at 9')).body.display, '0 9 * * 1-5')
    const english = { headers: { 'accept-language': 'en' } }
    assert.is((await preview('en semaine à 9h', english)).status, 400)
    assert.is((await preview('en semaine')).status, 400)
    const task = { prompt: 'report', schedule: 'tous les jours à 9h' }
    const made = (await app.post('/api/crons/create', task, french)).body.job
    assert.is(made.schedule.expr, '0 9 * * *')
    const change = { job_id: made.id, schedule: 'chaque lundi à 18h30' }
    assert.is(
      (await app.post('/api/crons/update', change, french)).body.job.schedule.expr,
      '30 18 * * 1',
    )
  },
)

edits(
  'update parses a plain schedule; null and the stored form change nothing',
  async ({ app }) => {
    const id = await create(app)
    const { body } = await app.post('/api/crons/update', {
      job_id: id,
      schedule: 'every 30m',
      prompt: 'again',
      name: null,
      skills: null,
      model: null,
    })
    assert.equal(body.job.schedule, { kind: 'interval', minutes: 30, display: 'every 30m' })
    assert.equal(
      [body.job.prompt, body.job.name, body.job.words],
      ['again', 'Look', 'Every 30 minutes'],
    )
    const same = await app.post('/api/crons/update', {
      job_id: id,
      ...body.job,
      id: 'other',
      last_run_at: 'x',
    })
    assert.equal(same.body.job, body.job)
    const refused = await app.post('/api/crons/update', { job_id: id, schedule: 'never' })
    assert.is(refused.status, 400)
    assert.equal((await listed(app, id)).schedule, body.job.schedule)
  },
)

edits(
  'pause, resume, delete; picks up another program’s edits; a restart changes nothing',
  async ({ app }) => {
    const id = await create(app)
    const paused = (await app.post('/api/crons/pause', { job_id: id, reason: 'holidays' })).body.job
    assert.equal(
      [paused.enabled, paused.state, paused.paused_reason],
      [false, 'paused', 'holidays'],
    )
    await app.restart()
    assert.equal(await listed(app, id), paused)
    const resumed = (await app.post('/api/crons/resume', { job_id: id })).body.job
    assert.equal([resumed.enabled, resumed.state, resumed.paused_at], [true, 'scheduled', null])
    const file = join(app.home, 'cron', 'jobs.json')
    const stored = JSON.parse(readFileSync(file, 'utf8'))
    stored.jobs[0].name = 'by the command line'
    stored.jobs[0].future_field = { kept: 1 }
    writeFileSync(file, JSON.stringify(stored))
    assert.equal(
      [(await listed(app, id)).name, (await listed(app, id)).future_field.kept],
      ['by the command line', 1],
    )
    const gone = await app.post('/api/crons/delete', { job_id: id })
    assert.equal(gone.body, { ok: true, job_id: id })
    assert.equal((await app.get('/api/crons')).body.jobs, [])
  },
)

edits('reports an unreadable jobs file and never overwrites it', async ({ app }) => {
  mkdirSync(join(app.home, 'cron'))
  const file = join(app.home, 'cron', 'jobs.json')
  writeFileSync(file, '{"jobs": [')
  const { body } = await app.get('/api/crons')
  assert.equal(body.jobs, [])
  assert.match(body.problem, /JSON/)
  const answer = await app.post('/api/crons/create', { prompt: 'x', schedule: '1h' })
  assert.is(answer.status, 409)
  assert.is(readFileSync(file, 'utf8'), '{"jobs": [')
})

edits('isolation: two profiles have separate jobs, outputs and runs', async ({ app }) => {
  await app.post('/api/profile/create', { name: 'other' })
  const other = { headers: { Cookie: 'agent_profile=other' } }
  const id = await create(app, { prompt: 'secret plan' })
  for (const path of [
    '/api/crons',
    '/api/crons/history',
    '/api/crons/recent',
    `/api/crons/output?job_id=${id}`,
  ])
    assert.not.match((await app.get(path, other)).text, /secret plan|Look/)
  for (const verb of ['update', 'delete', 'run', 'pause', 'resume'])
    assert.is((await app.post(`/api/crons/${verb}`, { job_id: id }, other)).status, 404)
  assert.ok(await listed(app, id))
  const { body } = await app.post('/api/crons/create', { prompt: 'x', schedule: '1h' }, other)
  assert.ok(existsSync(join(app.home, 'profiles', 'other', 'cron', 'jobs.json')))
  assert.is(await listed(app, body.job.id), undefined)
})

edits.run()
