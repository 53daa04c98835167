/** The processes of a worker: one for each cell that it runs, with a directory, a home, and a port of its own. */
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { namesIn } from '../base/directories.ts'
import { clusterUrl, readClusterKey } from '../app/cell.ts'
import { ownCommand } from '../app/own-program.ts'
import { isCellName } from '../base/cluster-settings.ts'
import { type Exit, killGroup, signalProcess, spawnGroup, waitForClose } from '../base/process.ts'
import { readNote } from '../cluster/directory-note.ts'
import type { CellToStart } from '../cluster/placement.ts'
import { endDetached } from '../commands/own-processes/end-detached.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../operations/log.ts'
import type { CellLimits } from './cell-limits.ts'
import type { CellUsers } from './cell-users.ts'
import { runOf } from '../store/instance-lock.ts'

/** Parking takes seconds, and the database may be slow. */
const END_MS = 40_000
/** A cell that ended twice within this time is left to other workers, */
const STEADY_MS = 60_000
/** for so long. */
const AVOID_MS = 30_000
/** A cell that has given up its place in the database ends within a moment. */
const LEAVE_MS = 5_000
/** Above it there is none. */
const MAX_PORT = 65_535

/** In the directory of a cell. */
const FOLDERS = ['home', 'state', 'workspace']
/** Of the worker, not of a cell. */
const OWN =
  /^(?:AGENT_HOME|AGENT_CONFIG_PATH|AGENT_WEBUI_(?:BASE_PATH|CLUSTER_(?:WORKER|CAPACITY|LABELS|USERS|MEMORY|PROCESSES))|XDG_(?:CONFIG|DATA|STATE|CACHE)_HOME|NOTIFY_SOCKET|WATCHDOG_(?:PID|USEC)|LISTEN_(?:PID|FDS|FDNAMES)|INVOCATION_ID)$/
/** A cell takes requests only with the token that forwarders read in the database, from whatever address. */
const EVERYONE = '0.0.0.0/0,::/0'

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

/** Files with secrets belong to the user of the worker. The cell erases these from its environment when it starts. */
const secretsOf = ({ cluster }: Config): Record<string, string> => {
  if (cluster === null) return {}
  const key = readClusterKey(cluster)
  return {
    AGENT_WEBUI_CLUSTER_URL: clusterUrl(cluster),
    AGENT_WEBUI_CLUSTER_URL_FILE: '',
    ...(key !== null && { AGENT_WEBUI_CLUSTER_KEY: key, AGENT_WEBUI_CLUSTER_KEY_FILE: '' }),
  }
}

/** The directories of cells are in it. */
export const cellsDir = ({ stateDir }: Config): string => join(stateDir, 'cells')

/** The process of a cell. */
class CellProcess {
  readonly pid: number
  readonly port: number
  readonly exit: Promise<Exit>
  /** Started again as soon as it has ended. */
  isAgain = false
  isEnding = false
  readonly kill: () => void

  constructor(
    config: Config,
    {
      cell,
      worker,
      port,
      users,
      limits,
    }: {
      cell: string
      worker: string
      port: number
      users: CellUsers | null
      limits: CellLimits
    },
  ) {
    const dir = join(cellsDir(config), cell)
    const user = users?.prepare(cell, FOLDERS)
    for (const name of user ? [] : FOLDERS)
      mkdirSync(join(dir, name), { recursive: true, mode: 0o700 })
    const [command = '', ...args] = [...limits.prefix, ...ownCommand(['--no-browser'])]
    const child = spawnGroup(command, args, {
      cwd: dir,
      env: {
        ...environmentOf(config, { cell, dir, port, worker }),
        ...(users && secretsOf(config)),
      },
      user,
      // It ends when its standard input does. Its log is that of the worker.
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    child.stdin.on('error', () => undefined)
    this.pid = child.pid ?? 0
    this.port = port
    this.exit = waitForClose(child)
    this.kill = () => killGroup(child, 'SIGKILL')
    try {
      if (child.pid !== undefined) limits.hold(cell, child.pid)
    } catch (error) {
      this.kill()
      throw error
    }
  }

  killAfter(ms: number): void {
    const timer = setTimeout(this.kill, ms)
    void this.exit.catch(() => undefined).then(() => clearTimeout(timer))
  }
}

const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })

/** Cells that ended, and not in order. */
class Failures {
  readonly #clock: Clock
  readonly #at = new Map<string, { last: number; isRepeated: boolean }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether it was so a short time ago as well. */
  note(cell: string): boolean {
    const now = this.#clock.monotonic()
    for (const [each, { last }] of this.#at) if (now - last >= STEADY_MS) this.#at.delete(each)
    const isRepeated = this.#at.has(cell)
    this.#at.set(cell, { last: now, isRepeated })
    return isRepeated
  }

  /** Those that keep ending. */
  avoided(): string[] {
    return [...this.#at].flatMap(([cell, { last, isRepeated }]) =>
      isRepeated && this.#clock.monotonic() - last < AVOID_MS ? [cell] : [],
    )
  }
}

/** The cells of this worker. `onEnd` is called with the name of one that did not end in order. */
export class Cells {
  readonly #config: Config
  readonly #name: string
  readonly #log: Log
  readonly #onEnd: (failedCell: string | null) => void
  readonly capacity: number
  readonly #running = new Map<string, CellProcess>()
  readonly #failures: Failures
  readonly #dir: string
  readonly #users: CellUsers | null
  readonly #limits: CellLimits
  #isStopping = false
  readonly #reserved = new Set<number>()
  /** Of cells that ran here: their notes are read once. */
  readonly #ids = new Map<string, string>()

