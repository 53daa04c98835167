/** Cells of one worker as users of their own: the commands of one agent cannot read what another person has, nor signal its processes. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import { CellUsers } from '../../../lib/cli/cell-users.ts'
import { ended } from '../../_wait.ts'
import { openDir, whyNoUsers } from './_cell-users.ts'
import {
  add,
  answersOf,
  as,
  cellDir,
  launchMember,
  pidOf,
  provider,
  startForwarder,
  startWorker,
  useModel,
  workersSuite,
} from './_workers.ts'

const proof = workersSuite('users of cells', whyNoUsers())

const FIRST = 210_000
const RANGE = `${FIRST}-${FIRST + 1}`

proof(
  'refusals: a folder above that is closed, and a worker without a word about users takes one cell',
  async () => {
    const closed = mkdtempSync(join(tmpdir(), 'closed-'))
    const worker = launchMember('one', ['worker'], { AGENT_WEBUI_CLUSTER_USERS: RANGE }, closed)
    await worker.program.exited
    assert.match(worker.program.output(), /cannot reach .*cells, because .* is closed to them/)
    await add('anna')
    await add('ben')
    await startWorker('two', { AGENT_WEBUI_CLUSTER_USERS: '' })
    const forwarder = await startForwarder()
    assert.is((await as('anna', forwarder).get('/api/sessions')).status, 200)
    assert.is((await as('ben', forwarder).get('/api/sessions')).status, 503)
  },
)

proof(
  'a range of users belongs to one worker of a machine; a user that is given again has left nothing',
  async () => {
    const mask = process.umask()
    try {
      const dir = join(openDir(), 'worker', 'cells')
      mkdirSync(dir, { recursive: true })
      chmodSync(dirname(dir), 0o711)
      const users = await CellUsers.open(dir, { first: 220_000, last: 220_009 })
      for (const [first, last] of [
        [220_000, 220_009],
        [220_009, 220_020],
        [219_000, 221_000],
      ] as const) {
        const error = await CellUsers.open(dir, { first, last }).catch((reason: Error) => reason)
        assert.match(String(error), /Another worker of this machine has the users 220000-220009/)
      }
      await CellUsers.open(dir, { first: 220_010, last: 220_020 })
      const left = mkdtempSync(join(tmpdir(), 'left-'))
      writeFileSync(join(left, 'data'), 'of the user before')
      chownSync(left, 220_000, 220_000)
      assert.is(users.prepare('anna', ['home']).uid, 220_000)
      assert.not.ok(existsSync(left))
    } finally {
      process.umask(mask)
    }
  },
)

proof('a command sees nothing of the neighbor, and the third cell finds no user', async () => {
  for (const name of ['anna', 'ben', 'carl']) await add(name)
  const worker = await startWorker('one', { AGENT_WEBUI_CLUSTER_USERS: RANGE }, openDir())
  const forwarder = await startForwarder()
  const [anna, ben] = [as('anna', forwarder), as('ben', forwarder)]
  await ben.get('/api/sessions')
  await ben.post('/api/session/new', {})
  await anna.get('/api/sessions')
  const dirs = ['anna', 'ben'].map(name => cellDir(worker, name))
  assert.equal(
    dirs.map(dir => statSync(dir).uid),
    [FIRST + 1, FIRST],
  )
  for (const dir of dirs)
    for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' }))
      assert.is(lstatSync(join(dir, name)).uid, statSync(dir).uid, name)
  const config = join(cellDir(worker, 'anna'), 'home', 'config.yaml')
  useModel(worker, 'anna')
  writeFileSync(
    config,
    `${readFileSync(config, 'utf8')}approvals:\n  mode: off\nsandbox:\n  enabled: off\n`,
  )
  const benState = join(cellDir(worker, 'ben'), 'state')
  const [session = ''] = readdirSync(join(benState, 'sessions'))
  const inTmp = `/tmp/agent-webui-users-${process.pid}`
  const probe = [
    'id -u',
    `cat '${join(benState, 'sessions', session)}' '${join(benState, '.signing_key')}'; ls '${benState}' ../..`,
    `echo private > '${inTmp}'`,
    'env -i setsid sleep 600 < /dev/null > /dev/null 2>&1 & echo "detached: $!."',
    `kill -9 ${pidOf(worker, 'ben')} ${worker.program.child.pid}`,
    `cat /proc/${pidOf(worker, 'ben')}/environ /proc/$PPID/environ /proc/${pidOf(worker, 'anna')}/environ | tr '\\0' '\\n' | grep -i -e cluster_key -e cluster_url`,
  ].join('\n')
  // From a script, as a program that the agent was talked into would do it.
  writeFileSync(join(cellDir(worker, 'anna'), 'workspace', 'probe.sh'), probe, { mode: 0o755 })
  const command = 'sh ./probe.sh 2>&1'
  provider.push({ toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command } }] })
  const { body } = await anna.post('/api/session/new', {})
  const id: string = body.session.session_id
  await anna.post('/api/chat/start', { session_id: id, message: 'look' })
  const [, , result = ''] = await answersOf(anna, id)
  assert.match(result, new RegExp(`${FIRST + 1}\\\\n`))
  assert.not.match(result, /session_id|a key that is only used|postgres:\/\//)
  assert.match(result, /Permission denied/)
  assert.is(statSync(inTmp).mode & 0o077, 0, 'what a command writes elsewhere is its own')
  rmSync(inTmp)
  assert.is((await ben.get('/api/sessions')).status, 200)
  // What the agent deletes is made again as its own. A folder that is closed to it, as that of a container, stops nothing.
  const annas = cellDir(worker, 'anna')
  const closed = join(annas, 'closed')
  mkdirSync(closed)
  writeFileSync(join(closed, 'data'), 'x', { mode: 0o600 })
  chmodSync(closed, 0o700)
  rmSync(join(annas, 'workspace'), { recursive: true })
  const killed = pidOf(worker, 'anna')
  process.kill(killed, 'SIGKILL')
  await ended(killed)
  // It has neither the group nor the environment of the cell any more.
  await ended(Number(/detached: (\d+)\./.exec(result)?.[1]))
  assert.is((await anna.get('/api/sessions')).status, 200)
  assert.is(statSync(join(annas, 'workspace')).uid, FIRST + 1)
  assert.is(statSync(closed).uid, 0)
  const carl = await as('carl', forwarder).get('/api/sessions')
  assert.is(carl.status, 503)
  assert.match(worker.program.output(), /all of the users .* have a cell/)
})

proof.run()
