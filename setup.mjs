/**
 * First step of every npm script, on any Node: installs what package-lock.json pins if it is missing, then runs a file on the
 * pinned Node. `--test-tools` also installs what only tests and checks need; `--build FILE` builds first unless FILE is current.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isCurrent } from './build/inputs.mjs'
import { ALLOCATOR, NODE_FLAGS } from './build/node-flags.mjs'

const root = dirname(fileURLToPath(import.meta.url))
const modules = join(root, 'node_modules')
const bin = join(modules, '.bin')
const MINIMUM_NODE = 24

const args = process.argv.slice(2)
const takeOption = name => {
  if (args[0] !== name) return false
  args.shift()
  return true
}
const wantsTestTools = takeOption('--test-tools')
const wantsBuild = takeOption('--build')

const fail = sentence => {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

/** The oldest that can install the one that is needed. */
const OLDEST_NODE = 18

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
  fail(
    `npm start needs Node.js ${OLDEST_NODE} or newer to install what it runs on; this is ${process.version}. Install it from https://nodejs.org and start again.`,
  )

// ── Packages ────────────────────────────────────────────────────────────────────────────────────────────────────────

const readLock = path =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { packages: {} }

const lock = readLock(join(root, 'package-lock.json'))
/** `[path, entry]`, without the root project. */
const locked = Object.entries(lock.packages).filter(([path]) => path !== '')
const installed = new Map(Object.entries(readLock(join(modules, '.package-lock.json')).packages))

const fits = ({ os, cpu }) =>
  (os === undefined || [os].flat().includes(process.platform)) &&
  (cpu === undefined || [cpu].flat().includes(process.arch))

/** npm has no package of the pinned Node for some platforms: macOS uses its own Node. */
const isNodeMissing = () =>
  !existsSync(join(bin, 'node')) &&
  locked.some(([path, entry]) => path.startsWith('node_modules/node-') && fits(entry))

/** A package of the same version can have been packed again, such as build/mermaid.tgz. */
const isSame = (found, wanted) =>
  found.version === wanted.version &&
  (!found.integrity || !wanted.integrity || found.integrity === wanted.integrity)

/** Compares contents, not times: a checkout touches files without changing them. */
const isInstalled = () =>
  !isNodeMissing() &&
  locked
    .filter(([, wanted]) => wantsTestTools || !wanted.dev)
    .every(([path, wanted]) => {
      const found = installed.get(path)
      return found ? isSame(found, wanted) : wanted.optional === true || wanted.devOptional === true
    })

/** Shows the label at once and the seconds at the end; in a terminal they are counted. */
const withProgress = async (label, work) => {
  const startedAt = performance.now()
  const seconds = digits => ((performance.now() - startedAt) / 1000).toFixed(digits)
  process.stderr.write(`${label}…`)
  const tick = () => process.stderr.write(`\r${label}… ${seconds(0)} s`)
  const timer = process.stderr.isTTY ? setInterval(tick, 1000) : undefined
  try {
    return await work()
  } finally {
    clearInterval(timer)
    process.stderr.write(`${timer ? `\r${label}…` : ''} ${seconds(1)} s\n`)
  }
}

/** `{ code, output }`; the code is null when it cannot be run. */
const runNpm = words =>
  new Promise(resolve => {
    const npm = spawn('npm', words, {
      cwd: root,
      // Without our own bin directory: the install replaces the Node in it.
      env: {
        ...process.env,
        PATH: (process.env.PATH ?? '')
          .split(delimiter)
          .filter(directory => directory !== bin)
          .join(delimiter),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    let output = ''
    const add = chunk => {
      output += chunk
    }
    npm.stdout.on('data', add)
    npm.stderr.on('data', add)
    npm.on('error', error => resolve({ code: null, output: `${error.message}\n` }))
    npm.on('close', code => resolve({ code, output }))
  })

const install = async withTestTools => {
  const words = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  // Only test tools have scripts that are needed.
  if (!withTestTools) words.push('--omit=dev', '--ignore-scripts')
  const { code, output } = await withProgress('Installing packages', () => runNpm(words))
  if (code !== 0) {
    process.stderr.write(output)
    fail(
      'The packages could not be installed. The lines above say why; the next start tries again.',
    )
  }
  // Headers for compilers, 67 MB: nothing here is compiled.
  const node = join(modules, `node-${process.platform}-${process.arch}`)
  rmSync(join(node, 'include'), { recursive: true, force: true })
}

// ── Running ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The pinned Node, else the one that runs this. */
const findNode = () => {
  if (existsSync(join(bin, 'node'))) return realpathSync(join(bin, 'node'))
  if (Number.parseInt(process.versions.node, 10) >= MINIMUM_NODE) return process.execPath
  return fail(
    `agent-webui needs Node.js ${MINIMUM_NODE} or newer; this is ${process.version}, and npm has none for ${process.platform}-${process.arch}. Install it from https://nodejs.org and start again.`,
  )
}

/** Runs one file; our signals are its signals, and its end is ours. */
const run = (node, words, env = process.env) =>
  new Promise(resolve => {
    const child = spawn(node, words, { cwd: root, stdio: 'inherit', env })
    // A terminal sends Ctrl-C to the whole group: forwarded, it would arrive twice and cut the shutdown short.
    const forward = signal => {
      if (!(signal === 'SIGINT' && process.stdin.isTTY)) child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, forward)
    // npm signals its shell, which exits without forwarding the signal: this process is then orphaned.
    const parent = process.ppid
    const watch = setInterval(() => process.ppid === parent || child.kill('SIGTERM'), 500)
    watch.unref()
    child.on('exit', (code, signal) => {
      clearInterval(watch)
      for (const name of signals) process.off(name, forward)
      resolve(code ?? 128 + constants.signals[signal])
    })
  })

/** As `run`, but in this process, because another one would take 40 MB as long as the service runs. */
const become = (node, words, env) => {
  process.chdir(root)
  // The parent is for lib/app/parent.ts.
  process.execve(node, [node, ...words], { ...env, AGENT_WEBUI_PARENT: String(process.ppid) })
}

// A developer's tree keeps its test tools.
const withTestTools = wantsTestTools || [...installed.values()].some(({ dev }) => dev)
if (!isInstalled()) await install(withTestTools)
const node = findNode()
const file = join(root, args[0] ?? '')
if (wantsBuild && !(await isCurrent(root, file))) {
  const build = ['build.mjs', '--quiet', '--fast']
  const code = await withProgress('Building', () => run(node, build))
  if (code !== 0) process.exit(code)
}
const words = wantsBuild
  ? [...NODE_FLAGS, join(root, 'build', 'run-built.cjs'), file, ...args.slice(1)]
  : args
const env = wantsBuild ? { ...ALLOCATOR, ...process.env } : process.env
// An older Node has no such call, and Windows none that works.
const canBecome = typeof process.execve === 'function' && process.platform !== 'win32'
if (wantsBuild && canBecome) become(node, words, env)
else process.exit(args.length === 0 ? 0 : await run(node, words, env))
