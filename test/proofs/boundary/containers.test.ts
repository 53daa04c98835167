/** Commands in containers, with a program that behaves like docker: settings, refusals, lifetime, signals. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { until } from '../../_wait.ts'
import { createTestClock } from '../../_clock.ts'
import { systemClock } from '../../../lib/base/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { containerLabels, Containers } from '../../../lib/commands/containers/containers.ts'
import {
  type ContainerSettings,
  readContainerSettings,
} from '../../../lib/commands/containers/settings.ts'
import { runArguments } from '../../../lib/commands/containers/run-arguments.ts'
import { createFakeDocker, createPlace, type FakeDocker, type Place } from './_place.ts'
import { processesWith } from './_podman.ts'

const IMAGE = { docker_image: 'test/image' }
const settings = (terminal: Record<string, unknown>) =>
  readContainerSettings(terminal, { dir: '/h', userHome: '/home/ada', engine: 'docker' })

/** What costs most, because each call of the engine is a process. */
const heavy =
  process.env.PROOF === 'full'
    ? (name: string, run: Parameters<typeof test>[1]) => test(name, run)
    : () => undefined

const test = suite<{ docker: FakeDocker; places: Place[] }>('containers')
test.before.each(context => {
  context.docker = createFakeDocker()
  context.places = []
})
test.after.each(async ({ docker, places }) => {
  for (const place of places) await place.close()
  docker.close()
})

const open = (
  { docker, places }: { docker: FakeDocker; places: Place[] },
  terminal: Record<string, unknown> = IMAGE,
  options: Parameters<typeof createPlace>[3] = {},
): Place => {
  const place = createPlace(docker.env, 'docker', terminal, options)
  places.push(place)
  return place
}

test('a value that is not understood or not supported is refused by the name of its key', () => {
  const REFUSED: [key: string, value: unknown][] = [
    ['docker_image', ['a']],
    ['docker_image', { name: 'a' }],
    ['container_cpu', 'two'],
    ['container_cpu', -1],
    ['container_memory', [1]],
    ['container_disk', 'much'],
    ['container_disk', Number.NaN],
    ['docker_network', 'maybe'],
    ['docker_network', 2],
    ['docker_volumes', '/a'],
    ['docker_volumes', ['a:b']],
    ['docker_volumes', ['./a:/b']],
    ['docker_volumes', ['/a:/b:ro:z']],
    ['docker_volumes', [5]],
    ['docker_volumes', { '/a': '/b' }],
    ['docker_env', ['A=b']],
    ['docker_env', { 'A B': 'c' }],
    ['docker_env', { A: ['c'] }],
    ['docker_forward_env', ['A-B']],
    ['docker_forward_env', { A: 'b' }],
    ['docker_mount_cwd_to_workspace', 'perhaps'],
    ['docker_run_as_host_user', 'root'],
    ['container_persistent', 'x'],
    ['docker_persist_across_processes', 'x'],
    ['docker_orphan_reaper', 'x'],
    ['docker_snap_compat', 'x'],
    ['docker_extra_args', { a: 'b' }],
    ['docker_extra_args', ['--entrypoint', '']],
    ['docker_extra_args', ['--name=x']],
    ['docker_shared_container_key', 'team'],
    ['lifetime_seconds', 'long'],
    ['sandbox_dir', 'relative'],
    ['docker_shm_size', [1]],
  ]
  for (const [key, value] of REFUSED)
    assert.throws(
      () => settings({ [key]: value }),
      (error: Error) => error.message.startsWith(`terminal.${key} `),
      `${key}: ${JSON.stringify(value)}`,
    )
  assert.throws(
    () => settings({ docker_network: false, docker_extra_args: ['--network=host'] }),
    /docker_extra_args names a network/,
  )
})

test('the keys of the host agent decide the arguments; nothing in them is a value of a variable', () => {
  const given = settings({
    docker_image: 'my/image:1',
    container_cpu: '2',
    container_memory: 256,
    container_disk: 0,
    docker_network: 'no',
    docker_volumes: ['~/data:/data:ro', 'cache:/cache'],
    docker_env: { SECRET: 'sk-1', PORT: 80, ON: true },
    docker_forward_env: ['GITHUB_TOKEN'],
    docker_shm_size: '2g',
    docker_extra_args: ['--add-host=a:1.2.3.4'],
    container_persistent: false,
  })
  assert.equal(given.env, { SECRET: 'sk-1', PORT: '80', ON: 'true' })
  const args = runArguments({
    settings: given,
    name: 'n',
    labels: { a: 'b' },
    mounts: [{ source: '/a, "b"', target: '/c', isReadOnly: true }],
    user: '1000:1000',
    hasLimits: true,
    hasDiskLimit: true,
    hasSelinux: false,
  })
  const text = args.join(' ')
  for (const part of [
    '--cap-drop ALL',
    '--security-opt no-new-privileges',
    '--user 1000:1000',
    '--cpus 2 --memory 256m --pids-limit 512',
    '--shm-size 2g',
    '--network none',
    '--tmpfs /root:rw',
    '--mount type=bind,"source=/a, ""b""",target=/c,readonly',
    '--volume /home/ada/data:/data:ro',
    '--volume cache:/cache',
    '--add-host=a:1.2.3.4 --entrypoint sh my/image:1 -c',
  ])
    assert.ok(text.includes(part), `${part}\n${text}`)
  assert.not.match(text, /sk-1|GITHUB_TOKEN|--cap-add|storage-opt/)
  assert.equal(settings({}).image, 'nikolaik/python-nodejs:python3.11-nodejs20')
})

