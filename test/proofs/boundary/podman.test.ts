/** Commands in real containers, where podman can run them: what they see, what they leave, and what ends with them. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createPlace } from './_place.ts'
import { openPodman, type Podman, processesWith } from './_podman.ts'
import { until } from '../../_wait.ts'

const test = suite('podman')
let podman: Podman | null = null
test.before(() => {
  podman = openPodman()
})
test.after(() => podman?.close())

/** The kernel removes a killed process a moment later. */
const assertGone = async (mark: string): Promise<void> => {
  await until(() => processesWith(mark).length === 0, mark)
}

test('real containers: files, processes, network, background, and the end of everything', async () => {
  if (!podman) return
  const terminal = { docker_image: podman.image, docker_network: false, docker_env: { A: 'x y' } }
  const place = createPlace(podman.env, 'podman', terminal)
  const { bench, runner, run } = place
  const {
    turn: { processes },
  } = bench.ctx
  try {
    const secret = join(bench.home, 'secret')
    writeFileSync(secret, 'hidden')
    symlinkSync(secret, join(bench.workspace, 'link'))
    mkdirSync(join(bench.workspace, 'sub'))
    const seen = await run(
      `cat ${secret} link; ls /proc/net/dev && cat /proc/net/dev | wc -l; id -u; echo "$A"; echo new > sub/new; touch /tmp/t ~/h; ps 2>&1; exit 5`,
    )
    assert.is(seen.exit_code, 5)
    assert.not.match(seen.output, 'hidden')
    // Two lines of a header, and the loopback device.
    assert.match(seen.output, /^3$/m)
    assert.match(seen.output, new RegExp(`^${process.getuid?.()}$`, 'm'))
    assert.match(seen.output, /^x y$/m)
    assert.is(readFileSync(join(bench.workspace, 'sub/new'), 'utf8'), 'new\n')
    assert.is(statSync(join(bench.workspace, 'sub/new')).uid, process.getuid?.())
    for (const path of ['/tmp/t', '/root/h']) assert.ok(existsSync(runner.hostPath(path)), path)
    assert.not(existsSync('/tmp/t'))

    // A service of this machine and the keys of the system are out of reach; nothing gains rights.
    const status = await run('grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; ls /proc')
    assert.match(status.output, /NoNewPrivs:\s1/)
    assert.ok(!status.output.split('\n').includes(String(process.pid)) || process.pid < 100)
    assert.not.match(JSON.stringify(await run('env; cat /proc/1/environ')), /CONTAINERS_CONF/)

    const mark = `4${process.pid}.${Date.now() % 1_000}`
    const many = `setsid sleep ${mark} & env -i /usr/bin/sleep ${mark} & trap '' TERM; sleep ${mark}`
    bench.ctx.turn.processes = undefined
    assert.is((await run(many, { timeout: 1 })).exit_code, 124)
    bench.ctx.turn.processes = processes
    await assertGone(mark)
    const started = await run(`read a; echo "got $a"; sleep ${mark}`, { background: true })
    await processes?.write(started.session_id, 'input\n')
    while (!processes?.read(started.session_id).text.includes('got input'))
      await new Promise(setImmediate)
    await processes?.kill(started.session_id)
    await assertGone(mark)
    await run(`sleep ${mark} & echo on`)
    assert.is.not(processesWith(mark).length, 0)
    await place.containers.close()
    await assertGone(mark)
  } finally {
    await place.close()
  }
})

test.run()
