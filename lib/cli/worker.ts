/** `agent-webui worker`: starts cells that requests wait for or that have something to do, each as a process with a directory of its own. */
import { hostname } from 'node:os'
import { type Clock, systemClock, toSeconds } from '../base/clock.ts'
import { Wake } from '../base/wake.ts'
import { clusterAddress, clusterUrl } from '../app/cell.ts'
import { openLocalHealth } from '../app/local-health.ts'
import { Supervisor } from '../app/supervisor.ts'
import { isLabel } from '../base/cluster-settings.ts'
import { connect, type Database, databaseProblem, throwFinal } from '../cluster/database.ts'
import { isMigrated, migrate } from '../cluster/migrations.ts'
import { WorkerRecord, type WorkerState } from '../cluster/placement.ts'
import type { Config } from '../config.ts'
import { EXIT_SETUP, messageOf, SetupError } from '../errors.ts'
import { thisMachine } from '../operations/checks/machine.ts'
import { createLog, type Log } from '../operations/log.ts'
import { prepareStateDir, urlOf } from '../operations/preflight.ts'
import { InstanceLock } from '../store/instance-lock.ts'
import { CellLimits } from './cell-limits.ts'
import { CellUsers } from './cell-users.ts'
import type { Interrupts } from './run.ts'
import { Cells, cellsDir } from './worker-cells.ts'

/** Requests wake it as well. */
const POLL_MS = 1_000
/** Two clocks may differ by so much: tasks and times of messages are off by as much. */
const MAX_SKEW_MS = 30_000
/** Less than a cell needs to start, in bytes. */
const FULL_BYTES = 32 << 20
/** How often the free space is looked at. */
const DISK_ROUNDS = 5
/** How often the clock is compared. */
const CLOCK_ROUNDS = 60
/** How often directories of purged cells are looked for. */
const PURGE_ROUNDS = 60
/** An earlier worker of this name, whose connection the database has not noticed the end of. */
const NAME_TRIES = 15

const nameOf = ({ cluster }: Config): string => {
  const name = cluster?.worker.name ?? hostname()
  if (!isLabel(name))
    throw new Error(`The host name ${name} is no name of a worker; set AGENT_WEBUI_CLUSTER_WORKER.`)
  return name
}

class NameTaken extends Error {}

/** The connection on which the worker has its name. */
class Link {
  readonly #url: string
  readonly #name: string
  readonly #clock: Clock
  readonly #onAsked: () => void
  #now: { db: Database; record: WorkerRecord } | null = null
  #tries = 0
  /** It had its name once. */
  hasBegun = false

  constructor(url: string, name: string, clock: Clock, onAsked: () => void) {
    this.#url = url
    this.#name = name
    this.#clock = clock
    this.#onAsked = onAsked
  }

