/** Commands: refused, denied, stopped, too loud, and ordinary. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessRegistry } from '../../../../lib/commands/processes.ts'
import { type Bench, createBench, refused } from './_context.ts'
import { ended, isAlive, until } from '../../../_wait.ts'
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

test('rejects a blocked command without asking', async () => {
  bench.say('always')
  const result = await run('rm -rf ~')
  assert.is(result.status, 'blocked')
  assert.match(result.error, 'no approval')
  assert.equal(bench.asked, [])
})

test('a risky command requests approval; denied, it does not run', async () => {
  bench.write('sub/file', 'x')
  const denied = await run('rm -r sub')
  assert.is(denied.status, 'blocked')
  assert.ok(existsSync(join(bench.workspace, 'sub')))
  assert.equal(bench.asked[0], {
    command: 'rm -r sub',
    patternKeys: ['recursive delete'],
    description: 'It deletes folders with everything in them.',
    marks: [{ start: 0, end: 5 }],
    cwd: bench.workspace,
    lines: ['rm -r sub'],
    reasons: [{ stake: 'recursive delete' }],
  })
  bench.say('once')
  assert.is((await run('rm -r sub')).exit_code, 0)
  assert.not(existsSync(join(bench.workspace, 'sub')))
})

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

test('protected files cannot be read by name either', async () => {
  writeFileSync(join(bench.root, 'state/key'), 'KEY')
  for (const command of [
    'cat ../state/key',
    `cat "${bench.root}/state/key"`,
    'cd .. && cat state/key',
    'wc <../state/key',
  ])
    assert.is((await run(command)).status, 'blocked', command)
  assert.equal(bench.asked, [])
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

test('colors are in the live output, not in the result', async () => {
  const { output } = await run("printf '\\033[31mred\\033[0m'")
  assert.is(output, 'red')
  assert.is(bench.printed.join(''), '\u001b[31mred\u001b[0m')
})

test('long output keeps head and tail', async () => {
  const { output } = await run('echo first; head -c 300000 /dev/zero | tr "\\0" x; echo; echo last')
  assert.ok(output.length < 50_100)
  assert.ok(output.startsWith('first\n') && output.endsWith('last\n'))
  assert.match(output, 'characters left out')
  assert.ok(bench.printed.join('').length < 201_000)
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

test('a background process does not delay the result', async () => {
  const result = await run('sleep 600 & echo $!')
  assert.is(result.exit_code, 0)
  assert.ok(isAlive(Number(result.output)))
  process.kill(Number(result.output))
})

test('a command that prints without end is stopped like any other', async () => {
  const result = await runBeyondLimit('yes', 'y')
  assert.is(result.exit_code, 124)
  assert.ok(result.output.length < 50_100)
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

test('a loud command loses nothing when it moves; what it left running is killed with it', async () => {
  const { registry } = withProcesses()
  bench.say('once')
  bench.write('loud.sh', 'sleep 600 & echo $!; i=0; while :; do i=$((i+1)); echo $i; done')
  const moved = await runBeyondLimit('exec sh loud.sh', '\n3000\n')
  const child = Number(moved.output.split('\n', 1)[0])
  const killed = await processTool('kill', moved.session_id)
  assert.equal([killed.status, killed.exit_code], ['exited', 143])
  const { output, first_line, total_lines } = await processTool('log', moved.session_id, {
    limit: 2_000,
  })
  const numbers = output.split('\n').slice(0, -1).map(Number)
  assert.ok(numbers.every((each: number, at: number) => at === 0 || each === numbers[at - 1] + 1))
  assert.is(first_line + 2_000, total_lines)
  await ended(child)
  await ended(moved.pid)
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

test('a command that has exited in time is not moved because of what it left running', async () => {
  const { registry } = withProcesses()
  bench.say('once')
  bench.write(
    'left.sh',
    '(while kill -0 $$ 2>/dev/null; do sleep 0.02; done; echo gone; sleep 5) & exit 3',
  )
  const result = await runBeyondLimit('exec sh left.sh', 'gone')
  assert.is(result.exit_code, 3)
  assert.equal((await bench.json('process', { action: 'list' })).processes, [])
  await registry.close()
})

test.run()
