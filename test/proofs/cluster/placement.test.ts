/** Who may use a cell and which worker starts it, in a real PostgreSQL. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { connect, type Database } from '../../../lib/cluster/database.ts'
import { Directory } from '../../../lib/cluster/directory.ts'
import { WorkerRecord, type WorkerState } from '../../../lib/cluster/placement.ts'
import { findPostgres, type Postgres, startPostgres } from '../../_postgres.ts'
import { until } from '../../_wait.ts'
import { createMachine } from './_machine.ts'

const test = suite('cluster/placement')
let db: Postgres
let directory: Directory
const connections: Database[] = []

const worker = async (given: Partial<WorkerState> = {}, quietMs = 0) => {
  const connection = await connect(db.url)
  connections.push(connection)
  const record = new WorkerRecord(connection, { clock: systemClock, quietMs })
  const state = {
    name: 'a',
    address: 'http://a',
    capacity: 2,
    used: 0,
    labels: [],
    avoids: [],
    ...given,
  }
  assert.is(await record.begin(state.name), true)
  await record.beat(state)
  return {
    begin: (name: string) => record.begin(name),
    purged: (ids: string[]) => record.purged(ids),
    leaving: (cells: string[]) => record.leaving(state.name, cells),
    take: async (used = state.used, running: string[] = []) =>
      (await record.take({ ...state, used }, running))?.cell ?? null,
    takeWith: (running: string[]) => record.take(state, running),
    beat: (used: number, avoids: string[] = []) => record.beat({ ...state, used, avoids }),
    failed: (cell: string) => record.failed(state.name, cell),
    end: () => record.end(state.name),
  }
}
const refuses = async (work: Promise<unknown>, pattern: RegExp): Promise<void> => {
  const error = await work.then(
    () => null,
    (reason: Error) => reason,
  )
  assert.match(error?.message ?? 'no error', pattern)
}
const add = (
  cell: string,
  given: { people?: string[]; labels?: string[]; title?: string; keepsFiles?: boolean } = {},
) => directory.add(cell, { title: '', labels: [], people: [], ...given })
const namesOf = async (person: string) => (await directory.cellsOf(person)).map(({ name }) => name)

const skipped = findPostgres() === null

test.before(async () => {
  if (!skipped) db = await startPostgres()
})
test.before.each(async () => {
  if (skipped) return
  directory = new Directory(db.url)
  // Makes the tables.
  assert.equal(await directory.list(), [])
})
test.after.each(async () => {
  if (skipped) return
  directory.close()
  for (const each of connections.splice(0)) each.end()
  await db.query('drop schema if exists agent_webui cascade')
})
test.after(async () => {
  if (!skipped) await db.close()
})

if (skipped) test.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  test('a person has the cells they were given, and no other', async () => {
    await add('anna')
    await add('team', { people: ['Anna', 'ben'], title: 'Research' })
    assert.equal(await namesOf('carl'), [])
    assert.equal(await namesOf('team'), [], 'the name of a cell with people opens nothing')
    assert.equal(await namesOf('ANNA'), ['anna', 'team'])
    await refuses(directory.allow('nothing', ['ben']), /no cell "nothing"/)
    await refuses(directory.revoke('team', ['carl']), /"carl" could not use/)
    await refuses(add('team'), /already/)
    await directory.revoke('team', ['anna', 'BEN'])
    assert.equal([await namesOf('anna'), await namesOf('ben')], [['anna'], []])
    assert.equal(await namesOf('team'), [], 'also when no one is left')
    await directory.remove('anna')
    assert.equal(await namesOf('anna'), [])
    await add('anna')
    assert.equal(await namesOf('anna'), ['anna'])
  })

  test('a cell that a service makes by itself is that of the user of its name', async () => {
    const machine = createMachine(db.url, { cell: 'Anna@example.com' })
    const owned = await machine.own()
    assert.equal(await namesOf('anna@example.com'), ['Anna@example.com'])
    assert.is(await directory.ask('Anna@example.com'), 'unmanaged')
    await owned.release(5_000)
    assert.is(await directory.ask('Anna@example.com'), 'unmanaged', 'no worker runs it')
    await machine.close()
    // The database keeps none of its files.
    const onVolume = createMachine(db.url, { cell: 'volume', key: null })
    await (await onVolume.own()).release(5_000)
    await refuses(add('volume', { people: ['mallory'] }), /has chats and files of before/)
    await onVolume.close()
  })

  test('asking: no worker, no capacity, then a start that only one worker begins', async () => {
    await add('anna')
    assert.is(await directory.ask('nothing'), 'unmanaged')
    assert.is(await directory.ask('anna'), 'none')
    const full = await worker({ used: 2 })
    assert.is(await directory.ask('anna'), 'full')
    await full.beat(0)
    assert.is(await directory.ask('anna'), 'starting')
    const other = await worker({ name: 'b' })
    const taken = await Promise.all([full.take(), other.take(), full.take(), other.take()])
    assert.equal(taken.filter(Boolean), ['anna'])
    assert.is(await directory.ask('anna'), 'starting')
  })

  test('nothing is started unasked, and nothing that has an owner', async () => {
    const a = await worker()
    await add('anna')
    assert.is(await a.take(), null)
    const machine = createMachine(db.url, { cell: 'anna' })
    const owned = await machine.own()
    await db.query('update agent_webui.cell set asked = clock_timestamp()')
    assert.equal([await directory.ask('anna'), await a.take()], ['unmanaged', null])
    await db.query('update agent_webui.cell set asked = null')
    // It has something to do in a minute.
    await owned.release(5_000, Date.now() + 60_000)
    assert.is(await a.take(), null)
    await db.query("update agent_webui.cell set wake = wake - interval '1 minute'")
    assert.is(await a.take(), 'anna')
    await machine.close()
  })

  test('the worker that ran it last comes first, then the one that runs the fewest', async () => {
    const a = await worker()
    const b = await worker({ name: 'b', used: 1 })
    await add('one')
    await directory.ask('one')
    assert.equal([await b.take(), await a.take()], [null, 'one'])
    await a.beat(2)
    await add('two')
    await directory.ask('two')
    assert.equal([await a.take(2), await b.take()], [null, 'two'], 'a runs more')
    await db.query("update agent_webui.cell set started = null where name = 'one'")
    await directory.ask('one')
    await a.beat(1)
    assert.is(await b.take(0), null, 'a has its directory')
    await a.end()
    assert.is(await b.take(0), 'one')
  })

  test('labels: only a worker that has all of them; each has its name', async () => {
    const a = await worker({ labels: ['gpu'] })
    const b = await worker({ name: 'b' })
    await add('one', { labels: ['gpu'] })
    await add('two', { labels: ['b'] })
    await add('three', { labels: ['gpu', 'b'] })
    assert.is(await directory.ask('three'), 'none')
    assert.equal([await directory.ask('one'), await directory.ask('two')], ['starting', 'starting'])
    assert.equal([await b.take(), await a.take()], ['two', 'one'])
    assert.equal([await b.take(), await a.take()], [null, null])
  })

  test('an owner that was killed: its cell is started when it is asked for, and by itself after a while', async () => {
    await add('anna')
    const a = await worker()
    await directory.ask('anna')
    assert.is(await a.take(), 'anna')
    const machine = createMachine(db.url, { cell: 'anna' })
    await machine.own()
    assert.is(await directory.ask('anna'), 'unmanaged')
    // With another epoch it does not come back, as if it had been killed.
    await db.query(
      'with lost as (update agent_webui.cell set epoch = epoch + 1 returning pid) select pg_terminate_backend(pid) from lost',
    )
    assert.is(await a.take(), null, 'its last sign of life is new')
    await until(async () => (await directory.ask('anna')) === 'starting')
    // The old owner has the lock for the moment in which it finds out.
    await until(async () => (await a.take()) === 'anna', 'the cell')
    await db.query(
      "update agent_webui.cell set asked = null, started = null, seen = seen - interval '1 hour'",
    )
    assert.is(await a.take(), 'anna')
    await machine.close()
  })

  test('a cell that did not end in order is started again, elsewhere where a worker cannot start it', async () => {
    await add('anna')
    const a = await worker()
    const b = await worker({ name: 'b', used: 1 })
    await directory.ask('anna')
    assert.is(await a.take(), 'anna')
    await b.failed('anna')
    assert.equal([await a.take(), await b.take()], [null, null], 'another worker starts it')
    await a.failed('anna')
    assert.is(await b.take(), null, 'where it ran last comes first')
    assert.is(await a.take(), 'anna')
    await a.failed('anna')
    await a.beat(0, ['anna'])
    assert.is(await a.take(), null)
    assert.is(await b.take(), 'anna')
    await b.failed('anna')
    await b.beat(1, ['anna'])
    assert.is(await directory.ask('anna'), 'none')
    await a.beat(0)
    assert.is(await a.take(), 'anna')
  })

  test('a cell whose connection has just ended is that of its worker, and what has ended in order may be started', async () => {
    await add('anna')
    const a = await worker()
    await db.query(
      "update agent_webui.cell set worker = 'a', is_released = false, seen = clock_timestamp(), asked = clock_timestamp()",
    )
    assert.is(await a.take(1, ['anna']), null, 'it connects again')
    await db.query('update agent_webui.cell set is_released = true')
    assert.equal(await a.takeWith(['anna']), { cell: 'anna', hasEnded: true })
    await db.query(
      "update agent_webui.cell set is_released = false, started = null, seen = clock_timestamp() - interval '1 hour'",
    )
    assert.equal(await a.takeWith(['anna']), { cell: 'anna', hasEnded: false })
  })

  test('the database was away: cells get the time to come back before they are killed or taken', async () => {
    await add('anna')
    await add('ben')
    const a = await worker({}, 3_600_000)
    const b = await worker({ name: 'b' }, 3_600_000)
    await db.query(
      `update agent_webui.cell set worker = 'a', is_released = false, asked = clock_timestamp(),
         seen = clock_timestamp() - interval '1 minute'`,
    )
    await db.query(
      "update agent_webui.worker set seen = seen - interval '1 minute' where name = 'a'",
    )
    assert.is(await b.take(), null, 'its worker may not have come back so far')
    await a.beat(1)
    assert.is(await a.take(1, ['anna', 'ben']), null, 'it may not have come back so far')
    assert.is(await a.take(1, ['anna']), 'ben', 'its process has ended')
    const later = await worker({ name: 'later' })
    await db.query(
      "update agent_webui.worker set seen = seen - interval '1 minute' where name = 'a'",
    )
    assert.is(await later.take(), 'anna')
  })

  test('a start ends with its worker: another one begins it', async () => {
    await add('anna')
    const a = await worker()
    await directory.ask('anna')
    assert.is(await a.take(), 'anna')
    const b = await worker({ name: 'b' })
    assert.is(await b.take(), null)
    await db.query("update agent_webui.worker set seen = seen - interval '1 hour' where name = 'a'")
    assert.is(await directory.ask('anna'), 'starting')
    assert.is(await b.take(), 'anna')
    // The next worker of the same name knows that no process of the earlier one is left.
    connections.pop()?.end()
    let again: Awaited<ReturnType<typeof worker>> | null = null
    await until(async () => {
      again ??= await worker({ name: 'b' }).catch(() => null)
      return again !== null
    }, 'the name')
    assert.is(await again!.take(), 'anna')
    // Killed together with the cell.
    await db.query(
      'update agent_webui.cell set is_released = false, seen = clock_timestamp(), asked = null',
    )
    assert.is(await a.begin('c'), true)
    assert.is(await again!.take(), null)
    assert.is(await again!.begin('b'), true)
    assert.is(await again!.take(), 'anna')
  })

  test('a worker learns which of its cells leave it: removed, moved, or all of one that drains', async () => {
    for (const cell of ['anna', 'ben', 'carl']) await add(cell)
    const a = await worker()
    const b = await worker({ name: 'b', used: 1 })
    for (const cell of ['anna', 'ben', 'carl']) await directory.ask(cell)
    assert.equal([await a.take(0), await a.take(0), await a.take(0)], ['anna', 'ben', 'carl'])
    assert.equal(await a.leaving([]), [])
    assert.equal(await a.leaving(['anna', 'ben', 'carl']), [])
    await directory.remove('ben')
    assert.equal(await a.leaving(['anna', 'ben', 'nothing']), ['ben', 'nothing'])
    await refuses(directory.move('carl', 'nowhere'), /no worker "nowhere"/)
    await directory.change('carl', { labels: ['gpu'] })
    await refuses(directory.move('carl', 'b'), /lacks a label/)
    await directory.change('carl', { labels: [], title: 'Carl’s' })
    await directory.move('carl', 'b')
    assert.equal(await a.leaving(['anna', 'carl']), ['carl'])
    await db.query("update agent_webui.cell set started = null where name = 'carl'")
    assert.is(await a.take(0), null)
    assert.is(await b.take(), 'carl')
    await directory.drain('a', true)
    assert.equal(await a.leaving(['anna']), ['anna'])
    assert.equal(
      (await directory.workers()).map(({ name, isDraining }) => [name, isDraining]),
      [
        ['a', true],
        ['b', false],
      ],
    )
    await db.query("update agent_webui.cell set started = null where name = 'anna'")
    assert.is(await a.take(0), null, 'it starts nothing')
    assert.is(await b.take(), 'anna')
  })

  test('a name with chats of before is given to nobody else by accident', async () => {
    await add('ben')
    const machine = createMachine(db.url, { cell: 'ben' })
    machine.append('one', '{"n":1}')
    await (await machine.own()).release(5_000)
    await directory.remove('ben')
    await refuses(add('ben', { people: ['mallory'] }), /has chats and files of before/)
    await add('ben', { people: ['mallory'], keepsFiles: true })
    assert.equal(await namesOf('mallory'), ['ben'])
    await directory.remove('ben', true)
    assert.equal(await db.query('select * from agent_webui.chunk'), [])
    await add('ben', { people: ['mallory'] })
    await refuses(machine.own(), /belongs to an earlier cell "ben"/)
    const [{ id } = { id: '' }] = await db.query('select id from agent_webui.purged')
    const a = await worker()
    assert.equal(await a.purged([String(id), '00000000-0000-4000-8000-000000000000']), [id])
    await machine.close()
  })

  test('a worker knows how far its clock is from that of the database', async () => {
    const connection = await connect(db.url)
    connections.push(connection)
    for (const off of [0, -3_600_000, 3_600_000]) {
      const clock = { ...systemClock, now: () => Date.now() + off }
      const skew = await new WorkerRecord(connection, { clock }).skew()
      assert.is(Math.round((skew - off) / 1_800_000), 0, `${skew} for ${off}`)
    }
  })

  test('a name belongs to one worker at a time', async () => {
    await add('anna')
    await worker()
    const second = await connect(db.url)
    assert.is(await new WorkerRecord(second, { clock: systemClock }).begin('a'), false)
    for (const each of connections.splice(0)) each.end()
    second.end()
    const third = await connect(db.url)
    connections.push(third)
    let got = false
    while (!got) got = await new WorkerRecord(third, { clock: systemClock }).begin('a')
  })

  test('a worker that hangs, or whose network is gone, loses its name', async () => {
    const hung = await worker()
    const next = await connect(db.url)
    connections.push(next)
    const record = new WorkerRecord(next, { clock: systemClock })
    assert.is(await record.begin('a'), false)
    await hung.beat(0)
    assert.is(await record.begin('a'), false)
    await db.query("update agent_webui.worker set seen = clock_timestamp() - interval '1 hour'")
    await until(() => record.begin('a'), 'the name')
    await until(
      () =>
        hung.beat(0).then(
          () => false,
          () => true,
        ),
      'the end of the connection',
    )
  })

  test('a worker that is older than the tables learns it with its sign of life', async () => {
    const a = await worker()
    assert.is(await a.beat(0), true)
    await db.query('insert into agent_webui.migration (step) values (999)')
    assert.is(await a.beat(0), false)
  })

  test('a forwarder of this version works with the tables of a newer one', async () => {
    await add('anna')
    await db.query('insert into agent_webui.migration (step) values (999)')
    directory.close()
    directory = new Directory(db.url)
    assert.equal(await namesOf('anna'), ['anna'])
  })
}

test.run()
