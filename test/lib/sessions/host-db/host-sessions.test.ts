/** Imported sessions of the host agent: what the terminal added arrives, also when it could not be read at once. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { HostSessions } from '../../../../lib/sessions/host-db/host-sessions.ts'
import { Sessions } from '../../../../lib/sessions/sessions.ts'
import { createTestClock } from '../../../_clock.ts'
import { addMessage, addSession, createStateDb } from '../../../_state-db.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('host sessions')

test('messages that were added during a turn arrive after it, without another change', async () => {
  const dir = tempDir('host-sessions')
  const home = { name: 'default', dir }
  const clock = createTestClock()
  const sessions = new Sessions({
    dir: join(dir, 'sessions'),
    trashDir: join(dir, 'trash'),
    cacheDir: join(dir, 'cache'),
    redact: text => text,
    onRow: () => undefined,
    onDeleted: () => undefined,
    onCopied: () => undefined,
    log: () => undefined,
    clock,
  })
  let isActive = false
  const host = new HostSessions({
    sessions,
    isActive: () => isActive,
    lastWorkspace: () => dir,
    trashDir: join(dir, 'trash'),
    log: () => undefined,
    onChange: () => undefined,
    clock,
  })
  mkdirSync(join(dir, 'trash'), { recursive: true })
  const db = createStateDb(dir, 30)
  addSession(db, 'a1')
  addMessage(db, 'a1', 'user', 'first', { timestamp: 1_500 })
  host.importSession(home, 'a1')
  addMessage(db, 'a1', 'assistant', 'second', { timestamp: 1_600 })
  const count = () => sessions.load('a1').messages.length
  isActive = true
  host.refreshAll(home)
  assert.is(count(), 1)
  isActive = false
  host.refreshAll(home)
  assert.is(count(), 2)
  db.close()
  await sessions.close()
})

test.run()
