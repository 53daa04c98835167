/** Service managers: reports to systemd over a real socket, the watchdog, reload, the end with a running turn; the unit files. */
import { execFileSync, type ChildProcess, spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ALLOCATOR } from '../../../build/node-flags.mjs'
import { freePort, launch, SERVICE } from '../../../build/start-program.ts'
import { Supervisor, watchParent } from '../../../lib/app/supervisor.ts'
import { findProgram } from '../../../lib/base/find-program.ts'
import { spawnApp } from '../../_app.ts'
import { createProvider } from '../../_provider.ts'
import { until } from '../../_wait.ts'

const test = suite('service managers')

const PATH = process.env.PATH ?? ''
const has = (...names: string[]): boolean => {
  const missing = names.filter(name => !findProgram(PATH, name))
  if (missing.length > 0) console.log(`  skipped: ${missing.join(', ')} is not installed`)
  return missing.length === 0
}

/** Node has no datagram sockets in the file system. Prints the time in milliseconds and each message as JSON. */
const RECEIVER = `
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print(json.dumps([0, 'bound']), flush=True)
while True:
    text = s.recv(65536).decode()
    print(json.dumps([time.monotonic() * 1000, text]), flush=True)
`

type Report = [ms: number, text: string]

/** What systemd is for a unit with Type=notify. */
const openReceiver = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'notify-'))
  const socket = join(dir, 'socket')
  const child: ChildProcess = spawn('python3', ['-c', RECEIVER, socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const reports: Report[] = []
  let rest = ''
  let wake = () => {}
  child.stdout?.on('data', chunk => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    // A barrier says that the messages before it have arrived.
    for (const line of lines)
      if (!line.includes('BARRIER=1')) reports.push(JSON.parse(line) as Report)
    wake()
  })
  /** The first report from `from` on that contains the words. */
  const until = async (words: string, from = 0): Promise<Report> => {
    for (;;) {
      const found = reports.slice(from).find(([, text]) => text.includes(words))
      if (found) return found
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  await until('bound')
  return {
    socket,
    reports,
    until,
    close() {
      child.kill('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

test('without systemd nothing is started; a report that cannot be sent is logged once', async () => {
  const lines: string[] = []
  const none = new Supervisor({ PATH: '/nowhere' }, line => lines.push(line))
  await none.ready('x')
  await none.stopping()
  assert.equal(lines, [])
  const env = { PATH: '/nowhere', NOTIFY_SOCKET: '/nowhere/socket' }
  const broken = new Supervisor(env, line => lines.push(line))
  await broken.ready('x')
  await broken.status('y')
  assert.is(lines.length, 1)
  assert.match(lines[0] ?? '', 'systemd-notify cannot report to systemd')
})

test('the watchdog gets a sign of life while the event loop runs, and none while it is blocked', async () => {
  if (!has('python3', 'systemd-notify')) return
  const receiver = await openReceiver()
  const env = { PATH, NOTIFY_SOCKET: receiver.socket, WATCHDOG_USEC: '100000' }
  const failed: string[] = []
  const supervisor = new Supervisor(env, line => failed.push(line))
  try {
    await supervisor.ready('Answers\nhere')
    assert.is((await receiver.until('READY=1'))[1], 'READY=1\nSTATUS=Answers here')
    await receiver.until('WATCHDOG=1')
    // Blocks the event loop for six intervals.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    const before = receiver.reports.length
    await receiver.until('WATCHDOG=1', before)
    await receiver.until('WATCHDOG=1', before + 1)
    await supervisor.stopping()
    await receiver.until('STOPPING=1')
    const beats = receiver.reports.filter(([, text]) => text === 'WATCHDOG=1').map(([ms]) => ms)
    const gaps = beats.slice(1).map((ms, at) => ms - beats[at]!)
    assert.ok(Math.max(...gaps) >= 240, gaps.join(' '))
    assert.equal(failed, [])
  } finally {
    await supervisor.stopping()
    receiver.close()
  }
  // A watchdog of another process is not ours.
  const other = await openReceiver()
  const of = { ...env, NOTIFY_SOCKET: other.socket, WATCHDOG_PID: '1' }
  const alone = new Supervisor(of, line => failed.push(line))
  await alone.ready('here')
  await alone.status('1')
  await alone.status('2')
  assert.equal(
    other.reports.slice(1).map(([, text]) => text),
    ['READY=1\nSTATUS=here', 'STATUS=1', 'STATUS=2'],
  )
  await alone.stopping()
  other.close()
})

test('the service reports its start; a reload names what is not in force; SIGTERM ends it while a turn runs', async () => {
  if (!has('python3', 'systemd-notify')) return
  const receiver = await openReceiver()
  const provider = await createProvider()
  const app = await spawnApp({ env: { NOTIFY_SOCKET: receiver.socket } })
  try {
    assert.is((await receiver.until('READY=1'))[1], `READY=1\nSTATUS=Answers at ${app.url}/`)
    const config = join(app.home, 'config.yaml')
    const pid = JSON.parse(readFileSync(join(app.state, 'instance.json'), 'utf8')).pid as number

    writeFileSync(config, 'model: [broken\n')
    process.kill(pid, 'SIGHUP')
    const [, refused] = await receiver.until(`STATUS=${config} cannot be read`)
    assert.match(refused, 'The last valid version stays in use')

    const { url } = provider
    const model = `model:\n  provider: custom\n  base_url: ${url}\n  default: test-model\n`
    writeFileSync(config, model)
    process.kill(pid, 'SIGHUP')
    await receiver.until('STATUS=Reloaded')
    await until(() => app.output().includes('SIGHUP: the configuration files are in force'))

    provider.push({ text: ['half', ' an answer'], end: 'body' })
    const { session_id } = (await app.post('/api/session/new')).body.session
    const started = await app.post('/api/chat/start', { session_id, message: 'go' })
    assert.is(started.status, 200, started.text)
    const stream = app.events(`/api/chat/stream?stream_id=${started.body.stream_id}`)
    await stream.until(({ event }) => event === 'token')
    assert.is(await app.stop(), 0, app.output())
    await receiver.until('STOPPING=1')
    const journal = readFileSync(join(app.state, 'sessions', `${session_id}.jsonl`), 'utf8')
    assert.match(journal, 'half')
    assert.match(journal, 'turn_ended')
  } finally {
    await app.close()
    await provider.close()
    receiver.close()
  }
})

const SYSTEM_UNITS = globSync('systemd/*.service').sort()

test('each unit of the system can be enabled, and its variables are in a file that only root can read', () => {
  assert.equal(
    SYSTEM_UNITS.map(path => basename(path)),
    ['agent-webui-forward.service', 'agent-webui-worker.service', 'agent-webui.service'],
  )
  for (const unit of SYSTEM_UNITS) {
    const text = readFileSync(unit, 'utf8')
    assert.match(text, /^\[Install\]\nWantedBy=multi-user\.target$/m, unit)
    const [, file] = /^EnvironmentFile=-?(\S+)$/m.exec(text) ?? []
    assert.match(text, new RegExp(`^#   \\(umask 077; .* > ${file}\\)`, 'm'), unit)
  }
})

test('what a new start cannot change is not started again, and freed memory is returned', () => {
  const units = [...SYSTEM_UNITS, 'systemd/user/agent-webui.service']
  const allocator = Object.entries(ALLOCATOR).map(pair => pair.join('='))
  for (const unit of units) {
    const lines = readFileSync(unit, 'utf8').split('\n')
    assert.ok(lines.includes('RestartPreventExitStatus=2 78'), unit)
    assert.ok(lines.includes(`Environment=${allocator.join(' ')}`), unit)
  }
})

test('systemd accepts the units, and those of the system are exposed little: more where commands run, whose sandbox needs namespaces', () => {
  if (!has('systemd-analyze')) return
  const dir = mkdtempSync(join(tmpdir(), 'units-'))
  try {
    for (const [file, scope] of [
      ...SYSTEM_UNITS.map(unit => [unit, '--system'] as const),
      ['systemd/user/agent-webui.service', '--user'] as const,
    ]) {
      // Verified where the program is not installed.
      const text = readFileSync(file, 'utf8').replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true')
      const path = join(dir, basename(file))
      writeFileSync(path, text)
      const env = { PATH, HOME: dir, XDG_RUNTIME_DIR: dir }
      const said = execFileSync('systemd-analyze', [scope, 'verify', path], {
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      assert.is(said, '', file)
    }
    for (const unit of SYSTEM_UNITS) {
      // A worker is root, with what it needs to start cells as other users.
      const threshold = unit.includes('forward') ? 20 : unit.includes('worker') ? 45 : 33
      const args = ['security', '--offline=true', `--threshold=${threshold}`, unit]
      assert.match(execFileSync('systemd-analyze', args, { encoding: 'utf8' }), 'exposure level')
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('the property list of launchd can be read, and has what the service needs', async () => {
  if (!has('python3')) return
  const read =
    'import json, plistlib; print(json.dumps(plistlib.load(open("launchd/agent-webui.plist", "rb"))))'
  const list = JSON.parse(execFileSync('python3', ['-c', read], { encoding: 'utf8' }))
  assert.equal(
    [list.Label, list.RunAtLoad, list.KeepAlive, list.Umask],
    ['agent-webui', true, true, 0o077],
  )
  // The command as launchd runs it, with a program that prints its arguments.
  const home = mkdtempSync(join(tmpdir(), 'launchd-'))
  try {
    execFileSync('mkdir', ['-p', join(home, 'Library/Logs'), join(home, 'bin')])
    writeFileSync(join(home, 'bin/agent-webui'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
    const [command, ...args] = list.ProgramArguments as [string, ...string[]]
    const started = launch(command, args, { home, env: { PATH: `${home}/bin:${PATH}` } })
    assert.is(await started.exited, 0)
    assert.is(readFileSync(join(home, 'Library/Logs/agent-webui.log'), 'utf8'), '--no-browser\n')
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})

test('npm start: the end of the parent that setup.mjs named ends the service; another name is not watched', async () => {
  assert.is(watchParent({}, assert.unreachable), undefined)
  assert.is(watchParent({ AGENT_WEBUI_PARENT: '1234567' }, assert.unreachable), undefined)
  const home = mkdtempSync(join(tmpdir(), 'parent-'))
  const script = 'AGENT_WEBUI_PARENT=$$ "$0" "$1" --no-browser; exit 0'
  const started = launch('/bin/sh', ['-c', script, process.execPath, SERVICE], {
    home,
    port: await freePort(),
  })
  await started.waitForOutput(' answers at ')
  started.child.kill('SIGKILL')
  // The output is closed when the service has ended, too.
  await started.exited
  assert.match(started.output(), 'SIGTERM: shutting down')
  rmSync(home, { recursive: true })
})

test.run()
