/** Workers that cannot run a cell, cells that hang or are removed, and what their operator sees. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as assert from 'uvu/assert'
import { freePort, SERVICE } from '../../../build/start-program.ts'
import { ended, until } from '../../_wait.ts'
import { mountSmallDisk } from '../data/_small-disk.ts'
import {
  add,
  as,
  cellDir,
  db,
  directory,
  endTest,
  pidOf,
  rowOf,
  startForwarder,
  startWorker,
  workersSuite,
} from './_workers.ts'

const proof = workersSuite('workers: failures')

proof('a cell that one worker cannot start runs on another', async () => {
  await add('anna')
  const broken = await startWorker('a-broken')
  // The directory of the cell cannot be made.
  mkdirSync(join(broken.dir, 'worker', 'cells'), { recursive: true })
  writeFileSync(cellDir(broken, 'anna'), 'in the way')
  const forwarder = await startForwarder()
  const asked = as('anna', forwarder).get('/api/sessions')
  asked.catch(() => undefined)
  await broken.program.waitForOutput('does not start it again')
  const whole = await startWorker('b-whole')
  await until(async () => (await as('anna', forwarder).get('/api/sessions')).status === 200)
  assert.ok(pidOf(whole, 'anna'))
})

proof('a worker whose disk is full leaves its cells to one that has room', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'full-'))
  const disk = mountSmallDisk(dir, '160m')
  // Not root, or a container.
  if (!disk) return
  try {
    await add('anna')
    const first = await startWorker('a-full', {}, dir)
    const forwarder = await startForwarder()
    const anna = as('anna', forwarder)
    const { body } = await anna.post('/api/session/new', {})
    const second = await startWorker('b-empty')
    disk.fill()
    await first.program.waitForOutput('is full; the cells of this worker go to others')
    await until(async () => (await rowOf('anna')).worker === 'b-empty', 'the move')
    const id: string = body.session.session_id
    await until(
      async () => (await anna.get(`/api/session?session_id=${id}`)).status === 200,
      'the chat at the other worker',
    )
    assert.not.match(first.program.output(), /unhandled|SIGKILL/)
    assert.ok(pidOf(second, 'anna'))
    disk.free()
    await first.program.waitForOutput('There is room on the disk again')
  } finally {
    await endTest()
    disk.unmount()
  }
})

proof('a cell that hangs is replaced, also where the worker is full', async () => {
  await add('anna')
  const worker = await startWorker('one', { AGENT_WEBUI_CLUSTER_CAPACITY: '1' })
  const forwarder = await startForwarder()
  const anna = as('anna', forwarder)
  const { body } = await anna.post('/api/session/new', {})
  const hung = pidOf(worker, 'anna')
  process.kill(hung, 'SIGSTOP')
  await ended(hung)
  const { session_id: id } = body.session
  await until(async () => (await anna.get(`/api/session?session_id=${id}`)).status === 200)
  assert.is.not(pidOf(worker, 'anna'), hung)
})

proof('a cell that is removed ends, and no worker starts it again', async () => {
  await add('anna')
  const worker = await startWorker('one')
  const forwarder = await startForwarder()
  assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
  const pid = pidOf(worker, 'anna')
  await directory.remove('anna')
  await ended(pid)
  await until(async () => (await rowOf('anna')).is_released === true)
  assert.is((await as('anna', forwarder).get('/api/sessions')).status, 403)
  assert.is(await directory.ask('anna'), 'unmanaged')
})

proof('a port that another program has is left out; lines of a cell have its name', async () => {
  await add('anna')
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  await once(other, 'listening')
  const worker = await startWorker('one', { AGENT_WEBUI_PORT: String(port) })
  const forwarder = await startForwarder()
  assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
  const { address } = (await directory.ownerOf('anna')) ?? { address: '' }
  assert.ok(Number(new URL(address).port) > port)
  await worker.program.waitForOutput('[webui anna] ')
  other.close()
})

proof(
  'the database was away for longer than a sign of life counts: cells stay as they are',
  async () => {
    await add('anna')
    const worker = await startWorker('one')
    const forwarder = await startForwarder()
    assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
    const pid = pidOf(worker, 'anna')
    await db.kill()
    await db.start()
    const before = Date.now()
    await db.query(
      "update agent_webui.cell set asked = clock_timestamp(), seen = clock_timestamp() - interval '1 minute'",
    )
    await until(async () => Number((await rowOf('anna')).seen) > before, 'a sign of life')
    assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
    assert.equal([pidOf(worker, 'anna'), (await rowOf('anna')).epoch], [pid, '1'])
  },
)

proof('a worker is healthy by itself: no cell has to run', async () => {
  const { dir } = await startWorker('one')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [SERVICE, 'doctor', '--wait', '30'],
    { env: { ...process.env, HOME: dir, AGENT_WEBUI_STATE_DIR: join(dir, 'worker') } },
  )
  assert.match(stdout, /responds at http:\/\/127\.0\.0\.1:/)
})

proof.run()
