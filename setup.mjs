/** First step of every npm script, on any Node: installs what package-lock.json pins if it is missing, then runs files on the pinned Node. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(fileURLToPath(import.meta.url))
const bin = join(root, 'node_modules', '.bin')

const readPackages = path => JSON.parse(readFileSync(path, 'utf8')).packages

/** Compares contents, not times: a checkout touches files without changing them. */
const isInstalled = () => {
  const installedPath = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(installedPath) || !existsSync(join(bin, 'node'))) return false
  const installed = readPackages(installedPath)
  return Object.entries(readPackages(join(root, 'package-lock.json'))).every(
    ([path, wanted]) =>
      path === '' ||
      (installed[path] ? installed[path].version === wanted.version : wanted.optional === true),
  )
}

/** Without our own bin directory: the install replaces the Node in it. */
const installEnv = () => ({
  ...process.env,
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter(directory => directory !== bin)
    .join(delimiter),
})

const install = () => {
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    env: installEnv(),
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (done.status === 0) return
  process.stderr.write(`${done.stdout ?? ''}${done.stderr ?? ''}`)
  process.stderr.write(
    `The packages could not be installed${done.error ? `: ${done.error.message}` : ''}\n`,
  )
  process.exit(1)
}

/** Runs one file on the pinned Node; our signals are its signals, and its end is ours. */
const run = args =>
  new Promise(resolve => {
    const child = spawn(realpathSync(join(bin, 'node')), args, { cwd: root, stdio: 'inherit' })
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

if (!isInstalled()) install()

// `--build FILE …` builds before it runs FILE: what `npm start` does.
const args = process.argv.slice(2)
if (args[0] === '--build') {
  args.shift()
  const code = await run(['build.mjs', '--quiet'])
  if (code !== 0) process.exit(code)
}
process.exit(args.length === 0 ? 0 : await run(args))