  constructor(
    config: Config,
    options: {
      clock: Clock
      /** Of the worker. */
      name: string
      log: Log
      limits: CellLimits
      /** Null: all cells are those of this process's user. */
      users: CellUsers | null
      onEnd: (failedCell: string | null) => void
    },
  ) {
    this.#config = config
    this.#name = options.name
    this.#log = options.log
    this.#limits = options.limits
    this.#onEnd = options.onEnd
    const { capacity = 0, users = null } = config.cluster?.worker ?? {}
    // Cells of one user could read each other's files.
    this.capacity = users === null ? 1 : capacity
    this.#users = options.users
    this.#failures = new Failures(options.clock)
    this.#dir = cellsDir(config)
  }

  /** Other programs of this machine, such as a forwarder, may listen at some of them. */
  async #freePort(): Promise<number> {
    if (this.#config.port === 0) return 0
    for (let port = this.#config.port; ; port += 1) {
      if (this.#reserved.has(port)) continue
      this.#reserved.add(port)
      if (port >= MAX_PORT || (await isFree(this.#config.host, port))) return port
      this.#reserved.delete(port)
    }
  }

  #failed(cell: string, why: string): void {
    const next = this.#failures.note(cell)
      ? 'This worker does not start it again for half a minute'
      : 'Starting it again'
    this.#log.warn(`The cell ${cell} ended: ${why}. ${next}`)
    this.#onEnd(cell)
  }

  async #follow(cell: string, one: CellProcess): Promise<void> {
    const exit = await one.exit.catch(messageOf)
    const isInOrder = typeof exit !== 'string' && exit.code === 0
    // Its commands may run on, and the next owner would run them again.
    if (!isInOrder) await endDetached(runOf(join(this.#dir, cell, 'state')))
    this.#limits.end(cell)
    this.#users?.end(cell)
    this.#running.delete(cell)
    this.#reserved.delete(one.port)
    if (one.isAgain && !this.#isStopping) await this.#start(cell)
    else if (isInOrder) this.#onEnd(null)
    // Its turns are not parked, as it had not begun to serve or took too long: another worker starts it at once.
    else if (this.#isStopping) this.#onEnd(cell)
    else if (typeof exit === 'string') this.#failed(cell, exit)
    else this.#failed(cell, exit.signal ?? `exit code ${exit.code}`)
  }

  async #start(cell: string): Promise<void> {
    const port = await this.#freePort()
    try {
      // It becomes the name of a directory.
      if (!isCellName(cell)) throw new Error('this is no name of a cell')
      if (this.#isStopping) return
      const one = new CellProcess(this.#config, {
        ...{ cell, port, worker: this.#name },
        ...{ users: this.#users, limits: this.#limits },
      })
      this.#running.set(cell, one)
      this.#log.info(`Starting the cell ${cell} (process ${one.pid})`)
      void this.#follow(cell, one)
    } catch (error) {
      this.#reserved.delete(port)
      this.#failed(cell, messageOf(error))
    }
  }

  /** In order, and by force when that takes too long. */
  #stop(one: CellProcess): void {
    if (one.isEnding) return
    one.isEnding = true
    signalProcess(one.pid, 'SIGTERM')
    one.killAfter(END_MS)
  }

  /** The cells that keep ending here. */
  avoided(): string[] {
    return this.#failures.avoided()
  }

  count(): number {
    return this.#running.size
  }

  names(): string[] {
    return [...this.#running.keys()]
  }

  async start({ cell, hasEnded }: CellToStart): Promise<void> {
    const earlier = this.#running.get(cell)
    if (!earlier) return this.#start(cell)
    // One that has not ended in order hangs.
    if (!hasEnded) return earlier.kill()
    earlier.isAgain = true
    earlier.killAfter(LEAVE_MS)
  }

  /** Its turns are parked, and this worker does not start it again: it was removed, or runs elsewhere. */
  remove(cell: string): void {
    const one = this.#running.get(cell)
    if (!one || one.isEnding) return
    this.#log.info(`The cell ${cell} leaves this worker; ending it`)
    this.#stop(one)
  }

  /** Deletes the directories of cells that were purged; `find` returns which of these ids are of such. */
  async deletePurged(find: (ids: readonly string[]) => Promise<readonly string[]>): Promise<void> {
    const dirs = new Map<string, string>()
    for (const cell of namesIn(this.#dir)) {
      const id = this.#running.has(cell) ? undefined : this.#idOf(cell)
      if (id !== undefined) dirs.set(id, cell)
    }
    for (const id of await find([...dirs.keys()])) {
      const cell = dirs.get(id) ?? ''
      await rm(join(this.#dir, cell), { recursive: true, force: true })
      this.#ids.delete(cell)
      this.#log.info(`The cell ${cell} was purged; its directory is deleted`)
    }
  }

  /** Of the cell in the database whose directory this is. */
  #idOf(cell: string): string | undefined {
    const cached = this.#ids.get(cell)
    if (cached !== undefined) return cached
    const id = readNote(join(this.#dir, cell, 'state'))?.id
    if (id !== undefined) this.#ids.set(cell, id)
    return id
  }

  /** Resolves when all have ended. */
  async close(): Promise<void> {
    this.#isStopping = true
    const all = [...this.#running.values()]
    for (const one of all) this.#stop(one)
    await Promise.allSettled(all.map(({ exit }) => exit))
  }
}
