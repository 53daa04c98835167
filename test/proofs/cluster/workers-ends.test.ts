/** Workers, forwarders, and cells end in mid-work, as processes: nothing is lost, and another one continues. */
import * as assert from 'uvu/assert'
import { ended, until } from '../../_wait.ts'
import {
  add,
  answersOf,
  arrived,
  as,
  db,
  pidOf,
  provider,
  rowOf,
  startForwarder,
  startWorker,
  useModel,
  workersSuite,
} from './_workers.ts'

const proof = workersSuite('workers: ends')

proof(
  'kill -9 of a cell: its turn continues in the next process, and the message is there once',
  async () => {
    await add('anna')
    const worker = await startWorker('one')
    const forwarder = await startForwarder()
    const anna = as('anna', forwarder)
    await anna.get('/api/sessions')
    useModel(worker, 'anna')
    const gate = Promise.withResolvers<void>()
    provider.push({ text: 'Too late.', gate: gate.promise })
    const { body } = await anna.post('/api/session/new', {})
    const id: string = body.session.session_id
    const started = await anna.post('/api/chat/start', { session_id: id, message: 'go' })
    assert.is(started.status, 200)
    await arrived(1)
    await until(async () => (await rowOf('anna')).running === 1, 'the number of running turns')
    const killed = pidOf(worker, 'anna')
    process.kill(killed, 'SIGKILL')
    // No one asks for it: the worker starts it again.
    await arrived(2)
    gate.resolve()
    assert.equal(await answersOf(anna, id), ['go', 'The end.'])
    assert.is.not(pidOf(worker, 'anna'), killed)
    await until(async () => (await rowOf('anna')).running === 0, 'no running turn')
    assert.ok((await rowOf('anna')).active instanceof Date)
  },
)

proof(
  'kill -9 of a worker: its cells end in order, and another worker continues their turns',
  async () => {
    await add('anna')
    const first = await startWorker('one')
    const forwarder = await startForwarder()
    const anna = as('anna', forwarder)
    await anna.get('/api/sessions')
    useModel(first, 'anna')
    await until(async () => {
      const found = await db.query("select 1 from agent_webui.file where path = 'home/config.yaml'")
      return found.length > 0
    }, 'the copy of config.yaml')
    const gate = Promise.withResolvers<void>()
    provider.push({ text: 'Too late.', gate: gate.promise })
    const { body } = await anna.post('/api/session/new', {})
    const id: string = body.session.session_id
    await anna.post('/api/chat/start', { session_id: id, message: 'go' })
    await arrived(1)
    const pid = pidOf(first, 'anna')
    const second = await startWorker('two')
    first.program.child.kill('SIGKILL')
    await ended(pid)
    await arrived(2)
    gate.resolve()
    assert.equal(await answersOf(anna, id), ['go', 'The end.'])
    assert.ok(pidOf(second, 'anna'))
    // The first one comes back, and leaves the cell where it is.
    await startWorker('one', {}, first.dir)
    assert.is((await anna.get('/api/sessions')).status, 200)
    assert.is((await rowOf('anna')).worker, 'two')
  },
)

proof(
  'kill -9 of a forwarder: another one serves the same, and a start that was asked for continues',
  async () => {
    await add('anna')
    const first = await startForwarder()
    const asked = as('anna', first).get('/api/sessions')
    asked.catch(() => undefined)
    await until(async () => (await rowOf('anna')).asked !== null)
    first.child.kill('SIGKILL')
    await startWorker('one')
    const second = await startForwarder()
    assert.is((await as('anna', second).get('/api/sessions')).status, 200)
    assert.is((await rowOf('anna')).epoch, '1')
  },
)

proof(
  'a worker that is stopped ends its cells; a forwarder that identifies no one opens none',
  async () => {
    await add('default')
    const worker = await startWorker('one')
    const open = await startForwarder({ AGENT_WEBUI_AUTH_HEADER: '' })
    // No one was identified here, and any header could be sent.
    const forged = await as('default', open).get('/api/sessions')
    assert.equal([forged.status, /does not say who you are/.test(forged.body.error)], [403, true])
    const pid = pidOf(worker, 'default')
    worker.program.child.kill('SIGTERM')
    assert.is(await worker.program.exited, 0)
    await ended(pid)
    assert.is((await rowOf('default')).is_released, true)
    assert.equal(await db.query('select name from agent_webui.worker'), [])
  },
)

proof.run()
