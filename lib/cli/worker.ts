/** `agent-webui worker`: starts cells that requests wait for or that have something to do, each as a process with a directory of its own. */
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { clusterAddress, clusterUrl } from '../app/cell.ts'
import { ownCommand } from '../app/own-program.ts'
import { createSupervisor } from '../app/supervisor.ts'
import { isLabel } from '../base/cluster-settings.ts'
import { type Exit, killGroup, signalProcess, spawnGroup, waitForClose } from '../base/process.ts'
import { connect, type Database } from '../cluster/database.ts'
import { isMigrated, migrate } from '../cluster/migrations.ts'
import { createWorkerRecord, type WorkerRecord, type WorkerState } from '../cluster/placement.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../errors.ts'
import { createLog, type Log } from '../log.ts'
import { prepareStateDir, urlOf } from '../preflight.ts'
import { redact, redactValue } from '../redact/redact.ts'
import { acquireLock } from '../store/instance-lock.ts'
import type { Interrupts } from './run.ts'

/** Requests wake it as well. */
const POLL_MS = 1_000
/** Parking takes seconds, and the database may be slow. */
const END_MS = 40_000
/** A cell that ended twice within this time is not started again at once. */
const STEADY_MS = 60_000
/** An earlier worker of this name, whose connection the database has not noticed the end of. */
const NAME_TRIES = 15

/** Of the worker, not of a cell. */
const OWN =
  /^(?:AGENT_HOME|AGENT_CONFIG_PATH|AGENT_WEBUI_(?:BASE_PATH|CLUSTER_(?:WORKER|CAPACITY|LABELS))|NOTIFY_SOCKET|WATCHDOG_(?:PID|USEC)|LISTEN_(?:PID|FDS|FDNAMES)|INVOCATION_ID)$/
/** A cell takes requests only with the token that forwarders read in the database, from whatever address. */
const EVERYONE = '0.0.0.0/0,::/0'

const nameOf = ({ cluster }: Config): string => {
  const name = cluster?.worker.name ?? hostname()
  if (!isLabel(name))
    throw new Error(`The host name ${name} is no name of a worker; set AGENT_WEBUI_CLUSTER_WORKER.`)
  return name
}

/** Files that may be given relative to the home or the directory of the worker. */
const pathsOf = ({ cluster, tlsCert, tlsKey, oidc, agentDir }: Config): [string, string][] =>
  Object.entries({
    CLUSTER_URL_FILE: cluster?.urlFile,
    CLUSTER_KEY_FILE: cluster?.keyFile,
    TLS_CERT: tlsCert,
    TLS_KEY: tlsKey,
    OIDC_CLIENT_SECRET_FILE: oidc?.clientSecretFile,
    AGENT_DIR: agentDir,
  }).flatMap(([name, path]) => (path ? [[`AGENT_WEBUI_${name}`, path]] : []))

/** A cell has a home of its own, also for programs of the agent. */
const environmentOf = (
  config: Config,
  { cell, dir, port, worker }: { cell: string; dir: string; port: number; worker: string },
): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(config.env).filter(([name]) => !OWN.test(name))),
  ...Object.fromEntries(pathsOf(config)),
  HOME: dir,
  AGENT_BASE_HOME: join(dir, 'home'),
  AGENT_WEBUI_STATE_DIR: join(dir, 'state'),
  AGENT_WEBUI_DEFAULT_WORKSPACE: join(dir, 'workspace'),
  AGENT_WEBUI_PORT: String(port),
  AGENT_WEBUI_TRUSTED_PROXIES: EVERYONE,
  AGENT_WEBUI_CLUSTER_CELL: cell,
  AGENT_WEBUI_CLUSTER_RUN_BY: worker,
})

type Running = { pid: number; port: number; ended: Promise<Exit>; kill(): void }

