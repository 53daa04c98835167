/** Child processes: failures, bounds and the killing of a whole group. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  killGroup,
  readThrottled,
  run,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from '../../../lib/base/process.ts'
import { ended, isAlive } from '../../_wait.ts'

const test = suite('process')
const env = { PATH: process.env.PATH ?? '' }
const limits = { cwd: '/', env, timeoutMs: 120_000 }
const sh = (script: string, more: object = {}) => run('sh', ['-c', script], { ...limits, ...more })
const group = (script: string) =>
  spawnGroup('sh', ['-c', script], { cwd: '/', env, stdio: ['ignore', 'pipe', 'ignore'] })

const firstLine = async (child: ReturnType<typeof group>): Promise<string> => {
  for await (const chunk of child.stdout) return String(chunk).trim()
  return ''
}

test('run rejects a program that does not exist', async () => {
  try {
    await run('/no/such/program', [], limits)
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), /ENOENT/)
  }
})

test('run kills a program at its time limit, also when a child of it holds the pipes', async () => {
  const { stopped, code } = await sh('sleep 600 & sleep 600', { timeoutMs: 100 })
  assert.is(stopped, 'timeout')
  assert.is(code, null)
})

test('run kills a program that prints more than its limit', async () => {
  const { stopped, stdout } = await sh('while :; do echo 0123456789; done', { maxBytes: 1_000 })
  assert.is(stopped, 'limit')
  assert.is(stdout.length, 1_000)
})

test('run kills a program when its signal is aborted', async () => {
  const { stopped } = await sh('sleep 20', { signal: AbortSignal.timeout(50) })
  assert.is(stopped, 'abort')
  assert.is((await sh('sleep 20', { signal: AbortSignal.abort() })).stopped, 'abort')
})

test('run returns the exit code and both outputs', async () => {
  const done = await sh('echo out; echo err >&2; exit 3')
  assert.is(done.code, 3)
  assert.is(done.stdout.toString(), 'out\n')
  assert.is(done.stderr, 'err\n')
  assert.ok(done.tail.includes('out') && done.tail.includes('err'))
  assert.is(done.stopped, null)
})

test('run writes the input; a program that does not read it is no error', async () => {
  assert.is((await sh('cat', { input: 'abc' })).stdout.toString(), 'abc')
  assert.is((await sh('exit 0', { input: 'x'.repeat(1_000_000) })).code, 0)
})

test('nothing of our own environment is handed down', async () => {
  const { stdout } = await sh('env')
  assert.not.match(stdout.toString(), /^HOME=/m)
})

test('killGroup kills what the program has started', async () => {
  const child = group('sleep 30 & echo $!; wait')
  const grandchild = Number(await firstLine(child))
  assert.ok(isAlive(grandchild))
  killGroup(child, 'SIGKILL')
  await ended(grandchild)
})

test('killGroup ignores a group that has ended and a program that never started', async () => {
  const child = group('exit 0')
  await waitForClose(child)
  killGroup(child, 'SIGKILL')
  killGroup({ pid: undefined }, 'SIGKILL')
})

test('terminateGroup kills a program that ignores SIGTERM', async () => {
  const child = group("trap '' TERM; echo ready; while :; do sleep 0.05; done")
  const closed = waitForClose(child)
  await firstLine(child)
  terminateGroup(child, 50)
  assert.is((await closed).signal, 'SIGKILL')
})

test('waitForClose does not wait for pipes that a background child holds', async () => {
  const child = group('sleep 30 & exit 4')
  const { code } = await waitForClose(child)
  assert.is(code, 4)
  killGroup(child, 'SIGKILL')
})

test('waitForClose rejects a program that cannot be started', async () => {
  const child = spawnGroup('/no/such/program', [], {
    cwd: '/',
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const error = await waitForClose(child).catch((reason: unknown) => reason)
  assert.match(String(error), /ENOENT/)
})

test('waitForClose reads the whole output when the event loop is busy at the exit', async () => {
  // The last piece waits behind a pause of `readThrottled`; a background child keeps the pipe from closing.
  const child = group('head -c 1100000 /dev/zero; sleep 20 &')
  let size = 0
  readThrottled(child.stdout, chunk => {
    size += chunk.length
  })
  await waitForClose(child, () =>
    setImmediate(() => {
      const until = performance.now() + 300
      while (performance.now() < until);
    }),
  )
  killGroup(child, 'SIGKILL')
  assert.is(size, 1_100_000)
})

test.run()
