/** `agent-webui watch-update record`: run by the old version during an update; see lib/updates/watch-switch.ts. */
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { signalProcess, startDetached } from '../base/process.ts'
import type { Config } from '../config.ts'
import { runningPid } from '../store/instance-lock.ts'
import { removeDatabase } from '../store/sqlite.ts'
import { fetchUptime } from '../preflight.ts'
import { gitIn } from '../updates/git.ts'
import { revertTo } from '../updates/pull.ts'
import { readRecord } from '../updates/switch-program.ts'
import { watchSwitch } from '../updates/watch-switch.ts'
import type { Terminal } from './terminal.ts'

const HEALTH_MS = 2_000
const CACHES = ['catalog.db', 'search.db', 'api.db', 'requests.db']

export const watchUpdate = async (
  path: string,
  { config, terminal }: { config: Config; terminal: Terminal },
): Promise<number> => {
  const record = readRecord(path)
  const ending = new AbortController()
  // A supervisor ends every process of the service together.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(name, () => ending.abort())
  // The service waits for it before it replaces anything, then closes the pipe.
  terminal.out('ready\n')
  await terminal.drain()
  const stays = await watchSwitch(record, {
    clock: systemClock,
    health: address => fetchUptime(address, HEALTH_MS),
    servicePid: () => runningPid(record.state_dir),
    isAlive: pid => signalProcess(pid, 0),
    kill: (pid, signal) => void signalProcess(pid, signal),
    start: ({ command, args, cwd }) =>
      void startDetached(command, args, { cwd, env: config.env }).catch(error =>
        terminal.note(`update: ${String(error)}`),
      ),
    revert: ({ dir, commit }) => revertTo(gitIn(dir, config.env), commit),
    removeCaches(stateDir) {
      for (const name of CACHES) removeDatabase(join(stateDir, 'cache', name))
    },
    log: terminal.note,
    signal: ending.signal,
  })
  return stays ? 0 : 1
}
