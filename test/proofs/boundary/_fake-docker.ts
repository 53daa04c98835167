/**
 * A program like `docker`, for tests: knows the commands and flags that are used, refuses others, keeps its containers in
 * the directory FAKE_DOCKER, and executes programs on this machine without passing signals on, as the real one does.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Container = { name: string; running: boolean; labels: Record<string, string> }
export type FakeState = {
  /** The error of every command that needs the service. */
  down?: string
  images: string[]
  /** What `pull` answers: an error, or blank. Absent: it takes forever. */
  pull?: string
  /** Errors of `run`, each for the first run whose arguments contain the text. */
  refuses: { text: string; error: string }[]
  rootless?: boolean
  containers: Container[]
}

const dir = process.env.FAKE_DOCKER ?? ''
const file = join(dir, 'state.json')
const load = (): FakeState => JSON.parse(readFileSync(file, 'utf8'))
const save = (state: FakeState) => writeFileSync(file, JSON.stringify(state))
/** One process at a time changes the state. */
const lock = () => {
  for (;;)
    try {
      mkdirSync(join(dir, 'lock'))
      process.once('exit', unlock)
      return
    } catch {
      // Another process has it.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
    }
}
const unlock = () => rmSync(join(dir, 'lock'), { recursive: true, force: true })
const [, , ...argv] = process.argv
appendFileSync(join(dir, 'calls.jsonl'), `${JSON.stringify(argv)}\n`)

const fail = (text: string, code = 1): never => {
  process.stderr.write(`${text}\n`)
  process.exit(code)
}
const say = (text: string) => process.stdout.write(`${text}\n`)

/** The flags of a command with their values, and the words after them. */
const parse = (args: string[], flags: Record<string, boolean>) => {
  const given: [string, string][] = []
  let at = 0
  for (; at < args.length && args[at]?.startsWith('-'); at++) {
    const [, flag = '', joined] = /^(-[^=]*)(?:=(.*))?$/s.exec(args[at] ?? '') ?? []
    const takes = flags[flag]
    if (takes === undefined) fail(`unknown flag: ${flag}\nSee 'docker run --help'.`, 125)
    given.push([flag, takes ? (joined ?? args[++at] ?? '') : ''])
  }
  const all = (flag: string) => given.filter(([name]) => name === flag).map(([, value]) => value)
  return { all, one: (flag: string) => all(flag)[0], words: args.slice(at) }
}

const noContainer = (name: string) => fail(`Error response from daemon: No such container: ${name}`)