test('nothing runs without a program, a service, an image, or valid settings; the sentence says what to do', async context => {
  const { docker } = context
  const refused = async (place: Place) => {
    const result = await place.run('touch here')
    assert.is(result.status, 'blocked')
    assert.not(existsSync(join(place.bench.workspace, 'here')))
    return result.error
  }
  const none = createPlace({ PATH: '/nowhere' }, 'docker', IMAGE)
  context.places.push(none)
  assert.match(await refused(none), /neither docker nor podman is installed/)
  assert.match(
    await refused(open(context, { ...IMAGE, docker_network: 'maybe' })),
    'docker_network',
  )
  docker.state({
    down: 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
  })
  const place = open(context)
  assert.match(
    await refused(place),
    /Docker can't be reached: Cannot connect .*docker\.sock\. terminal\.backend asks/,
  )
  docker.state({ down: undefined, images: [], pull: 'Error: pull access denied for test/image' })
  assert.match(await refused(place), /test\/image .* can't be downloaded: pull access denied/)
  docker.state({ pull: '' })
  assert.is((await place.run('touch here')).exit_code, 0)
  assert.ok(existsSync(join(place.bench.workspace, 'here')))
})

test('a path in a volume is the file of this computer, however the volume is written', async context => {
  const volumes = ['/srv/one:/one/', '/srv/two:/mnt/./two', '/srv/three:/three']
  const place = open(context, { ...IMAGE, docker_volumes: volumes })
  assert.is((await place.run('true')).exit_code, 0)
  for (const [inside, here] of [
    ['/one/a.csv', '/srv/one/a.csv'],
    ['/one', '/srv/one'],
    ['/one-old/key', '/one-old/key'],
    ['/one/-old/key', '/srv/one/-old/key'],
    ['/mnt/two/a', '/srv/two/a'],
    ['//three/a', '/srv/three/a'],
  ] as const)
    assert.is(place.runner.hostPath(inside), here)
})

test('a long download does not hold the turn; commands run when it is done', async context => {
  const { docker } = context
  docker.state({ images: [] })
  const clock = createTestClock()
  const place = open(context, IMAGE, { clock })
  const late = async (): Promise<string> => {
    const run = place.run('true')
    await until(() => clock.waiting().includes(20_000), 'the download')
    await clock.advance(20_000)
    return (await run).error
  }
  assert.match(await late(), /is being downloaded, for 20 s so far.*Run the command again/)
  assert.match(await late(), /is being downloaded, for 40 s so far/)
  assert.is(docker.calls().filter(([command]) => command === 'pull').length, 1)
  docker.state({ images: ['test/image'] })
  assert.is((await place.run('true')).exit_code, 0)
  assert.is.not(processesWith('pull --quiet test/image').length, 0)
  await place.containers.close()
  while (processesWith('pull --quiet test/image').length > 0) await new Promise(setImmediate)
})

heavy(
  'limits that the system lacks: the defaults are left out, those that the file names are refused',
  async context => {
    const { docker } = context
    const disk = {
      text: '--storage-opt',
      error: '--storage-opt is supported only for overlay over xfs',
    }
    const memory = { text: '--memory', error: 'cgroup: memory controller is not available' }
    docker.state({ refuses: [disk, memory] })
    const place = open(context)
    assert.is((await place.run('true')).exit_code, 0)
    assert.match(place.logged.join(), /without limits/)
    assert.not.match(place.logged.join(), /container_disk/)
    const usual = open(context, { ...IMAGE, container_disk: 51_200 })
    assert.is((await usual.run('true')).exit_code, 0)
    assert.match(
      usual.logged.join(),
      /without the limit terminal.container_disk: .*overlay over xfs/,
    )
    const named = open(context, { ...IMAGE, container_memory: 100 })
    assert.match((await named.run('true')).error, /container_memory can't be applied/)
    const bigger = open(context, { ...IMAGE, container_disk: 1_000 })
    assert.match((await bigger.run('true')).error, /container_disk can't be applied/)
    docker.state({ refuses: [{ text: '--detach', error: 'something else' }] })
    const broken = open(context)
    assert.match((await broken.run('true')).error, /did not start: .*something else/)
    // What a failed start had created is gone.
    assert.is(docker.state().containers.filter(({ running }) => !running).length, 0)
  },
)

test('commands get the environment of the container, no secret in an argument, their exit code and bytes', async context => {
  const { docker } = context
  const place = open(context, {
    ...IMAGE,
    docker_env: { TOKEN: "it's\nsk-secret $(x)" },
    docker_forward_env: ['GITHUB_TOKEN'],
  })
  const { output } = await place.run(
    'env; printf "%s" "$TOKEN"; pwd; [ -e /proc/self/fd/3 ] || echo none',
  )
  assert.match(output, 'OF_IMAGE=yes')
  assert.match(output, 'HOME=/root')
  assert.match(output, 'AGENT_SESSION_KEY=s1')
  assert.match(output, 'GITHUB_TOKEN=value of GITHUB_TOKEN')
  assert.ok(output.includes(`it's\nsk-secret $(x)${place.bench.workspace}\nnone`))
  assert.not.match(output, 'FAKE_DOCKER')
  const all = JSON.stringify(docker.calls())
  assert.not.match(all, /sk-secret|value of GITHUB_TOKEN/)
  assert.is((await place.run('exit 7')).exit_code, 7)
  assert.is((await place.run(`printf '\\303\\251\\n'`)).output, 'é\n')
  assert.match(
    await place.run('pwd', { workdir: '/usr' }).catch(messageOf),
    '/usr is not in the container',
  )
})

test('a container that ended is replaced; one that ends under a command says so', async context => {
  const { docker } = context
  const clock = createTestClock()
  const place = open(context, IMAGE, { clock })
  await place.run('true')
  docker.state({ containers: [] })
  const lost = await place.run('true')
  assert.is(lost.exit_code, 125)
  assert.match(lost.output, 'The container ended before the command started.')
  await clock.advance(2_000)
  await place.run('true')
  const [own] = docker.state().containers
  // Stopped from outside; its name is still taken.
  docker.state({ containers: [{ name: String(own?.name), running: false, labels: {} }] })
  await clock.advance(2_000)
  assert.is((await place.run('echo back')).output, 'back\n')
  assert.ok(docker.state().containers[0]?.running)
})

test('a time limit, a stop, and kill end everything a command started, also what left its session', async context => {
  const place = open(context)
  const mark = `3${process.pid}.${Date.now() % 1_000}`
  const many = `setsid sleep ${mark} & env -i /bin/sleep ${mark} & trap '' TERM; sleep ${mark}`
  // Unattended turns have no background processes: the command is killed.
  const {
    turn: { processes },
  } = place.bench.ctx
  place.bench.ctx.turn.processes = undefined
  const over = await place.run(many, { timeout: 1 })
  assert.equal([over.exit_code, processesWith(mark)], [124, []])
  place.bench.ctx.turn.processes = processes
  const moved = await place.run(many, { timeout: 1 })
  assert.match(moved.note, 'now in the background')
  assert.is.not(processesWith(mark).length, 0)
  await processes?.kill(moved.session_id)
  assert.equal(processesWith(mark), [])
})

test('background processes read input and keep their container; an unused one is removed', async context => {
  const { docker } = context
  const place = open(context, { ...IMAGE, lifetime_seconds: 0 })
  const {
    turn: { processes },
  } = place.bench.ctx
  const { session_id: id } = await place.run('read line; echo "got $line"; sleep 100', {
    background: true,
  })
  await processes?.write(id, 'hello\n')
  while (!processes?.read(id).text.includes('got hello')) await new Promise(setImmediate)
  const [container] = docker.state().containers
  assert.ok(container?.running)
  await place.containers.removeUnused()
  assert.is(docker.state().containers.length, 1)
  await processes?.kill(id)
  await place.containers.removeUnused()
  assert.is(docker.state().containers.length, 0)
  assert.is((await place.run('echo again')).output, 'again\n')
})

test('the end of the service removes containers and their folders; a killed service is cleaned up after', async context => {
  const { docker } = context
  const place = open(context)
  await place.run('true')
  const shared = place.runner.sharedDir()
  assert.ok(existsSync(shared))
  const [own] = docker.state().containers
  const ended = spawn('true')
  await once(ended, 'exit')
  const left = (name: string, owner: string, more: Record<string, string> = {}) => ({
    name,
    running: true,
    labels: { ...own?.labels, 'agent-webui.owner': owner, 'agent-webui.dir': '/etc', ...more },
  })
  const other = { name: 'theirs', running: true, labels: {} }
  // Of a service in a container that shares the docker service: this process id is one of its own.
  const foreign = left('foreign', String(ended.pid), { 'agent-webui.computer': 'another' })
  await place.containers.close()
  assert.not(existsSync(shared))
  assert.equal(docker.state().containers, [])
  docker.state({
    containers: [
      left('dead', String(ended.pid)),
      left('alive', String(process.ppid)),
      other,
      foreign,
    ],
  })
  const next = open(context)
  // The same home: leftovers are found by it.
  Object.assign(next.bench, { home: place.bench.home })
  const settled = settings(IMAGE)
  await next.containers.cleanUp(place.bench.home, settled, docker.env)
  assert.equal(
    docker.state().containers.map(({ name }) => name),
    ['alive', 'theirs', 'foreign'],
  )
  assert.ok(existsSync('/etc/passwd'))
})

heavy(
  'docker_persist_across_processes: stopped at the end, started again with its files',
  async context => {
    const { docker } = context
    const terminal = { ...IMAGE, docker_persist_across_processes: true }
    const states = () => docker.state().containers.map(({ running }) => running)
    const place = open(context, terminal)
    await place.run('true')
    const shared = place.runner.sharedDir()
    await place.containers.close()
    assert.equal(states(), [false])
    assert.ok(existsSync(shared))
    const again = open(context, terminal, { bench: place.bench })
    assert.is((await again.run('echo again')).output, 'again\n')
    assert.equal(states(), [true])
    assert.is(again.runner.sharedDir(), shared)
    const ran = docker.calls().map(([command]) => command)
    assert.is(ran.filter(command => command === 'run').length, 1)
    assert.is(ran.filter(command => command === 'start').length, 1)
    await again.containers.close()
  },
)

heavy(
  'a container that outlasts the service: what a killed one left is stopped, one of other settings is removed',
  async context => {
    const { docker } = context
    const { home } = open(context).bench
    const read = (more: Record<string, unknown>) =>
      readContainerSettings({ ...IMAGE, ...more }, { dir: home, userHome: home, engine: 'docker' })
    const kept = read({ docker_persist_across_processes: true })
    const ended = spawn('true')
    await once(ended, 'exit')
    const add = (name: string, settings: ContainerSettings, user: number) => {
      const dir = join(settings.dir, name)
      mkdirSync(dir, { recursive: true })
      writeFileSync(join(dir, 'process'), String(user))
      const labels = {
        ...containerLabels({ home, owner: null, settings }),
        'agent-webui.dir': dir,
      }
      return { name, running: true, labels }
    }
    const other = read({ docker_persist_across_processes: true, container_cpu: 2 })
    const containers = [
      add('killed', kept, Number(ended.pid)),
      add('used', other, process.ppid),
      add('earlier', other, Number(ended.pid)),
    ]
    const found = () => docker.state().containers.map(({ name, running }) => ({ name, running }))
    docker.state({ containers })
    await new Containers(systemClock, () => undefined).cleanUp(home, kept, docker.env)
    assert.equal(found(), [
      { name: 'killed', running: false },
      { name: 'used', running: true },
    ])
    const dirs = () => ['killed', 'used', 'earlier'].map(name => existsSync(join(kept.dir, name)))
    assert.equal(dirs(), [true, true, false])
    // Nothing starts it any more once the key is off.
    await new Containers(systemClock, () => undefined).cleanUp(home, read({}), docker.env)
    assert.equal(found(), [{ name: 'used', running: true }])
    assert.equal(dirs(), [false, true, false])
  },
)

heavy(
  'persistent shell: directory and variables last; the PATH of the image is no change',
  async context => {
    const place = open(context, IMAGE, { shell: { timeoutS: 60, isPersistent: true } })
    const first = await place.run('mkdir sub; cd sub; export COLOR=red')
    assert.is(first.cwd, join(place.bench.workspace, 'sub'))
    assert.is(first.note, undefined)
    const second = await place.run('echo $COLOR; pwd; unset COLOR')
    assert.is(second.output, `red\n${place.bench.workspace}/sub\n`)
    assert.equal(
      place.bench.asked.map(({ patternKeys }) => patternKeys),
      [],
    )
  },
)

heavy(
  'a program named docker may be podman; docker falls back to it; podman does not fall back',
  async context => {
    const podman = createFakeDocker('podman')
    try {
      const place = createPlace(podman.env, 'docker', IMAGE)
      context.places.push(place)
      const asDocker = await place.run('echo yes')
      assert.is(asDocker.output, 'yes\n')
      const strict = createPlace(
        { ...context.docker.env, PATH: context.docker.env.PATH?.split(':')[0] ?? '' },
        'podman',
        IMAGE,
      )
      context.places.push(strict)
      assert.match((await strict.run('true')).error, /podman is not installed here/)
      assert.is(
        readFileSync(join(podman.env.FAKE_DOCKER ?? '', 'calls.jsonl'), 'utf8').includes('exec'),
        true,
      )
    } finally {
      podman.close()
    }
  },
)

test.run()
