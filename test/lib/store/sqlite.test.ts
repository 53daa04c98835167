/** Opening databases: migrations, versions, corrupt files, worker threads. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isCorrupt, openDatabase, removeDatabase } from '../../../lib/store/sqlite.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string; file: string }>('store/sqlite')

test.before.each(context => {
  context.dir = tempDir('sqlite')
  context.file = join(context.dir, 'a.db')
})

test('detects a file that is not a database as corrupt', ({ file }) => {
  writeFileSync(file, 'not a database, but long enough to be looked at'.repeat(50))
  try {
    openDatabase(file, { migrations: ['create table a (b)'] })
    assert.unreachable()
  } catch (error) {
    assert.ok(isCorrupt(error))
  }
  removeDatabase(file)
  assert.not.ok(existsSync(file))
  assert.not.ok(isCorrupt(new Error('other')))
})

test('rejects a file of a newer version', ({ file }) => {
  openDatabase(file, { migrations: ['create table a (b)', 'create table c (d)'] }).close()
  assert.throws(() => openDatabase(file, { migrations: ['create table a (b)'] }), /version 2/)
})

test('rejects a missing addon', ({ file }) => {
  assert.throws(() => openDatabase(file, { addon: join(file, 'none.node') }))
})

test('rolls back a failed migration and retries it', ({ file }) => {
  assert.throws(() => openDatabase(file, { migrations: ['create table a (b); bad sql'] }))
  const db = openDatabase(file, { migrations: ['create table a (b)'] })
  assert.is(db.pragma('user_version', { simple: true }), 1)
  db.close()
})

test('runs each migration once, in order', ({ file }) => {
  openDatabase(file, { migrations: ['create table a (b)'] }).close()
  const db = openDatabase(file, {
    migrations: ['create table a (b)', 'insert into a values (1)'],
    pragmas: ['journal_mode = WAL'],
  })
  assert.equal(db.prepare('select b from a').all(), [{ b: 1 }])
  assert.is(db.pragma('journal_mode', { simple: true }), 'wal')
  db.close()
})

test('opens in a worker thread while the main thread has it open', async ({ file }) => {
  const db = openDatabase(file, {
    migrations: ['create table a (b)'],
    pragmas: ['journal_mode = WAL'],
  })
  db.prepare('insert into a values (7)').run()
  const source = new URL('../../../lib/store/sqlite.ts', import.meta.url).href
  const worker = new Worker(
    `import(${JSON.stringify(source)}).then(({ openDatabase }) => {
      const db = openDatabase(${JSON.stringify(file)}, { readonly: true })
      require('node:worker_threads').parentPort.postMessage(db.prepare('select b from a').get())
      db.close()
    })`,
    { eval: true },
  )
  const got = await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  assert.equal(got, { b: 7 })
  await worker.terminate()
  db.close()
})

test.run()
