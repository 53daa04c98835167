/** Commands: refused, denied, stopped, too loud, and ordinary. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('terminal')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const run = (command: string, more: object = {}) => bench.json('terminal', { command, ...more })

/** Until the process is gone; bounded. */
const gone = async (pid: number): Promise<boolean> => {
  for (let round = 0; round < 100; round++) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await later(10)
  }
  return false
}

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
    cwd: bench.workspace,
  })
  bench.say('once')
  assert.is((await run('rm -r sub')).exit_code, 0)
  assert.not(existsSync(join(bench.workspace, 'sub')))
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
  const result = await run('sleep 60 & echo $!; trap "" TERM; wait', { timeout: 1 })
  assert.is(result.exit_code, 124)
  assert.match(result.error, '1 seconds')
  assert.ok(await gone(Number(result.output)))
})

test('a stop kills it at once', async () => {
  const started = performance.now()
  bench.ctx.output = text => {
    bench.printed.push(text)
    bench.stop()
  }
  const result = await run('echo $$; sleep 60')
  assert.match(result.error, 'Stopped')
  assert.ok(performance.now() - started < 1500)
  assert.ok(await gone(Number(result.output)))
})

test('a background process does not delay the result', async () => {
  const started = performance.now()
  const result = await run('sleep 60 & echo $!')
  assert.is(result.exit_code, 0)
  assert.ok(performance.now() - started < 3000)
  process.kill(Number(result.output))
})

test('a command that prints without end is stopped like any other', async () => {
  const result = await run('yes', { timeout: 1 })
  assert.is(result.exit_code, 124)
  assert.ok(result.output.length < 50_100)
})

test.run()