const commands: Record<string, (args: string[]) => void> = {
  version: args => {
    parse(args, { '--format': true })
    say('28.0.0')
  },
  info: args => {
    parse(args, { '--format': true })
    say(load().rootless ? '["name=rootless"]' : '["name=seccomp,profile=builtin"]')
  },
  image: ([verb, ...args]) => {
    const { words } = parse(args, { '--format': true })
    if (verb !== 'inspect' || words.length !== 1) fail('unknown command', 125)
    if (!load().images.includes(words[0] ?? ''))
      fail(`Error response from daemon: No such image: ${words[0]}`)
    say('sha256:0')
  },
  pull: args => {
    const { words } = parse(args, { '--quiet': false })
    const state = load()
    if (state.pull === undefined) return void setInterval(() => undefined, 1_000)
    if (state.pull !== '') fail(state.pull)
    save({ ...state, images: [...state.images, words[0] ?? ''] })
  },
  run: args => {
    const { all, one, words } = parse(args, {
      '--detach': false,
      ...Object.fromEntries(
        '--pull --name --label --cap-drop --cap-add --security-opt --user --cpus --memory --pids-limit --storage-opt --shm-size --network --tmpfs --mount --volume --entrypoint --userns --add-host'
          .split(' ')
          .map(name => [name, true]),
      ),
    })
    const state = load()
    const refusal = state.refuses.find(({ text }) => args.join(' ').includes(text))
    const name = one('--name') ?? ''
    const labels = Object.fromEntries(
      all('--label').map(label => label.split(/=(.*)/s).slice(0, 2)),
    )
    if (state.containers.some(each => each.name === name))
      fail(
        `docker: Error response from daemon: Conflict. The container name "/${name}" is already in use by container "0".`,
        125,
      )
    if (!state.images.includes(words[0] ?? ''))
      fail(`docker: Error response from daemon: No such image: ${words[0]}`, 125)
    for (const mount of all('--mount')) {
      const [, source = ''] = /source=([^,"]*)/.exec(mount) ?? []
      if (!existsSync(source))
        fail(`docker: Error response from daemon: bind source path does not exist: ${source}`, 125)
    }
    const container = { name, running: refusal === undefined, labels }
    save({ ...state, containers: [...state.containers, container] })
    if (refusal) fail(`docker: Error response from daemon: ${refusal.error}`, 125)
    say(`id-${name}`)
  },
  container: ([verb, ...args]) => {
    const { one, words } = parse(args, { '--format': true })
    if (verb !== 'inspect') fail('unknown command', 125)
    const found = load().containers.find(({ name }) =>
      [name, `id-${name}`].includes(words[0] ?? ''),
    )
    if (!found) return noContainer(words[0] ?? '')
    say(
      (one('--format') ?? '')
        .replace('{{.State.Running}}', String(found.running))
        .replaceAll(
          /\{\{index \.Config\.Labels "([^"]+)"\}\}/g,
          (_, key) => found.labels[key] ?? '',
        ),
    )
  },
  ps: args => {
    const { one } = parse(args, { '--all': false, '--quiet': false, '--filter': true })
    const [, key = '', value] = /^label=([^=]+)=(.*)$/.exec(one('--filter') ?? '') ?? []
    for (const { name, labels } of load().containers) if (labels[key] === value) say(`id-${name}`)
  },
  rm: args => {
    const { words } = parse(args, { '--force': false })
    const state = load()
    const kept = state.containers.filter(
      ({ name }) => ![name, `id-${name}`].includes(words[0] ?? ''),
    )
    save({ ...state, containers: kept })
  },
  start: ([name = '']) => setRunning(name, true),
  stop: args => setRunning(parse(args, { '--time': true }).words[0] ?? '', false),
  kill: ([name = '']) => setRunning(name, false),
  exec: args => {
    const { all, words } = parse(args, { '-i': false, '-e': true })
    const [name = '', program = '', ...rest] = words
    const found = load().containers.find(each => each.name === name)
    if (!found) return noContainer(name)
    if (!found.running) return fail(`Error response from daemon: container ${name} is not running`)
    const added = Object.fromEntries(all('-e').map(each => each.split(/=(.*)/s).slice(0, 2)))
    const child = spawn(program, rest, {
      // The image's own.
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/root', OF_IMAGE: 'yes', ...added },
      cwd: '/',
      stdio: [args.includes('-i') ? 'pipe' : 'ignore', 'inherit', 'inherit'],
      detached: true,
    })
    if (child.stdin) process.stdin.pipe(child.stdin)
    child.stdin?.on('error', () => undefined)
    child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGKILL' ? 137 : 143)))
    child.on('error', () => fail(`OCI runtime exec failed: "${program}": not found in $PATH`, 127))
  },
}

const setRunning = (name: string, running: boolean): void => {
  const state = load()
  const found = state.containers.find(each => [each.name, `id-${each.name}`].includes(name))
  if (!found) throw noContainer(name)
  found.running = running
  save(state)
}

const [command = '', ...args] = argv
// These do not end by themselves.
if (command !== 'exec' && command !== 'pull') lock()
const { down } = load()
if (command === '--version') say('Docker version 28.0.0, build fake')
else if (down !== undefined) fail(down)
else if (commands[command]) commands[command](args)
else fail(`docker: unknown command: docker ${command}`, 1)
