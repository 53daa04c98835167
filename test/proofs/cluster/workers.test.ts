/**
 * Workers, forwarders, and a real PostgreSQL, as processes: cells are started when they are needed and end when they are not,
 * and people reach their own cells only.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { ended, until } from '../../_wait.ts'
import {
  add,
  arrived,
  as,
  cellDir,
  db,
  directory,
  launchMember,
  pidOf,
  provider,
  rowOf,
  startForwarder,
  startWorker,
  useModel,
  workersSuite,
} from './_workers.ts'

const proof = workersSuite('workers')

proof(
  'refusals: no header, an unknown person, the cell of another one, a header from elsewhere',
  async () => {
    await add('anna')
    await add('ben')
    const worker = await startWorker('one')
    const forwarder = await startForwarder()
    assert.is((await as(null, forwarder).get('/api/sessions')).status, 401)
    const unknown = await as('carl', forwarder).get('/api/sessions')
    assert.equal([unknown.status, /nothing here/.test(unknown.body.error)], [403, true])
    const others = await as('anna', forwarder).get('/cells/ben/api/sessions')
    const none = await as('anna', forwarder).get('/cells/nothing/api/sessions')
    assert.equal(
      [others.status, others.body],
      [none.status, none.body],
      'who may not use it learns nothing',
    )
    assert.is(others.status, 403)
    const strict = await startForwarder({ AGENT_WEBUI_TRUSTED_PROXIES: '192.0.2.1' })
    assert.is((await as('anna', strict).get('/api/sessions')).status, 400)
    assert.not(existsSync(join(worker.dir, 'worker', 'cells')), 'nothing was started for them')
  },
)

proof(
  'a cell starts when its person comes, is reached through a forwarder only, and ends when nothing happens',
  async () => {
    await add('anna@example.com')
    const worker = await startWorker('one', { AGENT_WEBUI_CLUSTER_IDLE: '0.02' })
    const forwarder = await startForwarder()
    const anna = as('Anna@example.com', forwarder)
    const created = await anna.post('/api/session/new', {})
    assert.is(created.status, 200)
    const { address } = (await directory.ownerOf('anna@example.com')) ?? { address: '' }
    const direct = await as('anna@example.com', { url: address }).get('/api/sessions')
    assert.equal(
      [direct.status, direct.body.error],
      [403, 'This is reached through the forwarder only.'],
    )
    const first = pidOf(worker, 'anna@example.com')
    await ended(first)
    assert.equal(
      [(await rowOf('anna@example.com')).is_released, (await rowOf('anna@example.com')).wake],
      [true, null],
    )
    // The next request starts it again, with what it had.
    const { session_id: id } = created.body.session
    assert.is((await anna.get(`/api/session?session_id=${id}`)).body.session.session_id, id)
    assert.is.not(pidOf(worker, 'anna@example.com'), first)
  },
)

proof('a team has one cell: each of its people reaches it, with a path of its own', async () => {
  await add('anna')
  await add('team', { people: ['anna', 'ben'] })
  await startWorker('one')
  const forwarder = await startForwarder()
  const [anna, ben] = [as('anna', forwarder), as('ben', forwarder)]
  const { body } = await anna.post('/cells/team/api/session/new', {})
  const id: string = body.session.session_id
  assert.is((await ben.get(`/api/session?session_id=${id}`)).status, 200, 'the only one of ben')
  assert.is((await anna.get(`/api/session?session_id=${id}`)).status, 404, 'her own comes first')
  const page = await anna.get('/cells/team/')
  assert.match(page.text, '<base href="/cells/team/"')
  await directory.revoke('team', ['ben'])
  await until(async () => (await ben.get('/api/sessions')).status === 403)
})

proof('no capacity: a sentence, until another cell ends', async () => {
  await add('anna')
  await add('ben')
  await startWorker('one', { AGENT_WEBUI_CLUSTER_CAPACITY: '1', AGENT_WEBUI_CLUSTER_IDLE: '0.1' })
  const forwarder = await startForwarder()
  assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
  const full = await as('ben', forwarder).get('/api/sessions')
  assert.equal([full.status, /All workers are full/.test(full.body.error)], [503, true])
  await until(async () => (await as('ben', forwarder).get('/api/sessions')).status === 200)
})

proof('a cell that ended wakes for its scheduled task', async () => {
  await add('anna')
  const worker = await startWorker('one', { AGENT_WEBUI_CLUSTER_IDLE: '0.02' })
  const forwarder = await startForwarder()
  const anna = as('anna', forwarder)
  await anna.get('/api/sessions')
  useModel(worker, 'anna')
  const inAnHour = Date.now() + 3_600_000
  const made = await anna.post('/api/crons/create', {
    prompt: 'look',
    schedule: 'every 1h',
    name: 'look',
  })
  assert.is(made.status, 200)
  await until(async () => (await rowOf('anna')).is_released === true)
  const { wake } = await rowOf('anna')
  assert.ok(wake instanceof Date && wake.getTime() >= inAnHour - 60_000)
  // An hour later, as far as its file and the database know.
  const file = join(cellDir(worker, 'anna'), 'home', 'cron', 'jobs.json')
  const past = new Date(Date.now() - 1_000).toISOString()
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(/("next_run_at":\s*)"[^"]*"/, `$1"${past}"`),
  )
  await db.query('update agent_webui.cell set wake = clock_timestamp()')
  provider.push({ text: 'Looked.' })
  await arrived(1)
})

proof(
  'programs that are older than the tables: a worker and a service end with 78 and a sentence, a running worker keeps its cells and starts no more',
  async () => {
    await add('anna')
    await add('ben')
    const worker = await startWorker('one')
    const forwarder = await startForwarder()
    assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
    await db.query('insert into agent_webui.migration (step) values (999)')
    await worker.program.waitForOutput('starts no more cells')
    assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
    const full = await as('ben', forwarder).get('/api/sessions')
    assert.equal([full.status, full.body.code], [503, 'workers_full'])
    for (const args of [['worker'], []]) {
      const { program } = launchMember('two', args)
      assert.is(await program.exited, 78, args[0] ?? 'service')
      const said = program.output().match(/newer agent-webui/g) ?? []
      assert.is(said.length, 1, program.output())
    }
    const doctor = launchMember('two', ['doctor']).program
    assert.is(await doctor.exited, 1)
    assert.match(doctor.output(), /✗ cluster: .*newer agent-webui/)
  },
)

proof(
  'what waiting does not end: a worker and a service end with 78 and one sentence',
  async () => {
    await db.query('create role limited login')
    for (const [url, sentence] of [
      [
        db.url.replace('test@', 'limited@'),
        /The user of the database may not do what the cluster needs: permission denied/g,
      ],
      [
        db.url.replace(/postgres$/, 'nothing'),
        /The server has no database of that name: database "nothing" does not exist/g,
      ],
    ] as const) {
      for (const args of [['worker'], []]) {
        const { program } = launchMember('two', args, { AGENT_WEBUI_CLUSTER_URL: url })
        assert.is(await program.exited, 78, args[0] ?? 'service')
        assert.is((program.output().match(sentence) ?? []).length, 1, program.output())
        assert.not.match(program.output(), / works as /)
      }
      const doctor = launchMember('two', ['doctor'], { AGENT_WEBUI_CLUSTER_URL: url }).program
      assert.is(await doctor.exited, 1)
      assert.match(doctor.output(), /✗ cluster: /)
    }
    await db.query('drop role limited')
  },
)

proof.run()
