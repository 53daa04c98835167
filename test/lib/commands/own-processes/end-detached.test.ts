/** Commands that have left their process group end with the service, and nothing else does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { endDetached } from '../../../../lib/commands/own-processes/end-detached.ts'
import { MARK_VARIABLE } from '../../../../lib/commands/own-processes/own-processes.ts'
import { ended, isAlive } from '../../../_wait.ts'

const test = suite('detached processes')

const PATH = process.env.PATH ?? '/usr/bin:/bin'

/** The process that this starts and leaves behind. */
const leave = async (command: string, env: Record<string, string>): Promise<number> => {
  const shell = spawn('sh', ['-c', `${command} >/dev/null 2>&1 & echo $!`], {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = await once(shell.stdout, 'data')
  return Number(String(line))
}

test('a command that left its session ends, also one that ignores SIGTERM; those of others stay', async () => {
  if (process.platform !== 'linux') return console.log('skipped: not Linux')
  const nonce = `test-${process.pid}`
  const ours = { [MARK_VARIABLE]: nonce, AGENT_SESSION_KEY: 's1' }
  const ends = [
    await leave('exec setsid sleep 300', ours),
    await leave('exec nohup sleep 300', ours),
    await leave(`trap '' TERM; exec sleep 300`, ours),
  ]
  const stay = [
    await leave('exec sleep 300', { ...ours, [MARK_VARIABLE]: 'another service' }),
    // Not started by a command of a chat.
    await leave('exec sleep 300', { [MARK_VARIABLE]: nonce }),
    await leave('exec sleep 300', {}),
  ]
  try {
    await endDetached(undefined)
    assert.ok([...ends, ...stay].every(isAlive))
    await endDetached(nonce)
    for (const pid of ends) await ended(pid)
    assert.ok(stay.every(isAlive))
  } finally {
    for (const pid of stay) process.kill(pid, 'SIGKILL')
  }
})

test.run()
