/** Changes by turn: confirmation, conflicts, undo; and polling of background processes. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import { Processes } from '../../../public/features/workspace/processes.ts'
import type { Confirmation } from '../../../public/features/shell/layout.ts'
import { TurnChanges, keyOf } from '../../../public/features/workspace/turn-changes.ts'
import { fakePlatform, fakeShell, settle } from '../_page.ts'

const file = (path: string, more: object = {}) => ({
  path,
  status: 'modified',
  added: 1,
  removed: 0,
  ...more,
})
const turn = (checkpoint: string, more: object = {}) => ({
  checkpoint,
  session_id: 's',
  message_id: 'm1',
  title: 'Fix it',
  workspace: '/w',
  at: 1,
  ended_at: 2,
  undo_of: null,
  interrupted: false,
  notes: [],
  files: [file('a.ts'), file('b.ts', { old_path: 'c.ts', status: 'renamed' })],
  truncated: false,
  file_count: 2,
  added: 2,
  removed: 0,
  ...more,
})

type Answers = Parameters<typeof fakePlatform>[0]

const begin = async (answers: Answers) => {
  const fake = fakePlatform({
    'GET /api/rollback/list': () => ({ session_id: 's', checkpoints: [turn('t2'), turn('t1')] }),
    ...answers,
  })
  const shell = fakeShell(fake.platform)
  const { toasts } = shell
  const asked: Confirmation[] = []
  const seen = { restored: 0 }
  const turns = new TurnChanges(shell, 's', {
    ask: question => asked.push(question),
    onRestored: () => {
      seen.restored++
    },
  })
  await turns.load()
  return { ...fake, toasts, asked, seen, turns }
}

const test = suite('page: changes of a turn')

test('shows a failed list; rejects an unknown turn', async () => {
  const { turns, toasts, asked } = await begin({
    'GET /api/rollback/list': () => {
      throw new ApiError(503, 'no')
    },
  })
  assert.is(turns.state.value, 'failed')
  turns.undoNumber(3)
  assert.equal([asked.length, toasts.list.value[0]?.text], [0, 'No such change'])
})

test('asks before undoing, toasts the result, and offers to undo it', async () => {
  const { turns, asked, service, toasts, seen } = await begin({
    'POST /api/rollback/restore': ({ checkpoint }) => ({
      ok: true,
      restored: ['a.ts', 'b.ts'],
      unchanged: [],
      failed: [],
      checkpoint: checkpoint === 't2' ? 't1' : null,
    }),
  })
  turns.undoNumber(1)
  assert.match(asked[0]?.text ?? '', '2 files will be restored')
  assert.equal(service.of('POST /api/rollback/restore'), [])
  await asked[0]?.run()
  assert.equal(service.of('POST /api/rollback/restore'), [
    { session_id: 's', checkpoint: 't2', force: false },
  ])
  assert.is(seen.restored, 1)
  const [toast] = toasts.list.value
  assert.is(toast?.text, 'Restored 2 files')
  toast?.action?.run()
  await settle()
  assert.is(service.of('POST /api/rollback/restore')[1]?.checkpoint, 't1')
})

test('asks before overwriting newer changes; restores both paths of a moved file', async () => {
  const { turns, asked, service, clock } = await begin({
    'POST /api/rollback/restore': ({ force }) => {
      if (!force)
        throw new ApiError(409, 'changed', { conflicts: ['b.ts', '1', '2', '3', '4', '5'] })
      return { ok: true, restored: [], unchanged: ['b.ts'], failed: [], checkpoint: null }
    },
  })
  const [newest] = turns.list.value
  if (!newest?.files[1]) throw new Error('nothing listed')
  turns.undoFile(newest, newest.files[1])
  await asked[0]?.run()
  await clock.advance(1)
  assert.match(asked[1]?.text ?? '', 'b.ts, 1, 2, 3, and 2 more')
  assert.is(asked[1]?.danger, true)
  await asked[1]?.run()
  assert.equal(service.of('POST /api/rollback/restore')[1], {
    session_id: 's',
    checkpoint: 't2',
    force: true,
    paths: ['b.ts', 'c.ts'],
  })
})

test('throws other errors; shows a failed diff', async () => {
  const { turns, asked } = await begin({
    'POST /api/rollback/restore': () => {
      throw new ApiError(409, 'A turn is running')
    },
  })
  turns.undoNumber(2)
  const failure = await Promise.resolve(asked[0]?.run()).catch(error => error.message)
  assert.is(failure, 'A turn is running')
  const [newest] = turns.list.value
  if (!newest?.files[0]) throw new Error('nothing listed')
  await turns.toggleFile(newest, newest.files[0])
  assert.is(turns.diffs.value.get(keyOf(newest, newest.files[0]))?.state, 'failed')
  await turns.toggleFile(newest, newest.files[0])
  assert.is(turns.diffs.value.size, 0)
})

test('polls processes while one is running and the panel is visible', async () => {
  const program = { process_id: 'p1', command: 'c', cwd: '/', pid: 1, status: 'running' }
  const fake = fakePlatform({
    'GET /api/processes': () => ({ session_id: 's', processes: [program] }),
    'GET /api/process/log': () => ({ process: program, output: 'out', truncated: false }),
  })
  const background = new Processes(fakeShell(fake.platform), 's')
  const leave = background.watch()
  await background.load()
  background.toggleLog('p1')
  await settle()
  assert.is(background.logs.value.get('p1')?.text, 'out')
  const asked = () => fake.service.of('GET /api/processes').length
  await fake.clock.advance(5_000)
  await settle()
  assert.is(asked(), 2)
  leave()
  await fake.clock.advance(60_000)
  assert.is(asked(), 2)
  background.toggleLog('p1')
  assert.is(background.logs.value.size, 0)
})

test.run()