const startCell = (config: Config, cell: string, worker: string, port: number): Running => {
  const dir = join(config.stateDir, 'cells', cell)
  for (const name of ['home', 'state', 'workspace'])
    mkdirSync(join(dir, name), { recursive: true, mode: 0o700 })
  const [command, ...args] = ownCommand(['--no-browser'])
  const child = spawnGroup(command, args, {
    cwd: dir,
    env: environmentOf(config, { cell, dir, port, worker }),
    // It ends when its standard input does. Its log is that of the worker.
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.on('error', () => undefined)
  return {
    pid: child.pid ?? 0,
    port,
    ended: waitForClose(child),
    kill: () => killGroup(child, 'SIGKILL'),
  }
}

/** The cells of this worker. `onFailed` is called for one that did not end in order. */
const createCells = (
  config: Config,
  { name, log, onEnd }: { name: string; log: Log; onEnd: (failed: FailedCell | null) => void },
) => {
  const capacity = config.cluster?.worker.capacity ?? 0
  const running = new Map<string, Running>()
  const failedAt = new Map<string, number>()
  let isStopping = false

  const freePort = (): number => {
    if (config.port === 0) return 0
    const taken = new Set([...running.values()].map(({ port }) => port))
    for (let port = config.port; ; port += 1) if (!taken.has(port)) return port
  }
  const failed = (cell: string, why: string): void => {
    const now = performance.now()
    const isRepeated = now - (failedAt.get(cell) ?? Number.NEGATIVE_INFINITY) < STEADY_MS
    failedAt.set(cell, now)
    log.warn(
      `The cell ${cell} ended: ${why}. ${isRepeated ? 'It is not started again for half a minute' : 'Starting it again'}`,
    )
    onEnd({ cell, isRepeated })
  }
  const follow = async (cell: string, { ended }: Running): Promise<void> => {
    try {
      const { code, signal } = await ended
      running.delete(cell)
      if (code === 0 || isStopping) onEnd(null)
      else failed(cell, signal ?? `exit code ${code}`)
    } catch (error) {
      running.delete(cell)
      failed(cell, messageOf(error))
    }
  }
  return {
    capacity,
    count: () => running.size,
    start(cell: string): void {
      // The database takes it for one that has ended: it hangs.
      running.get(cell)?.kill()
      if (running.has(cell)) return
      try {
        const one = startCell(config, cell, name, freePort())
        running.set(cell, one)
        log.info(`Starting the cell ${cell} (process ${one.pid})`)
        void follow(cell, one)
      } catch (error) {
        failed(cell, messageOf(error))
      }
    },
    /** Resolves when all have ended. */
    async close(): Promise<void> {
      isStopping = true
      const all = [...running.values()]
      for (const { pid } of all) signalProcess(pid, 'SIGTERM')
      const late = setTimeout(() => {
        for (const { kill } of all) kill()
      }, END_MS)
      await Promise.allSettled(all.map(({ ended }) => ended))
      clearTimeout(late)
    },
  }
}

type FailedCell = { cell: string; isRepeated: boolean }

const sleepOf = () => {
  let wake = () => {}
  let isAwake = false
  return {
    /** Also ends the next sleep, when none is under way. */
    wake(): void {
      isAwake = true
      wake()
    },
    async sleep(ms: number): Promise<void> {
      if (!isAwake)
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      isAwake = false
    },
  }
}

/** Waiting does not help. */
class NameTaken extends Error {}

/** The connection on which the worker has its name. */
const createLink = (url: string, name: string, onAsked: () => void) => {
  let now: { db: Database; record: WorkerRecord } | null = null
  let tries = 0
  const connected = async (): Promise<{ db: Database; record: WorkerRecord; hasName: boolean }> => {
    const db = await connect(url, onAsked)
    try {
      if (!(await isMigrated(db))) await migrate(db)
      const record = createWorkerRecord(db)
      return { db, record, hasName: await record.begin(name) }
    } catch (error) {
      db.end()
      throw error
    }
  }
  return {
    /** Null while an earlier process has the name. */
    async open(): Promise<WorkerRecord | null> {
      if (now && !now.db.ended.aborted) return now.record
      const { db, record, hasName } = await connected()
      if (hasName) {
        tries = 0
        now = { db, record }
        return record
      }
      db.end()
      tries += 1
      if (tries < NAME_TRIES) return null
      throw new NameTaken(
        `Another worker is named ${name}; set AGENT_WEBUI_CLUSTER_WORKER to a name of its own.`,
      )
    },
    async end(): Promise<void> {
      await now?.record.end(name)
    },
    close(): void {
      now?.db.end()
      now = null
    },
  }
}

export const work = async (
  config: Config,
  {
    version,
    addon,
    onInterrupt,
    log = createLog({ ...config.log, redact, redactValue }),
  }: { version: string; addon: string | undefined; onInterrupt: Interrupts; log?: Log },
): Promise<number> => {
  const { cluster } = config
  if (cluster === null)
    throw new Error('worker needs AGENT_WEBUI_CLUSTER_URL: the database that names the cells.')
  const name = nameOf(config)
  prepareStateDir(config)
  const address = clusterAddress(config, urlOf(config, config.port))
  const startedAt = Math.floor(Date.now() / 1000)
  const lock = acquireLock(
    config.stateDir,
    { pid: process.pid, address, started_at: startedAt },
    { addon },
  )
  const supervisor = createSupervisor(config, log.warn)
  const nap = sleepOf()
  const failures: FailedCell[] = []
  const cells = createCells(config, {
    name,
    log,
    onEnd(failed) {
      if (failed) failures.push(failed)
      nap.wake()
    },
  })
  const state = (): WorkerState => {
    const { capacity, labels } = cluster.worker
    return { name, address, capacity, used: cells.count(), labels }
  }
  const link = createLink(clusterUrl(cluster), name, nap.wake)
  let isStopping = false
  let isAway = false
  const remove = onInterrupt(() => {
    isStopping = true
    nap.wake()
  })

  const round = async (): Promise<void> => {
    const record = await link.open()
    if (!record) return
    for (const { cell, isRepeated } of failures.splice(0)) await record.failed(cell, isRepeated)
    await record.beat(state())
    while (cells.count() < cells.capacity && !isStopping) {
      const cell = await record.take(state())
      if (cell === null) break
      cells.start(cell)
      await record.beat(state())
    }
    if (isAway) log.info('The database of the cluster answers again')
    isAway = false
  }

  log.info(`agent-webui ${version} works as ${name}, with capacity for ${cells.capacity} cells`)
  log.flush()
  void supervisor.ready(`Works as ${name}`)
  let code = 0
  while (!isStopping) {
    try {
      await round()
    } catch (error) {
      if (error instanceof NameTaken) {
        log.error('cannot work', messageOf(error))
        code = 1
        break
      }
      if (!isAway) log.warn(`The database of the cluster does not answer: ${messageOf(error)}`)
      isAway = true
      link.close()
    }
    if (!isStopping) await nap.sleep(POLL_MS)
  }
  remove()
  log.info('Shutting down')
  void supervisor.stopping()
  // First, so that other workers take what the cells leave.
  await link.end().catch(() => undefined)
  await cells.close()
  link.close()
  lock.release()
  log.close()
  return code
}
