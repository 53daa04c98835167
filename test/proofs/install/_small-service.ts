/** A service of a few lines that updates itself with the code of the real one. Its version and its defect are in its text. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../lib/base/clock.ts'
import { startDetached } from '../../../lib/base/process.ts'
import { watchUpdate } from '../../../lib/cli/watch-update.ts'
import { createTerminal } from '../../../lib/cli/terminal.ts'
import { readConfig } from '../../../lib/config.ts'
import { createUpdateRunner } from '../../../lib/updates/apply.ts'

/** Replaced in the text of the built file. */
const BUILT = 'VERSION BEHAVIOR'
const [version = '', behavior = ''] = BUILT.split(' ')

const [, file = '', command = '', record = ''] = process.argv
const env = Object.fromEntries(
  Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined),
)
const port = Number(env.SMALL_PORT)
const stateDir = env.SMALL_STATE ?? ''
const startedAt = Date.now()

const serve = () => {
  if (behavior === 'crashes') throw new Error('it crashes')
  const restart = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    process.execve?.(process.execPath, [process.execPath, file, 'serve'], env)
  }
  const updates = createUpdateRunner({
    checkouts: () => ({ webui: null, agent: null }),
    env,
    version,
    releases: env.SMALL_RELEASES ?? null,
    snapshot: async () => {
      if (env.SMALL_FULL) throw new Error('The disk is full')
    },
    program: {
      file,
      stateDir,
      kind: 'node',
      commandFor: (path, args) => [process.execPath, path, ...args],
      facts: () => ({
        command: process.execPath,
        args: [file, 'serve'],
        cwd: stateDir,
        address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        pid: process.pid,
        supervised: false,
      }),
      watch: (previous, path) =>
        startDetached(process.execPath, [previous, 'watch-update', path], {
          cwd: stateDir,
          env,
          ready: true,
        }),
    },
    restart,
    whenIdle: async () => undefined,
    onApplied: () => undefined,
    log: line => process.stderr.write(`${line}\n`),
    clock: {
      ...systemClock,
      timer: (_, run) => systemClock.timer(Number(env.SMALL_WAIT ?? 0), run),
    },
  })
  const server = createServer(async ({ url }, response) => {
    if (url === '/update') return response.end(JSON.stringify(await updates.apply('webui')))
    response.statusCode = behavior === 'answers-500' ? 500 : 200
    response.end(
      JSON.stringify({
        uptime_seconds: (Date.now() - startedAt) / 1_000,
        version,
        pid: process.pid,
      }),
    )
  })
  server.listen(port, '127.0.0.1')
}

if (behavior === 'does-not-start') throw new Error('it does not start')
if (command === '--version') process.stdout.write(`small ${version}\n`)
else if (command === 'doctor') process.stdout.write('{}\n')
else if (command === 'watch-update')
  process.exitCode = await watchUpdate(record, {
    config: { ...readConfig({ HOME: stateDir, PATH: env.PATH }, []), env },
    terminal: createTerminal(),
  })
else serve()
