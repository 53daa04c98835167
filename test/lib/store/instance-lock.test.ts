/** The instance lock of a state directory: held, waited for, freed by release and by process exit. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { InstanceLock } from '../../../lib/store/instance-lock.ts'
import { tempDir } from '../../_temp-dir.ts'

const info = { pid: 4711, address: 'http://127.0.0.1:1', started_at: 1 }

const test = suite<{ dir: string }>('instance lock')
test.before.each(context => {
  context.dir = tempDir('agent-webui-lock')
})

const HOLDER = `
  import { InstanceLock } from ${JSON.stringify(new URL('../../../lib/store/instance-lock.ts', import.meta.url).href)}
  const [dir] = process.argv.slice(-1)
  const lock = new InstanceLock(dir, { pid: process.pid, address: 'http://here', started_at: 1 })
  process.stdout.write('held')
  process.stdin.on('data', () => { lock.release(); process.exit() })
`
const hold = async (dir: string): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout!, 'data')
  return child
}

test('held by another process: the error has its pid and address', async ({ dir }) => {
  const child = await hold(dir)
  assert.throws(
    () => new InstanceLock(dir, info),
    `Another agent-webui (process ${child.pid}, http://here) is using ${dir}`,
  )
  // With a missing or damaged instance.json, the message is shorter.
  writeFileSync(join(dir, 'instance.json'), '{')
  assert.throws(() => new InstanceLock(dir, info), `Another agent-webui is using ${dir}`)
  child.kill('SIGKILL')
  await once(child, 'exit')
  new InstanceLock(dir, info).release()
})

test('waits for a holder that is exiting', async ({ dir }) => {
  const child = await hold(dir)
  const gone = once(child, 'exit')
  child.stdin!.write('go')
  const lock = new InstanceLock(dir, info, { timeoutMs: 5_000 })
  assert.throws(() => new InstanceLock(dir, info), 'process 4711')
  lock.release()
  lock.release()
  assert.not.ok(existsSync(join(dir, 'instance.json')))
  await gone
})

test('an unusable lock file is an error', ({ dir }) => {
  assert.throws(() => new InstanceLock(join(dir, 'nowhere'), info), /directory/)
  writeFileSync(
    join(dir, 'instance.lock'),
    'not a database, but long enough to be read as the header of one '.repeat(20),
  )
  assert.throws(() => new InstanceLock(dir, info), /not a database/)
})

test.run()
