/** Cells in a real PostgreSQL: one owner, files that follow it, and nothing lost when the database or the owner is killed. */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { connect } from '../../../lib/cluster/database.ts'
import { Directory } from '../../../lib/cluster/directory.ts'
import { CellLost } from '../../../lib/cluster/cluster.ts'
import { reportWrite } from '../../../lib/store/write-reports.ts'
import { systemClock } from '../../../lib/base/clock.ts'
import { findPostgres, type Postgres, startPostgres } from '../../_postgres.ts'
import { startTcpProxy } from '../../_tcp-proxy.ts'
import { until } from '../../_wait.ts'
import { createMachine, type Machine } from './_machine.ts'

const test = suite('cluster/postgres')
let db: Postgres
const machines: Machine[] = []

const machine = (options: Parameters<typeof createMachine>[1] = {}): Machine => {
  const made = createMachine(db.url, options)
  machines.push(made)
  return made
}

/** What `diff -r` compares, and modes; without what belongs to the machine. */
const treeOf = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(
      path => !/^webui\/(?:cluster\.json|not-copied\.json|only-here\.json|conflicts)/.test(path),
    )
    .sort()
    .map(path => {
      const at = join(root, path)
      const isFolder = statSync(at).isDirectory()
      const content = isFolder ? 'folder' : readFileSync(at, 'base64').slice(-80)
      return `${path} ${isFolder ? '' : statSync(at).mode & 0o700} ${content}`
    })

const refuses = async (work: Promise<unknown>, pattern: RegExp): Promise<void> => {
  const error = await work.then(
    () => null,
    (reason: Error) => reason,
  )
  assert.match(error?.message ?? 'no error', pattern)
}

const skipped = findPostgres() === null

test.before(async () => {
  if (!skipped) db = await startPostgres()
})
test.after.each(async () => {
  for (const each of machines.splice(0)) await each.close()
  if (!skipped) await db.query('drop schema if exists agent_webui cascade')
})
test.after(async () => {
  if (!skipped) await db.close()
})