  async #connected(): Promise<{ db: Database; record: WorkerRecord; hasName: boolean }> {
    const db = await connect(this.#url, this.#onAsked)
    try {
      // One that has cells keeps them, also where the tables were made newer since.
      if (!this.hasBegun || !(await isMigrated(db))) await migrate(db)
      const record = new WorkerRecord(db, { clock: this.#clock })
      return { db, record, hasName: await record.begin(this.#name) }
    } catch (error) {
      db.end()
      throw error
    }
  }

  /** Null while an earlier process has the name. */
  async open(): Promise<WorkerRecord | null> {
    if (this.#now && !this.#now.db.ended.aborted) return this.#now.record
    const { db, record, hasName } = await this.#connected().catch((error: unknown) => {
      // One that has cells waits: its operator may be at it.
      if (!this.hasBegun) throwFinal(error)
      throw error
    })
    if (hasName) {
      this.#tries = 0
      this.hasBegun = true
      this.#now = { db, record }
      return record
    }
    db.end()
    this.#tries += 1
    if (this.#tries < NAME_TRIES) return null
    throw new NameTaken(
      `Another worker is named ${this.#name}; set AGENT_WEBUI_CLUSTER_WORKER to a name of its own.`,
    )
  }

  async end(): Promise<void> {
    await this.#now?.record.end(this.#name)
  }

  /** Not while the database is away. */
  async report(work: (record: WorkerRecord) => Promise<void>): Promise<void> {
    if (this.#now) await work(this.#now.record)
  }

  close(): void {
    this.#now?.db.end()
    this.#now = null
  }
}

export const work = async (
  config: Config,
  {
    version,
    addon,
    onInterrupt,
    clock = systemClock,
    log = createLog(config.log),
  }: {
    clock?: Clock
    version: string
    addon: string | undefined
    onInterrupt: Interrupts
    log?: Log
  },
): Promise<number> => {
  const { cluster } = config
  if (cluster === null)
    throw new Error('worker needs AGENT_WEBUI_CLUSTER_URL: the database that names the cells.')
  const name = nameOf(config)
  prepareStateDir(config)
  const address = clusterAddress(config, urlOf(config, config.port))
  const health = await openLocalHealth('worker')
  const startedAt = Math.floor(toSeconds(clock.now()))
  const lock = new InstanceLock(
    config.stateDir,
    { pid: process.pid, address: health.address, started_at: startedAt },
    { addon },
  )
  const supervisor = new Supervisor(config.env, log.warn)
  const nap = new Wake(clock)
  const failures: string[] = []
  const onEnd = (failedCell: string | null): void => {
    if (failedCell !== null) failures.push(failedCell)
    nap.wake()
  }
  const limits = new CellLimits(cluster, config.env.PATH ?? '')
  const range = cluster.worker.users
  const users =
    range === null || range === 'shared' ? null : await CellUsers.open(cellsDir(config), range)
  const cells = new Cells(config, { clock, name, log, limits, users, onEnd })
  const state = (): WorkerState => {
    const { labels } = cluster.worker
    const { capacity } = cells
    const used = isOutdated || isFull ? capacity : cells.count()
    return { name, address, capacity, used, labels, avoids: cells.avoided() }
  }
  const link = new Link(clusterUrl(cluster), name, clock, () => nap.wake())
  let isStopping = false
  let isAway = false
  let rounds = 0
  /** The tables are those of a newer version. */
  let isOutdated = false
  /** Nothing can be written here: it takes no cells, and those that it has go where there is room. */
  let isFull = false
  const checkDisk = (): void => {
    const wasFull = isFull
    const free = thisMachine.freeBytes(config.stateDir)
    isFull = free !== null && free < FULL_BYTES
    if (isFull && !wasFull)
      log.warn(`The disk of ${config.stateDir} is full; the cells of this worker go to others`)
    else if (wasFull && !isFull) log.info('There is room on the disk again')
  }
  let isOff = false
  const checkClock = (skewMs: number): void => {
    const wasOff = isOff
    isOff = Math.abs(skewMs) > MAX_SKEW_MS
    if (isOff && !wasOff)
      log.warn(
        `The clock of this machine is ${Math.abs(Math.round(skewMs / 1_000))} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} that of the database: scheduled tasks and times of messages are off by as much`,
      )
    else if (wasOff && !isOff) log.info('The clock of this machine is that of the database again')
  }
  const remove = onInterrupt(() => {
    isStopping = true
    nap.wake()
  })

  const reportFailures = async (record: WorkerRecord): Promise<void> => {
    for (let cell = failures[0]; cell !== undefined; cell = failures[0]) {
      await record.failed(name, cell)
      failures.shift()
    }
  }
  const sayBegun = (): void => {
    log.info(`agent-webui ${version} works as ${name}, with capacity for ${cells.capacity} cells`)
    if (cluster.worker.users === null)
      log.info(
        'It runs one cell at a time, because cells of one user could read each other. For more, set AGENT_WEBUI_CLUSTER_USERS to users of their own, or to shared',
      )
    log.info(limits.sentence)
    log.flush()
  }
  const round = async (): Promise<void> => {
    const hasBegun = link.hasBegun
    const record = await link.open()
    if (!record) return
    if (!hasBegun) sayBegun()
    // First, so that others know what is left to them.
    const knowsTables = await record.beat(state())
    if (!knowsTables && !isOutdated)
      log.error(
        'cannot start cells',
        'The tables of the cluster are those of a newer agent-webui by now. This worker keeps its cells and starts no more cells: install the newer version, then restart it.',
      )
    isOutdated = !knowsTables
    await reportFailures(record)
    if (rounds % DISK_ROUNDS === 0) checkDisk()
    if (rounds % CLOCK_ROUNDS === 0) checkClock(await record.skew())
    if (isFull) await record.leave(name, cells.names())
    const leaving = await record.leaving(name, cells.names())
    for (const cell of leaving) cells.remove(cell)
    if (leaving.length > 0 || rounds % PURGE_ROUNDS === 0)
      await cells.deletePurged(ids => record.purged(ids))
    rounds += 1
    while (!isStopping && !isOutdated && !isFull) {
      const next = await record.take(state(), cells.names())
      if (next === null) break
      // A name that was purged and given again: the new cell begins with nothing.
      await cells.deletePurged(ids => record.purged(ids))
      await cells.start(next)
      await record.beat(state())
    }
    if (isAway) log.info('The database of the cluster answers again')
    isAway = false
  }

  void supervisor.ready(`Works as ${name}`)
  let code = 0
  while (!isStopping) {
    try {
      await round()
    } catch (error) {
      // Waiting does not help.
      if (error instanceof NameTaken || error instanceof SetupError) {
        log.error('cannot work', messageOf(error))
        code = error instanceof SetupError ? EXIT_SETUP : 1
        break
      }
      if (!isAway) log.warn(databaseProblem(error))
      isAway = true
      link.close()
    }
    if (!isStopping) await nap.sleep(POLL_MS)
  }
  remove()
  log.info('Shutting down')
  void supervisor.stopping()
  health.stopping()
  // First, so that other workers take what the cells leave.
  await link.end().catch(() => undefined)
  await cells.close()
  await link.report(reportFailures).catch(() => undefined)
  link.close()
  health.close()
  lock.release()
  log.close()
  return code
}
