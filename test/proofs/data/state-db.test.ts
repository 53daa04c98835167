/** Proof: whatever state the agent's database is in, no request says that a session is gone, deleted or imported when it is not. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openDatabase } from '../../../lib/store/sqlite.ts'
import { startApp } from '../../_app.ts'
import { addConversation, createStateDb } from '../../_state-db.ts'
import { mountSmallDisk } from './_small-disk.ts'

const proof = suite('states of the database')
const ID = '20260101_000000_abc123'

/** What a state does to the file, and how it ends. */
type Damage = (path: string) => (() => void) | null

const overwrite = (path: string, at: number, length: number) => {
  const fd = openSync(path, 'r+')
  writeSync(fd, Buffer.alloc(length, 0xa5), 0, length, at)
  closeSync(fd)
}

const lock =
  (...statements: string[]): Damage =>
  path => {
    const db = openDatabase(path)
    for (const statement of statements) db.exec(statement)
    return () => db.close()
  }

/** Bytes of the file are changed, and put back. */
const changed =
  (change: (path: string) => void): Damage =>
  path => {
    const whole = readFileSync(path)
    change(path)
    return () => {
      rmSync(path, { recursive: true, force: true })
      writeFileSync(path, whole)
    }
  }

const STATES: Readonly<Record<string, Damage>> = {
  'locked by a reader': lock('begin', 'select count(*) from sessions'),
  'locked by a writer': lock('begin immediate'),
  'locked for everyone': lock('pragma journal_mode = delete', 'begin exclusive'),
  'without its header': changed(path => overwrite(path, 0, 100)),
  'with a damaged page in the middle': changed(path => overwrite(path, 4_096, 4_096 * 3)),
  'cut off': changed(path => truncateSync(path, 6_000)),
  empty: changed(path => truncateSync(path, 0)),
  'text, not a database': changed(path => writeFileSync(path, 'hello '.repeat(2_000))),
  'a directory': changed(path => {
    rmSync(path)
    mkdirSync(path)
  }),
  'a link to nowhere': changed(path => {
    rmSync(path)
    symlinkSync('/nowhere/state.db', path)
  }),
  'on a disk that is read-only': path => {
    const place = mkdtempSync(join(tmpdir(), 'read-only-'))
    const disk = mountSmallDisk(place)
    if (!disk) return null
    const copy = join(place, 'state.db')
    const whole = readFileSync(path)
    copyFileSync(path, copy)
    execFileSync('mount', ['-o', 'remount,ro', place])
    rmSync(path)
    symlinkSync(copy, path)
    return () => {
      disk.unmount()
      rmSync(path)
      writeFileSync(path, whole)
    }
  },
}

for (const [name, damage] of Object.entries(STATES))
  proof(`a database that is ${name}`, async () => {
    const app = await startApp({ allowErrors: true })
    try {
      await app.post('/api/settings', { show_cli_sessions: true })
      const path = join(app.home, 'state.db')
      const db = createStateDb(app.home, 30)
      addConversation(db, ID)
      db.pragma('wal_checkpoint(truncate)')
      db.pragma('journal_mode = delete')
      db.close()
      const ids = async () =>
        (await app.get('/api/sessions')).body.sessions.map(
          ({ session_id }: { session_id: string }) => session_id,
        )
      assert.equal(await ids(), [ID])
      const end = damage(path)
      if (!end) return
      assert.equal(await ids(), [ID], 'what was read last')
      const opened = await app.get(`/api/session?session_id=${ID}`)
      const imported = await app.post('/api/session/import_cli', { session_id: ID })
      const deleted = await app.post('/api/session/delete', { session_id: ID })
      const said = [opened, imported, deleted].map(({ status }) => status)
      assert.ok(
        said.every(status => [200, 503].includes(status)),
        `${name}: ${said}`,
      )
      assert.is(opened.status, imported.status, name)
      end()
      const found = await ids()
      assert.is(found.includes(ID), deleted.status !== 200, `${name}: ${JSON.stringify(said)}`)
    } finally {
      await app.close()
    }
  })

proof.run()
