/** A machine of a cluster: a directory of its own, and what the service does with it. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { CellFileRules } from '../../../lib/cluster/cell-files.ts'
import { PostgresCluster } from '../../../lib/cluster/postgres.ts'
import type { Owned } from '../../../lib/cluster/cluster.ts'
import { readConfig } from '../../../lib/config.ts'
import { writeAtomic } from '../../../lib/store/atomic-write.ts'
import { Journal } from '../../../lib/store/journal.ts'

export type Machine = ReturnType<typeof createMachine>

const KEY = 'a key that is only used in this test 01'

export const createMachine = (
  url: string,
  { key = KEY as string | null, cell = 'default', hasWork = false } = {},
) => {
  const userHome = mkdtempSync(join(tmpdir(), 'machine-'))
  const home = join(userHome, '.agent')
  const state = join(home, 'webui')
  mkdirSync(state, { recursive: true, mode: 0o700 })
  // As a worker starts a cell: the rest of its directory is its work.
  const ofWorker = { AGENT_WEBUI_CLUSTER_URL: url, AGENT_WEBUI_CLUSTER_RUN_BY: 'worker' }
  const config = readConfig({ HOME: userHome, ...(hasWork && ofWorker) }, [])
  const warnings: string[] = []
  const log = { info: () => undefined, warn: (text: string) => void warnings.push(text) }
  const owned: Owned[] = []
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(home, path)), { recursive: true, mode: 0o700 })
    writeAtomic(join(home, path), text)
  }
  return {
    /** `HOME` of commands. */
    dir: userHome,
    home,
    state,
    warnings,
    async own(
      options: {
        url?: string
        signal?: AbortSignal
        onWait?: () => void
        clock?: Clock
        token?: string
      } = {},
    ) {
      const cluster = new PostgresCluster({
        clock: options.clock ?? systemClock,
        url: options.url ?? url,
        key,
        log,
      })
      const { signal, onWait, token } = options
      const one = await cluster.own(cell, {
        files: key === null ? null : new CellFileRules(config),
        stateDir: config.stateDir,
        ...(signal && { signal }),
        ...(onWait && { onWait }),
        token,
      })
      owned.push(one)
      return one
    },
    write,
    append(session: string, ...lines: string[]): void {
      const path = join(state, 'sessions', `${session}.jsonl`)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const journal = new Journal(path, { create: !existsSync(path) })
      journal.append(lines)
      journal.close()
    },
    read: (path: string): string => readFileSync(join(home, path), 'utf8'),
    has: (path: string): boolean => existsSync(join(home, path)),
    async close() {
      for (const one of owned) await one.release(0)
      rmSync(userHome, { recursive: true, force: true })
    },
  }
}
