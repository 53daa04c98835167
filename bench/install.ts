/** Each way to install: seconds from nothing to the first answer, and megabytes on disk. With --full, npm downloads every package. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { startProgram } from '../build/start-program.ts'
import type { Bench } from './_bench.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '..')
const START_MS = 600_000
const [FRESH_S, FRESH_MB, WARM_S] = [25, 400, 1]

const megabytes = (path: string): number => Math.round(statSync(path).size / 1e6)

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}

/** Disk usage, as du counts it: hard links once. */
const megabytesOf = (path: string): number =>
  Math.round(
    Number(spawnSync('du', ['-sk', path], { encoding: 'utf8' }).stdout.split('\t')[0]) * 1.024e-3,
  )

/** The Node and npm of this machine, not those of this checkout. */
const outsidePath = (): string =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter(directory => !directory.startsWith(root))
    .join(delimiter)

export const measureInstall = async ({ root: work, full, add, note }: Bench): Promise<void> => {
  const at = (...path: string[]) => join(work, 'install', ...path)
  mkdirSync(at('home'), { recursive: true })
  const cache = await run('npm', ['config', 'get', 'cache']).then(({ stdout }) => stdout.trim())
  const env = {
    PATH: outsidePath(),
    // Where the certificate of the registry is this machine's own.
    NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS ?? '',
    npm_config_update_notifier: 'false',
    npm_config_cache: full ? at('npm-cache') : cache,
  }
  /** Seconds from the command to the first answer. */
  const start = async (command: string, args: string[], cwd: string, home: string) => {
    const program = await startProgram(command, [...args, '--no-browser'], {
      cwd,
      env,
      home: at(home),
      ready: ' answers at ',
      startTimeoutMs: START_MS,
    })
    await program.stop()
    return program.startedMs / 1000
  }
  const report = (what: string, took: number, size: number | null) =>
    add({ what, measured: `${took.toFixed(2)} s${size === null ? '' : `, ${size} MB`}` })

  note(`npm start in a fresh clone, npm cache ${full ? 'empty' : 'as it is'}`)
  const clone = at('clone')
  await run('git', ['clone', '--quiet', root, clone])
  const npmStart = (home: string) => start('npm', ['start', '--'], clone, home)
  const freshS = await npmStart('fresh')
  // The history grows with the project, not with what is installed.
  const freshMb = megabytesOf(clone) - megabytesOf(join(clone, '.git'))
  add({
    what: 'npm start, fresh clone; size without its history',
    measured: `${freshS.toFixed(1)} s, ${freshMb} MB`,
    bar: `≤ ${FRESH_S} s, ≤ ${FRESH_MB} MB`,
    kept: freshS <= FRESH_S && freshMb <= FRESH_MB,
  })
  const warmS = await npmStart('fresh')
  add({
    what: 'npm start, nothing changed',
    measured: `${warmS.toFixed(2)} s`,
    bar: `≤ ${WARM_S} s`,
    kept: warmS <= WARM_S,
  })
  rmSync(clone, { recursive: true })

  note('the npm package')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  await run(process.execPath, ['build.mjs', '--package', '--quiet'], { cwd: root })
  const packed = join(root, 'dist', `agent-webui-${version}.tgz`)
  // The package needs Node 24, which may not be the one of this machine.
  env.PATH = [join(process.execPath, '..'), env.PATH].join(delimiter)
  const options = { cwd: at('home'), env: { ...env, HOME: at('home') } }
  const installS = await seconds(() =>
    run('npm', ['install', '--global', '--prefix', at('prefix'), packed], options),
  )
  const firstS = await start(at('prefix/bin/agent-webui'), [], at('home'), 'global')
  report(
    `npm i -g of the ${megabytes(packed)} MB package, first answer`,
    installS + firstS,
    megabytesOf(at('prefix')),
  )
  // Not a start: npx does not pass signals on.
  const npx = ['-y', '-p', packed, 'agent-webui', '--version']
  report('npx --version', await seconds(() => run('npx', npx, options)), null)

  note('the executable')
  await run(process.execPath, ['build.mjs', '--exe', '--quiet'], { cwd: root })
  const executable = join(root, 'dist', 'agent-webui')
  const executableS = await start(executable, [], at('home'), 'executable')
  report('the executable, first answer', executableS, megabytes(executable))
}
