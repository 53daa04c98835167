/** Commands: refused, denied, stopped, too loud, and ordinary. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessRegistry } from '../../../../lib/commands/processes.ts'
import { type Bench, createBench, refused } from './_context.ts'
import { ended, until } from '../../../_wait.ts'
import { createTestClock } from '../../../_clock.ts'

const test = suite('terminal')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const run = (command: string, more: object = {}) => bench.json('terminal', { command, ...more })

const LIMIT = 300

/** Its time limit passes once this has been printed. */
const runBeyondLimit = async (command: string, printed: string | RegExp, more: object = {}) => {
  const clock = createTestClock()
  bench.ctx.turn.clock = clock
  let isOver = false
  const result = run(command, { timeout: LIMIT, ...more }).finally(() => {
    isOver = true
  })
  await until(async () => {
    // Output is shown live once every few milliseconds.
    await clock.advance(20)
    return isOver || bench.printed.join('').search(printed) >= 0
  })
  await clock.advance(LIMIT * 1_000)
  return result
}

/** Gives the bench background processes of the session `a`. */
const withProcesses = (options: { maxAdopted?: number } = {}) => {
  const exits: [string, number | null][] = []
  const registry = new ProcessRegistry({
    ...options,
    clock: systemClock,
    onEnded: (_, { command, exit_code }) => exits.push([command, exit_code]),
  })
  bench.ctx.turn.processes = registry.of('a')
  return { registry, exits }
}
const processTool = (action: string, session_id: string, more: object = {}) =>
  bench.json('process', { action, session_id, ...more })

test('without a shell, a command is refused with a sentence, in the background as well', async () => {
  Object.assign(bench.ctx.turn, { env: { PATH: '/nowhere' } })
  withProcesses()
  for (const more of [{}, { background: true }])
    await run('echo here', more).then(
      () => assert.unreachable(),
      error => {
        const said = 'Commands cannot run here: "sh" is not installed, and no other shell is.'
        assert.is(error.message, said, JSON.stringify(more))
      },
    )
})

test('output in order, exit code, no input', async () => {
  const result = await run('echo out; echo err >&2; echo out again; cat; exit 3')
  assert.equal(result, { output: 'out\nerr\nout again\n', exit_code: 3, error: null })
  assert.ok((await bench.use('terminal', { command: 'false' })).isError)
})

test('directory and environment', async () => {
  mkdirSync(join(bench.workspace, 'deep'))
  assert.is((await run('pwd', { workdir: 'deep' })).output.trim(), join(bench.workspace, 'deep'))
  assert.is((await run('echo $HOME')).output.trim(), bench.home)
  assert.is((await run('env | grep -c npm_', {})).output.trim(), '0')
  assert.match(await refused(run('pwd', { workdir: 'nowhere' })), 'does not exist')
})

test('a timeout kills the whole group with exit code 124', async () => {
  const result = await runBeyondLimit('trap "" TERM; sleep 60 & echo $!; wait', '\n')
  assert.is(result.exit_code, 124)
  assert.match(result.error, '300 seconds')
  await ended(Number(result.output))
})

test('a stop kills it at once', async () => {
  bench.ctx.output = text => {
    bench.printed.push(text)
    bench.stop()
  }
  const result = await run('echo $$; sleep 600')
  assert.match(result.error, 'Stopped')
  await ended(Number(result.output))
})

test('a command that outlives its limit moves to the background: output complete, exit code later', async () => {
  const { registry, exits } = withProcesses()
  // The letter é is two bytes; the first is printed before the limit, the second after it.
  bench.write(
    'slow.sh',
    "echo first; printf 'caf\\303'; until [ -e more ]; do sleep 0.02; done; printf '\\251\\n'; exit 7",
  )
  bench.say('once')
  const command = 'sh slow.sh'
  const moved = await runBeyondLimit(command, 'caf', { notify_on_complete: true })
  assert.equal([moved.output, moved.exit_code, moved.error], ['first\ncaf', null, null])
  assert.match(moved.note, /Still running after 300 seconds/)
  assert.is(bench.printed.join(''), 'first\ncaf')
  const { session_id: id } = moved
  const [listed] = (await bench.json('process', { action: 'list' })).processes
  assert.equal([listed.session_id, listed.command, listed.status], [id, command, 'running'])
  assert.ok(listed.uptime >= LIMIT)
  assert.is((await processTool('poll', id)).output, '')
  assert.match(await refused(processTool('submit', id, { data: 'x' })), 'no input')
  bench.write('more', '')
  const waited = await processTool('wait', id, { timeout: 20 })
  assert.equal([waited.status, waited.exit_code, waited.output], ['exited', 7, 'first\ncafé\n'])
  assert.is((await processTool('poll', id)).output, 'é\n')
  assert.equal(exits, [[command, 7]])
  assert.is(bench.printed.join(''), 'first\ncaf', 'live output ends with the result')
  await registry.close()
})

test('stopping the turn leaves a moved command running; closing the service ends it', async () => {
  const { registry } = withProcesses()
  const moved = await runBeyondLimit('echo on; sleep 600', 'on')
  bench.stop()
  const { status } = registry.of('a').view(moved.session_id)
  assert.is(status, 'running')
  await registry.close()
  await ended(moved.pid)
})

test('the number of moved commands is limited: the next one is stopped, and the result says why', async () => {
  const { registry } = withProcesses({ maxAdopted: 1 })
  const moved = await runBeyondLimit('echo $$; sleep 600', /\d\n/)
  const stopped = await runBeyondLimit('echo $$; sleep 600', /\d\n\d+\n/)
  assert.is(moved.exit_code, null)
  assert.is(stopped.exit_code, 124)
  assert.match(stopped.error, /^Stopped after 300 seconds\. 1 commands were moved/)
  await ended(Number(stopped.output))
  await registry.close()
})

test.run()
