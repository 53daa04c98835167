/** What the command line writes for the host agent where its own transcript has more. */
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readMessages } from '../../../../lib/sessions/host-db/read-messages.ts'
import { SessionRecorder } from '../../../../lib/sessions/host-db/session-recorder.ts'
import { createStateDb } from '../../../_state-db.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('session recorder')

test('a tool called through call_tool is recorded as a call of that tool', async () => {
  const dir = tempDir('recorder')
  const file = join(dir, 'state.db')
  const db = createStateDb(dir, 30)
  const failed: unknown[] = []
  const recorder = new SessionRecorder({
    source: 'cli',
    file,
    addon: undefined,
    clock: createTestClock(1_000),
    onError: error => failed.push(error),
  })
  recorder.begin('s', { model: 'm', cwd: '/w', maxSteps: 9 })
  const call = { name: 'mcp_git_get', arguments: '{}' }
  recorder.message('s', {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'c1', type: 'function', function: call, via: 'call_tool' }],
  })
  await recorder.flush()
  assert.equal(failed, [])
  const [stored] = readMessages(db, 's')
  assert.equal(stored?.tool_calls, [{ id: 'c1', type: 'function', function: call }])
  db.close()
})

test.run()