if (skipped) test.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  test('a cell with another key, or of a version that needed none, is refused before it is taken', async () => {
    const first = await machine().own()
    await first.release(5_000)
    const unsealed = machine({ cell: 'unsealed' })
    await (await unsealed.own()).release(5_000)
    await db.query("update agent_webui.cell set key_check = 'unsealed' where name = 'unsealed'")
    await refuses(unsealed.own(), /made without a key/)
    await refuses(machine({ key: null }).own(), /CLUSTER_FILES to mirror/)
    await refuses(machine({ key: 'another key, as long as this one 0001' }).own(), /another key/)
    assert.is((await machine().own()).epoch, 2)
  })

  test('a program that is older than the tables is refused at once, also when they change while it waits', async () => {
    const owner = await machine().own()
    const waits = Promise.withResolvers<void>()
    const waiting = machine().own({ onWait: waits.resolve })
    waiting.catch(() => undefined)
    await waits.promise
    await db.query('insert into agent_webui.migration (step) values (999)')
    await refuses(machine().own(), /newer agent-webui \(step 999, this one knows \d+\)/)
    await owner.release(5_000)
    await refuses(waiting, /newer agent-webui/)
    const [row] = await db.query('select epoch from agent_webui.cell')
    assert.is(Number(row?.epoch), 1, 'it did not take the cell')
  })

  test('an owner that was killed before it served: the next one there still knows that it took over', async () => {
    const a = machine()
    a.append('one', '{"n":1}')
    const first = await a.own()
    first.announce('http://a')
    await first.release(5_000)
    const b = machine()
    /** The owner that is there gives signs of life: the database has none of them until it is replaced. */
    const ownAfterKill = async () => {
      const owning = b.own()
      let isOwned = false
      void owning.then(() => {
        isOwned = true
      })
      await until(async () => {
        await db.query("update agent_webui.cell set seen = clock_timestamp() - interval '1 hour'")
        return isOwned
      }, 'the takeover')
      return owning
    }
    const killed = await b.own()
    assert.is(killed.tookOver, true)
    const next = await ownAfterKill()
    assert.is(next.tookOver, true)
    next.announce('http://b')
    await until(() => next.isSettled())
    assert.is((await ownAfterKill()).tookOver, false, 'it has served here')
  })

  test('a directory with chats of its own does not join a cell that has others', async () => {
    const a = machine()
    a.append('one', '{"n":1}')
    await (await a.own()).release(5_000)
    const b = machine()
    b.append('two', '{"n":1}')
    await refuses(b.own(), /chats of its own/)
    assert.is(b.read('webui/sessions/two.jsonl'), '{"n":1}\n')
  })

  test('a second process waits until the first one releases the cell', async () => {
    const first = await machine().own()
    const order: string[] = []
    const waiting = new Promise<void>(resolve => {
      void machine()
        .own({ onWait: resolve })
        .then(({ epoch }) => order.push(`epoch ${epoch}`))
    })
    await waiting
    order.push('release')
    await first.release(5_000)
    await until(() => order.length === 2)
    assert.equal(order, ['release', 'epoch 2'])
  })

  test('eight processes at once: one owner at a time, in some order, each with an epoch of its own', async () => {
    const epochs: number[] = []
    let active = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const owned = await machine().own()
        active += 1
        assert.is(active, 1)
        epochs.push(owned.epoch)
        active -= 1
        await owned.release(5_000)
      }),
    )
    assert.equal(epochs, [1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('another machine with an empty directory gets every file as it was', async () => {
    const a = machine()
    a.write('config.yaml', 'model: x\n')
    a.write('.env', 'SOME_API_KEY=secret-in-a-file\n')
    a.write('skills/s/SKILL.md', '# s\n')
    a.write('profiles/work/config.yaml', 'model: y\n')
    a.append('one', '{"n":1}')
    const owned = await a.own()
    for (let n = 2; n <= 40; n++) a.append('one', `{"n":${n},"text":"grüße ${n}"}`)
    a.write('webui/settings.json', '{"theme":"dark"}\n')
    assert.not(owned.isSettled())
    await owned.whenSettled()
    assert.ok(owned.isSettled())
    await owned.release(5_000)

    const b = machine()
    await b.own()
    for (const path of [
      'config.yaml',
      '.env',
      'skills/s/SKILL.md',
      'profiles/work/config.yaml',
      'webui/settings.json',
      'webui/sessions/one.jsonl',
    ])
      assert.is(b.read(path), a.read(path), path)
    const stored = await db.query('select bytes from agent_webui.chunk')
    assert.ok(stored.length > 0)
    for (const { bytes } of stored) assert.not.match(String(bytes), /secret-in-a-file|grüße|theme/)
  })

  test('deleted, renamed, and replaced files follow; only what is new is read and sent', async () => {
    const a = machine()
    for (const id of ['gone', 'old-name', 'purged', 'kept']) a.append(id, '{"n":1}', '{"n":2}')
    const owned = await a.own()
    a.append('kept', '{"n":3}')
    const at = (id: string) => join(a.state, 'sessions', `${id}.jsonl`)
    rmSync(at('gone'))
    renameSync(at('old-name'), at('new-name'))
    for (const id of ['gone', 'old-name', 'new-name']) reportWrite(at(id))
    a.write('webui/sessions/purged.jsonl', '{"n":2}\n')
    await owned.release(5_000)
    const chunks = await db.query(
      `select at from agent_webui.chunk join agent_webui.file using (cell, key, version)
       where path = 'state/sessions/kept.jsonl' order by at`,
    )
    assert.equal(
      chunks.map(({ at }) => Number(at)),
      [0, 16],
    )

    const b = machine()
    const second = await b.own()
    assert.equal(readdirSync(join(b.state, 'sessions')).sort(), [
      'kept.jsonl',
      'new-name.jsonl',
      'purged.jsonl',
    ])
    assert.is(b.read('webui/sessions/purged.jsonl'), '{"n":2}\n')
    b.append('kept', '{"n":4}')
    b.append('other', '{"n":1}')
    rmSync(join(b.state, 'sessions', 'new-name.jsonl'))
    await second.release(5_000)

    // The first machine again: what it had is kept, and what is newer is added.
    await a.own()
    assert.equal(readdirSync(join(a.state, 'sessions')).sort(), [
      'kept.jsonl',
      'other.jsonl',
      'purged.jsonl',
    ])
    assert.is(a.read('webui/sessions/kept.jsonl'), '{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}\n')
    assert.not(a.has('webui/conflicts'))
  })

  test('a hostile directory moves whole: the longest path, a large file in parts, empty folders, odd names, links', async () => {
    const a = machine()
    const deep = Array.from({ length: 12 }, (_, at) => String(at % 10).repeat(230)).join('/')
    a.write(`skills/${deep}/SKILL.md`, '# deep\n')
    mkdirSync(join(a.home, 'skills', 'long'))
    writeFileSync(join(a.home, 'skills', 'long', 'n'.repeat(255)), 'the longest name')
    a.write('skills/large/model.bin', `${'0123456789abcdef'.repeat(1 << 17)}end`)
    for (const name of ["'quoted' $(name) `x`", 'line\nbreak', 'ünï 日本 🙂', '-rf', ' '])
      a.write(`skills/${name}/SKILL.md`, name)
    for (const name of ['second/skills', 'second/cron', 'third'])
      mkdirSync(join(a.home, 'profiles', name), { recursive: true, mode: 0o700 })
    symlinkSync('SKILL.md', join(a.home, 'skills', ' ', 'link.md'))
    writeFileSync(join(a.home, 'skills', '-rf', 'script'), '#!/bin/sh\n', { mode: 0o700 })
    symlinkSync('-rf', join(a.home, 'skills', 'linked-folder'))
    await (await a.own()).release(5_000)
    assert.match(a.warnings.join(), /home\/skills\/linked-folder: it is a link to a folder/)
    unlinkSync(join(a.home, 'skills', 'linked-folder'))
    const [chunk] = await db.query(
      'select max(octet_length(bytes)) as largest from agent_webui.chunk',
    )
    assert.ok(Number(chunk?.largest) < 600_000, 'no statement is larger than a slow line carries')

    const b = machine()
    const second = await b.own()
    assert.equal(treeOf(b.home), treeOf(a.home))
    assert.equal(b.warnings, [])
    // What the next owner empties, removes, or replaces by a folder.
    rmSync(join(b.home, 'skills', '-rf', 'script'))
    rmSync(join(b.home, 'skills', '-rf', 'SKILL.md'))
    for (const name of ['second', 'third'])
      rmSync(join(b.home, 'profiles', name), { recursive: true })
    rmSync(join(b.home, 'skills', 'large', 'model.bin'))
    b.write('skills/large/model.bin/parts/1', 'one')
    await second.release(5_000)
    await a.own()
    assert.equal(treeOf(a.home), treeOf(b.home))
  })

  test('a cell on a volume: one owner, no key, and no file in the database', async () => {
    const a = machine({ key: null, cell: 'volume' })
    a.append('one', '{"n":1}')
    const first = await a.own()
    a.append('one', '{"n":2}')
    assert.ok(first.isSettled(), 'nothing waits for the database')
    const waits = Promise.withResolvers<void>()
    const next = a.own({ onWait: waits.resolve })
    await waits.promise
    await first.release(5_000)
    const second = await next
    assert.equal([second.epoch, second.tookOver], [2, false], 'its streams are on the volume too')
    assert.equal(await db.query('select * from agent_webui.file'), [])
    await second.release(5_000)
    await refuses(machine({ cell: 'volume' }).own(), /on a volume/)
  })

  test('thousands of files are read in several statements, each once', async () => {
    await (await machine().own()).release(5_000)
    await db.query(
      `insert into agent_webui.file (cell, key, path, size, mode, digest, epoch, base_epoch, is_gone)
       select 'default', sha256(convert_to(path, 'UTF8')), path, 0, 384, null, 1, 1, false
       from (select 'home/skills/' || n || '.md' as path from generate_series(1, 4100) n) paths`,
    )
    const b = machine()
    const owned = await b.own()
    assert.is(readdirSync(join(b.home, 'skills')).length, 4_100)
    assert.equal(b.warnings, [])
    await owned.release(30_000)
  })

  test('with a clock that is behind, the next due time is still in the future of the database', async () => {
    const behind = { ...systemClock, now: () => Date.now() - 7_200_000 }
    const owned = await machine().own({ clock: behind })
    await owned.release(5_000, behind.now() + 3_600_000)
    const [row] = await db.query(
      `select wake > clock_timestamp() and wake <= clock_timestamp() + interval '1 hour' as is_due_then
       from agent_webui.cell`,
    )
    assert.is(row?.is_due_then, true)
  })

  test('a file that the database refuses is set aside and named; the others continue', async () => {
    const a = machine()
    const owned = await a.own()
    await db.query("alter table agent_webui.file add constraint odd check (path not like '%odd%')")
    a.write('skills/odd/SKILL.md', 'odd')
    a.append('one', '{"n":1}')
    await owned.whenSettled()
    a.append('one', '{"n":2}')
    await owned.whenSettled()
    assert.equal(
      a.warnings.filter(line => line.includes('keeps no copy')).map(line => line.split(':')[0]),
      ['The cluster keeps no copy of home/skills/odd/SKILL.md'],
    )
    assert.equal(await db.query('select left_out from agent_webui.cell'), [{ left_out: 1 }])
    await owned.release(5_000)
    const b = machine()
    await b.own()
    assert.is(b.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2}\n')
  })

  test('a file that is damaged in the database is named and left out; the others are there', async () => {
    const a = machine()
    a.write('skills/a/SKILL.md', 'a')
    a.write('skills/b/SKILL.md', 'b')
    await (await a.own()).release(5_000)
    await db.query(
      `update agent_webui.chunk set bytes = substring(bytes from 1 for 20) from agent_webui.file f
       where f.key = chunk.key and f.path = 'home/skills/a/SKILL.md'`,
    )
    const b = machine()
    await b.own()
    assert.not(b.has('skills/a/SKILL.md'))
    assert.is(b.read('skills/b/SKILL.md'), 'b')
    assert.match(b.warnings.join('\n'), /home\/skills\/a\/SKILL.md of the cluster is left out/)
  })

  const TABLES = ['cell', 'claim', 'file', 'chunk', 'member']
  /** As a failover to a standby that lags, or a restored backup. */
  const remember = async () => {
    for (const table of TABLES)
      await db.query(`create table agent_webui.${table}_before as table agent_webui.${table}`)
  }
  const goBack = async () => {
    const steps = TABLES.map(
      table => `insert into agent_webui.${table} select * from agent_webui.${table}_before;`,
    )
    await db.query(`begin; delete from agent_webui.cell; ${steps.join(' ')} commit;
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'agent-webui' and pid <> pg_backend_pid()`)
  }

  test('the database goes back by some transactions: the owner sends again what it lacks', async () => {
    const a = machine()
    const owned = await a.own()
    owned.announce('http://127.0.0.1:1')
    a.append('one', '{"n":1}')
    await owned.whenSettled()
    await remember()
    a.append('one', '{"n":2}')
    a.append('late', '{"n":1}')
    a.write('webui/settings.json', '{"bot_name":"Hugo"}\n')
    mkdirSync(join(a.home, 'profiles', 'second'), { recursive: true })
    await owned.whenSettled()
    await goBack()
    a.append('one', '{"n":3}')
    await owned.whenSettled()
    await owned.release(5_000)
    const b = machine()
    await b.own()
    assert.equal(treeOf(b.home), treeOf(a.home))
    assert.match(b.read('webui/settings.json'), /Hugo/)
  })

  test('the database forgets an owner: its number is given again, and neither side loses what it has', async () => {
    const a = machine()
    a.append('one', '{"n":1}')
    await (await a.own()).release(5_000)
    await remember()
    const again = await a.own()
    a.append('one', '{"n":2,"by":"a"}')
    await again.release(5_000)
    await goBack()
    const b = machine()
    const other = await b.own()
    assert.is(other.epoch, again.epoch)
    b.append('one', '{"n":2,"by":"b"}')
    await other.release(5_000)
    await a.own()
    assert.is(a.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2,"by":"b"}\n')
    const [time = ''] = readdirSync(join(a.state, 'conflicts'))
    assert.match(a.read(`webui/conflicts/${time}/state/sessions/one.jsonl`), /"by":"a"/)
  })

  test('the database forgets an owner that comes back itself: what it has is sent', async () => {
    const a = machine()
    a.append('one', '{"n":1}')
    await (await a.own()).release(5_000)
    await remember()
    const again = await a.own()
    a.append('one', '{"n":2}')
    await again.release(5_000)
    await goBack()
    const third = await a.own()
    assert.ok(third.epoch > again.epoch)
    await third.release(5_000)
    const b = machine()
    await b.own()
    assert.is(b.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2}\n')
  })

  test('a program of before writes through the function that it knows', async () => {
    const a = machine()
    const owned = await a.own()
    const push = (batch: number, kind: string, at: number, text: string) =>
      db.query(
        `select agent_webui.push('default', 1, $1, array[$2], array['state/sessions/old.jsonl'],
           array[$3::bigint], array[$4::bigint], array[384], array[null::bytea], array[$5::bytea]) as result`,
        [batch, kind, at, Buffer.byteLength(text), Buffer.from(text)],
      )
    assert.equal(await push(100, 'write', 0, '{"n":1}\n'), [{ result: 'written' }])
    assert.equal(await push(101, 'append', 8, '{"n":2}\n'), [{ result: 'written' }])
    const [file] = await db.query(
      "select size from agent_webui.file where path = 'state/sessions/old.jsonl'",
    )
    assert.is(Number(file?.size), 16)
    await owned.release(0)
  })

  test('an owner that was replaced writes nothing and may answer nothing; what it had beyond is set aside', async () => {
    const a = machine()
    const old = await a.own()
    a.append('one', '{"n":1}')
    await old.whenSettled()
    // Its connection ends, as when the database believes that it hangs, and another process is there first.
    const b = machine()
    const next = b.own()
    await until(async () => {
      await db.query(
        "select pg_terminate_backend(pid) from agent_webui.cell where name = 'default' and epoch = 1",
      )
      const [row] = await db.query("select epoch from agent_webui.cell where name = 'default'")
      return Number(row?.epoch) > 1
    }, 'the takeover')
    a.append('one', '{"n":2,"by":"the old one"}')
    a.append('never-acknowledged', '{"n":1}')
    const long = Array.from({ length: 14 }, () => 'd'.repeat(250)).join('/')
    const deepest = join(a.home, 'skills', long, 'e'.repeat(255))
    mkdirSync(dirname(deepest), { recursive: true })
    writeFileSync(deepest, 'never sent')
    await old.whenSettled().then(
      () => assert.unreachable(),
      error => assert.instance(error, CellLost),
    )
    assert.ok(old.lost.aborted)
    assert.not(old.isSettled())
    const owned = await next
    assert.is(b.read('webui/sessions/one.jsonl'), '{"n":1}\n')
    b.append('one', '{"n":2,"by":"the new one"}')
    await owned.release(5_000)

    await a.own()
    assert.is(a.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2,"by":"the new one"}\n')
    assert.not(a.has('webui/sessions/never-acknowledged.jsonl'))
    assert.not(existsSync(deepest), 'as long as the system allows: it is set aside too')
    const [time = ''] = readdirSync(join(a.state, 'conflicts'))
    const aside = `webui/conflicts/${time}/state/sessions`
    assert.match(a.read(`${aside}/one.jsonl`), /the old one/)
    assert.ok(a.has(`${aside}/never-acknowledged.jsonl`))
    assert.ok(a.warnings.some(line => line.includes('never acknowledged')))
  })

  test('PostgreSQL is killed while an owner writes: it waits, stays the owner, and everything is there once', async () => {
    const a = machine()
    const owned = await a.own()
    const acknowledged: number[] = []
    for (let round = 0; round < 3; round++) {
      const first = round * 20
      const writing = (async () => {
        for (let n = first; n < first + 20; n++) {
          a.append('one', `{"n":${n}}`)
          await owned.whenSettled()
          acknowledged.push(n)
        }
      })()
      await until(() => acknowledged.length > first + 3)
      await db.kill()
      a.append('other', `{"n":${round}}`)
      assert.not(owned.isSettled())
      await db.start()
      await writing
    }
    assert.is(owned.epoch, 1)
    assert.not(owned.lost.aborted)
    await owned.release(5_000)
    const b = machine()
    await b.own()
    assert.is(b.read('webui/sessions/one.jsonl'), a.read('webui/sessions/one.jsonl'))
    assert.is(b.read('webui/sessions/one.jsonl'), acknowledged.map(n => `{"n":${n}}\n`).join(''))
    assert.is(b.read('webui/sessions/other.jsonl'), '{"n":0}\n{"n":1}\n{"n":2}\n')
  })

  test('written while the database is away, then killed: the same machine sends it after its start', async () => {
    const a = machine()
    const owned = await a.own()
    a.append('one', '{"n":1}')
    await owned.whenSettled()
    await db.kill()
    a.append('one', '{"n":2}')
    // Without an orderly end.
    await owned.release(0)
    await db.start()
    const again = await a.own()
    assert.is(a.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2}\n')
    await again.release(5_000)
    const b = machine()
    await b.own()
    assert.is(b.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2}\n')
  })

  test('a network that is cut: the owner may answer nothing, another takes over, and the old one finds out', async () => {
    const proxy = await startTcpProxy(db.port)
    try {
      const a = machine()
      const old = await a.own({ url: db.url.replace(String(db.port), String(proxy.port)) })
      a.append('one', '{"n":1}')
      await old.whenSettled()
      proxy.cut()
      a.append('one', '{"n":2,"by":"the old one"}')
      assert.not(old.isSettled())
      const b = machine()
      const owned = await b.own()
      assert.is(owned.epoch, 2)
      assert.is(b.read('webui/sessions/one.jsonl'), '{"n":1}\n')
      assert.not(old.isSettled(), 'no right to answer while another process is the owner')
      proxy.heal()
      await until(() => old.lost.aborted, 'the old owner finds out')
      b.append('one', '{"n":2,"by":"the new one"}')
      await owned.whenSettled()
      const c = machine()
      await owned.release(5_000)
      await c.own()
      assert.is(c.read('webui/sessions/one.jsonl'), '{"n":1}\n{"n":2,"by":"the new one"}\n')
    } finally {
      await proxy.close()
    }
  })

  test('a process that hangs before it is the owner does not keep the cell', async () => {
    const first = await machine().own()
    // It got the lock, and its machine was paused in that moment.
    const paused = await connect(db.url)
    const lock = createHash('sha256').update('agent-webui cell default').digest()
    const waits = paused.query('select pg_advisory_lock($1::bigint)', [
      lock.readBigInt64BE().toString(),
    ])
    await first.release(5_000)
    await waits
    const next = await machine().own()
    assert.is(next.epoch, 2)
    await until(() => paused.ended.aborted, 'the end of its connection')
  })

  test('files that other programs change are found; a released directory is an ordinary one', async () => {
    const directory = new Directory(db.url)
    assert.is(await directory.ownerOf('default'), null)
    const a = machine()
    const owned = await a.own()
    assert.is(await directory.ownerOf('default'), null, 'it does not listen yet')
    owned.announce('http://127.0.0.1:1')
    await until(async () => (await directory.ownerOf('default')) !== null)
    assert.equal(await directory.ownerOf('default'), {
      address: 'http://127.0.0.1:1',
      epoch: 1,
      token: null,
    })
    a.append('one', '{"n":1}')
    await owned.release(5_000)
    assert.is(await directory.ownerOf('default'), null)
    directory.close()
    assert.equal(readdirSync(a.state).sort(), ['cluster.json', 'sessions'])
  })
}

test.run()
