/** The persistent shell: what does not last, what is checked again, and what one command leaves to the next. */
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessRegistry } from '../../../../lib/commands/processes.ts'
import { type Bench, createBench } from './_context.ts'

const test = suite('persistent shell')

let bench: Bench
test.before.each(() => {
  bench = createBench(tmpdir(), { timeoutS: 180, isPersistent: true })
  bench.say('once')
})
test.after.each(() => bench.close())

const run = (command: string, more: object = {}) => bench.json('terminal', { command, ...more })

test('an approved change of what programs run does not last', async () => {
  mkdirSync(join(bench.workspace, 'evil'))
  const set = await run(
    'export PATH=$PWD/evil:$PATH LD_PRELOAD=/x.so HOME=/elsewhere GIT_SSH_COMMAND=sh OK=1',
    {},
  )
  assert.match(set.note, /^These variables do not last: .*PATH/)
  for (const name of ['LD_PRELOAD', 'HOME', 'GIT_SSH_COMMAND']) assert.match(set.note, name)
  const { output } = await run('echo "$PATH,$LD_PRELOAD,$HOME,$GIT_SSH_COMMAND,$OK"')
  assert.is(output, `${bench.ctx.turn.env.PATH},,${bench.home},,1\n`)
  for (const path of [':$PATH', '.:$PATH', 'node_modules/.bin:$PATH', '']) {
    const { note } = await run(`export PATH=${path}`)
    assert.match(note, 'PATH', `PATH=${path}`)
  }
  await run('unset PATH OK')
  assert.is((await run('echo "$PATH,$OK"')).output, `${bench.ctx.turn.env.PATH},\n`)
})

test('an approval shows the values it depends on, and is asked for again with others', async () => {
  await run("export TARGET='build dir' AND=x; unset GONE")
  bench.say('deny')
  assert.is((await run('rm -r "$TARGET"')).status, 'blocked')
  await run('export TARGET="it\'s"')
  await run('rm -r "$TARGET"')
  assert.equal(
    bench.asked.map(({ command }) => command),
    [
      `export AND=x\nexport TARGET='build dir'\nrm -r "$TARGET"`,
      `export AND=x\nexport TARGET='it'\\''s'\nrm -r "$TARGET"`,
    ],
  )
  assert.is((await run('rm -rf "$HOME"')).status, 'blocked')
  await run(`export TARGET=${bench.home}`)
  assert.match(
    (await run('rm -rf $TARGET')).error,
    'no approval',
    'the value is known to the check',
  )
})

test('a value that arithmetic or a conversion would change or run does not last', async () => {
  bench.write('index', 'a[$(touch ran)]')
  const { note } = await run('export X="$(cat index)" BYTES=$\'\\xff\' FINE="[1] $(date)"')
  assert.match(note, 'BYTES, X.')
  await run('echo $((X))')
  assert.is((await run('ls; echo "$X$BYTES"')).output, 'index\n\n')
})

test('a report without an end neither fills the memory nor waits for the time limit', async () => {
  const result = await run("trap 'yes >&3' EXIT; cd /", { timeout: 60 })
  assert.is(result.error, null, 'it ended before the time limit')
  assert.is((await run('pwd')).output, `${bench.workspace}\n`)
})

test('a program cannot write the state of the shell', async () => {
  bench.write(
    'forge.sh',
    'printf "/\\0FORGED=1\\0" >&3; for f in 4 5 6 7 8 9 10 11; do eval "echo x >&$f"; done',
  )
  await run('sh forge.sh 2>/dev/null; export MINE=1')
  const { output, cwd } = await run('echo "$FORGED,$MINE"')
  assert.equal([output, cwd], [',1\n', undefined])
})

test('directory, variables, and a virtual environment last, also after a failure; each result names the directory', async () => {
  mkdirSync(join(bench.workspace, 'sub/.venv/bin'), { recursive: true })
  bench.write(
    'sub/.venv/bin/activate',
    `VIRTUAL_ENV=${bench.workspace}/sub/.venv; export VIRTUAL_ENV; PATH="$VIRTUAL_ENV/bin:$PATH"; export PATH; PS1="(.venv) $PS1"; export PS1`,
  )
  const moved = await run('cd sub && export GREETING="a b\nc" && exit 3')
  assert.equal([moved.exit_code, moved.cwd], [3, join(bench.workspace, 'sub')])
  const used = await run('pwd; echo "$GREETING"; . .venv/bin/activate; false')
  assert.is(used.output, `${bench.workspace}/sub\na b\nc\n`)
  assert.equal([used.exit_code, used.cwd, used.note], [1, `${bench.workspace}/sub`, undefined])
  const { output } = await run('echo $PATH $VIRTUAL_ENV')
  const venv = join(bench.workspace, 'sub/.venv')
  assert.is(output, `${venv}/bin:${bench.ctx.turn.env.PATH} ${venv}\n`)
  await run('export PATH=/tmp/evil:$PATH')
  assert.is((await run('echo $PATH $VIRTUAL_ENV')).output, output, 'the last value that may last')
  bench.asked.length = 0
  await run('rm -r nothing')
  assert.is(bench.asked[0]?.command, "export GREETING='a b\nc'\nrm -r nothing", 'no noise')
  const elsewhere = await run('pwd', { workdir: '.' })
  assert.equal(
    [elsewhere.output, elsewhere.cwd],
    [`${bench.workspace}\n`, join(bench.workspace, 'sub')],
  )
  const back = await run('cd ..')
  assert.is(back.cwd, bench.workspace)
  assert.not('cwd' in (await run('true')))
})

test('without a report the state stays: a stop, a replaced shell, an own trap, a syntax error, a move to the background', async () => {
  const registry = new ProcessRegistry({ clock: systemClock })
  bench.ctx.turn.processes = registry.of('a')
  await run('export KEPT=1')
  for (const command of [
    'cd /; exec true',
    'cd /; trap "echo bye" EXIT',
    'cd /; kill -9 $$',
    'if (',
  ])
    assert.not('cwd' in (await run(command)), command)
  const moved = await run('cd /; sleep 600', { timeout: 1 })
  assert.equal([moved.exit_code, moved.cwd], [null, undefined])
  const started = await run('printenv KEPT; pwd', { background: true })
  const waited = await bench.json('process', { action: 'wait', session_id: started.session_id })
  assert.is(waited.output, `1\n${bench.workspace}\n`)
  await registry.close()
})

test.run()
