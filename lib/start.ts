/** Process lifecycle: reads the configuration, takes the instance lock, listens, and shuts down in order. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { isatty } from 'node:tty'
import { withoutBasePath } from './base/base-path.ts'
import { type Clock, systemClock, toSeconds } from './base/clock.ts'
import { clusterAddress, forOwnCell, ownCell, responseHold } from './app/cell.ts'
import { setV8Flags } from './app/v8-flags.ts'
import { openLocalHealth } from './app/local-health.ts'
import { ownArguments } from './app/own-program.ts'
import { Supervisor, watchParent } from './app/supervisor.ts'
import { type Activity, WorkerCell } from './app/worker-cell.ts'
import { collectWhenIdle } from './base/collect-when-idle.ts'
import { readLogSettings } from './base/read-log-settings.ts'
import { commandOf, serverArguments } from './cli/cli.ts'
import type { Owned } from './cluster/cluster.ts'
import { type Config, processEnvironment, readConfig, UsageError } from './config.ts'
import { EXIT_SETUP, messageOf, SetupError } from './errors.ts'
import { sentenceOf } from './store/file-error.ts'
import { Drain } from './http/drain.ts'
import type { RouteTable } from './http/endpoint.ts'
import type { Authenticator } from './http/access.ts'
import { type CtxParameters, RequestListener, type ListenerOptions } from './http/http.ts'
import { firstSegments } from './http/routes.ts'
import { createServer, MIN_TLS } from './http/server.ts'
import { FORMER } from './operations/checks/former-state.ts'
import { thisMachine } from './operations/checks/machine.ts'
import {
  answersOf,
  START_QUESTIONS,
  startFailure,
  toSentence,
} from './operations/checks/start-checks.ts'
import { createLog, type Log } from './operations/log.ts'
import { isExecutable } from './store/packed.ts'
import { listen, prepareStateDir, readTls, urlOf } from './operations/preflight.ts'
import { endDetached } from './commands/own-processes/end-detached.ts'
import { eraseSecrets } from './commands/own-processes/erase-secrets.ts'
import { MARK_VARIABLE, markOwnProcesses } from './commands/own-processes/own-processes.ts'
import { isSecretName } from './profiles/child-env.ts'
import { redact } from './base/redact/redact.ts'
import { InstanceLock } from './store/instance-lock.ts'

/** What the process needs of the app. */
export type Startable = {
  authenticator: Authenticator
  makeCtx: (...base: CtxParameters) => unknown
  version: string
  /** A sentence for each configuration file that cannot be read. */
  configProblems?: () => string[]
  activity?: Activity
  /** What was asked for with an `Idempotency-Key`. */
  requestKeys?: ListenerOptions<unknown>['keys']
  /** Counts finished requests. */
  onRequest?: ListenerOptions<unknown>['onRequest']
  /** The service listens: it is ready from now on. */
  onListening?(): void
  /** Ends streams and turns, then closes everything. */
  close(): Promise<void>
}

export type StartOptions = {
  routes: RouteTable
  patternRoutes?: RouteTable
  openApp: (
    config: Config,
    log: Log,
    services: {
      /** Calls `work` before the first request, or after one that only asks whether the service runs. */
      whenDue: (work: () => void) => void
      clock: Clock
      addon: string | undefined
      cell: Owned
      restart: () => Promise<never>
    },
  ) => Promise<Startable>
  environment?: Readonly<Record<string, string | undefined>>
  argv?: readonly string[]
  /** Path of SQLite's native addon, in the single-file build. */
  unpackAddon?: (config: Config) => string | undefined
  /** How long open responses may continue after SIGTERM. */
  graceMs?: number
  checkOutput?: boolean
}

export type Running = {
  /** `http://127.0.0.1:8787` */
  address: string
  /** Shuts down and exits with this code. */
  stop(code?: number): Promise<never>
}

const GRACE_MS = 10_000
const IDLE_SWEEP_MS = 50
/** Without a request after a start, what is due is done then. */
const WAIT_FOR_REQUEST_MS = 500

/** Bugs are logged with a stack; other startup errors as one sentence. */
const isBug = (error: unknown): boolean =>
  error instanceof TypeError ||
  error instanceof ReferenceError ||
  error instanceof RangeError ||
  error instanceof SyntaxError

/** The command that opens a browser; empty for a service, which has no terminal. */
const browserCommand = ({ openBrowser, env }: Config): string => {
  if (!openBrowser || !process.stdout.isTTY) return ''
  if (process.platform === 'darwin') return 'open'
  if (process.platform === 'win32') return 'explorer'
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : ''
}

type Opener = { pid: number | undefined; open(url: string): void }

/**
 * Starts the opener before child processes of the agent are marked; it waits for the address. The browser may stay a
 * child of this process, but it belongs to the user, not to the agent.
 */
const prepareBrowser = (config: Config): Opener | undefined => {
  const command = browserCommand(config)
  if (command === '') return undefined
  if (process.platform !== 'linux') {
    const open = (url: string) =>
      void spawn(command, [url], { detached: true, stdio: 'ignore' })
        // The address is printed anyway; a missing browser is not an error.
        .on('error', () => {})
        .unref()
    return { pid: undefined, open }
  }
  const child = spawn('/bin/sh', ['-c', 'read -r url && exec "$0" "$url"', command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // As above.
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  return { pid: child.pid, open: url => void child.stdin.end(`${url}\n`) }
}

const PROBE = /^\/(?:health|ready)(?:\?|$)/

const probesOf =
  ({ basePath }: Config): IsProbe =>
  ({ url = '' }) =>
    PROBE.test(withoutBasePath(url, basePath))

/**
 * What is due at a start, such as turns to continue, begins before the first request is handled. Only a probe, which asks whether the
 * service runs, is answered first.
 */
class DueWork {
  #work: (() => void)[] | null = []

  readonly add = (work: () => void): void => {
    if (this.#work) this.#work.push(work)
    else work()
  }

  begin(server: Server, isProbe: IsProbe): void {
    const onRequest = (req: IncomingMessage, res: ServerResponse) => {
      if (isProbe(req)) res.once('close', run)
      else run()
    }
    const run = () => {
      clearTimeout(timer)
      server.off('request', onRequest)
      const work = this.#work ?? []
      this.#work = null
      for (const each of work) each()
    }
    const timer = setTimeout(run, WAIT_FOR_REQUEST_MS)
    server.prependListener('request', onRequest)
  }
}

type IsProbe = (req: IncomingMessage) => boolean

/**
 * Closes the app, lets open responses finish, and cuts them after the grace period. Until then only probes are answered, so
 * that a load balancer reads *stopping*. Without probes nothing listens from now on: a forwarder sends a request to the next
 * owner only where the connection is refused.
 */
const shutDown = async (
  server: Server,
  drain: Drain,
  {
    app,
    log,
    graceMs,
    isProbe,
  }: { app: Startable; log: Log; graceMs: number; isProbe: IsProbe | null },
): Promise<void> => {
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= new Promise(resolve => server.close(() => resolve()))
    server.closeIdleConnections()
    return closed
  }
  if (isProbe) drain.only(isProbe)
  else void close()
  // Connections become idle one by one as their responses end.
  const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  const deadline = new Promise<void>(resolve => setTimeout(resolve, graceMs * 2).unref())
  await Promise.race([app.close().catch(error => log.error('closing', error)), deadline])
  await Promise.race([drain.ended(), deadline])
  await Promise.race([close(), deadline])
  clearInterval(sweep)
  clearTimeout(cut)
}

/**
 * Restarts the program from the current files, in the same process where the system allows it, so that a supervisor
 * does not notice.
 */
const replaceProcess = ({ env }: Config, log: Log): never => {
  const [program = process.execPath, script] = process.argv
  // An executable has its own path in place of the script, and would get it as an argument.
  const rest = [...(isExecutable() || !script ? [] : [script]), ...ownArguments()]
  const again = rest.includes('--no-browser') ? [] : ['--no-browser']
  // An executable gives itself the options of its Node.
  const args = [...(isExecutable() ? [] : process.execArgv), ...rest, ...again]
  try {
    process.execve?.(process.execPath, [program, ...args], env)
  } catch (error) {
    log.warn('could not replace the process; starting another one', { error: messageOf(error) })
  }
  spawn(process.execPath, args, { env, detached: true, stdio: 'inherit' }).unref()
  return process.exit(0)
}

/** Loads the certificate again; what went wrong, or null. */
const reloadTls = (server: Server, config: Config, log: Log): string | null => {
  try {
    const tls = readTls(config)
    if (!tls) return null
    const tlsServer = server as TlsServer
    tlsServer.setSecureContext({ ...tls, minVersion: MIN_TLS })
    log.info('SIGHUP: certificate reloaded')
    return null
  } catch (error) {
    log.error('SIGHUP: keeping the current certificate', messageOf(error))
    return `Keeping the current certificate: ${messageOf(error)}`
  }
}

/**
 * SIGHUP from a supervisor: reloads the certificate, and says which configuration files are not in force. They are reread
 * when they change, and the last valid version of one that cannot be read stays in use.
 */
const reload = (
  server: Server,
  config: Config,
  { app, log, supervisor }: { app: Startable; log: Log; supervisor: Supervisor },
): void => {
  const certificate = reloadTls(server, config, log)
  const files = app.configProblems?.() ?? []
  for (const sentence of files) log.error(`SIGHUP: ${sentence}`)
  if (files.length === 0) log.info('SIGHUP: the configuration files are in force')
  const problems = [...(certificate === null ? [] : [certificate]), ...files]
  void supervisor.status(problems.length === 0 ? 'Reloaded' : problems.join(' '))
}

/** Variables and arguments do not change between two starts of a supervisor. */
const configOf = (
  environment: Readonly<Record<string, string | undefined>>,
  argv: readonly string[],
): Config => {
  try {
    return readConfig(environment, serverArguments(argv))
  } catch (error) {
    throw error instanceof UsageError || isBug(error) ? error : new SetupError(messageOf(error))
  }
}

const run = async (
  config: Config,
  log: Log,
  options: StartOptions & { nonce: string },
): Promise<Running> => {
  const { routes, patternRoutes = {}, openApp, graceMs = GRACE_MS } = options
  const hasTerminal = isatty(0)
  // Before listening: the default action would end the process silently.
  const onEarly = () => log.info('SIGHUP: still starting')
  if (!hasTerminal) process.on('SIGHUP', onEarly)
  for (const warning of config.warnings) log.warn(warning)
  const browser = prepareBrowser(config)
  // Beside the checks and the lock. Awaited before `openApp`, which may start programs of the agent: turns that continue, due tasks.
  const marking = markOwnProcesses({
    nonce: options.nonce,
    warn: log.warn,
    isOutside: pid => pid === browser?.pid,
  })
  const ownNames = firstSegments(routes, patternRoutes)
  const checks = await answersOf(START_QUESTIONS, { config, machine: thisMachine, ownNames })
  const failure = startFailure(checks)
  if (failure) throw failure
  for (const check of checks) {
    if (check.level === 'warn') log.warn(toSentence(check))
    if (check.about === FORMER) log.info(`${FORMER}: ${check.said}`)
  }
  prepareStateDir(config)
  const tls = readTls(config)
  const addon = options.unpackAddon?.(config)
  const clock = systemClock
  const startedAt = Math.floor(toSeconds(clock.now()))
  const info = (port: number) => ({
    pid: process.pid,
    address: urlOf(config, port),
    started_at: startedAt,
    run: options.nonce,
  })
  const lock = new InstanceLock(config.stateDir, info(config.port), { addon })
  // The model is told that they were interrupted, and may run them again.
  const left = await endDetached(lock.killedRun)
  if (left > 0) log.warn(`Ended ${left} processes of commands whose service was killed`)
  const supervisor = new Supervisor(config.env, log.warn)
  const worker = WorkerCell.of(config, clock)
  // A cell of a worker waits for seconds only.
  const standby = config.cluster === null || worker ? null : await openLocalHealth('standby')
  if (standby) lock.announce({ ...info(config.port), address: standby.address })
  let hasWaited = false
  const cell = await ownCell(config, log, {
    clock,
    ...worker?.place,
    onWait() {
      if (hasWaited) return
      hasWaited = true
      log.info('Another process serves this cell; waiting for its end')
      void supervisor.ready('Standby: another process serves this cell')
    },
  })
  // The worker, or another one, starts the cell again.
  const again = () => (worker ? process.exit(0) : replaceProcess(config, log))
  const ownPrograms = await marking
  const withoutLock = (error: unknown): never => {
    // The file with the address of a service that never answered.
    lock.release()
    throw error
  }
  const due = new DueWork()
  const app = await openApp(config, log, {
    whenDue: due.add,
    clock,
    addon,
    cell,
    restart: () => stop(0, again),
  }).catch(withoutLock)
  const { authenticator, makeCtx, version } = app
  const { listen: listener } = new RequestListener(routes, {
    patternRoutes,
    page: '/',
    clock: systemClock,
    authenticator,
    makeCtx,
    config,
    log,
    onRequest: app.onRequest,
    keys: app.requestKeys,
    hold: responseHold(cell, clock),
    version,
    isOwnChild: ownPrograms.ownsPeerOf,
    checkOutput: options.checkOutput ?? false,
  })
  const guarded = worker?.guard.around(listener) ?? listener
  const drain = new Drain(forOwnCell(guarded, config))
  const server = createServer(drain.serve, { version, ...(tls ? { tls } : {}) })
  due.begin(server, probesOf(config))
  const { port } = await listen(server, config).catch(async error => {
    await app.close()
    return withoutLock(error)
  })
  server.on('error', error => log.error('server', error))

  const address = urlOf(config, port)
  let stopping: Promise<never> | undefined
  const stop = (code = 0, leave = () => process.exit(code)): Promise<never> => {
    if (stopping) return stopping
    // Before turns are parked.
    const wakeAt = (app.activity && worker?.wakeAt(app.activity)) ?? null
    const isProbe = config.cluster === null ? probesOf(config) : null
    stopping = shutDown(server, drain, { app, log, graceMs, isProbe }).then(async () => {
      await cell.release(graceMs, wakeAt)
      lock.release()
      log.close()
      return leave()
    })
    return stopping
  }
  const onSignal = (signal: NodeJS.Signals) => {
    // A second signal exits immediately.
    if (stopping) process.exit(1)
    log.info(`${signal}: shutting down`)
    void supervisor.stopping()
    void stop()
  }
  cell.lost.addEventListener('abort', () => {
    log.error('Another process serves this cell now; this one becomes its standby')
    server.closeAllConnections()
    void stop(0, again)
  })
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const watch = watchParent(config.env, () => {
    clearInterval(watch)
    onSignal('SIGTERM')
  })
  process.off('SIGHUP', onEarly)
  process.on('SIGHUP', () => {
    // Started from a terminal, which was closed.
    if (hasTerminal) onSignal('SIGHUP')
    else reload(server, config, { app, log, supervisor })
  })
  process.on('uncaughtException', error => {
    // The state is unknown: shut down in order and let the supervisor restart.
    log.error('uncaught', error)
    void stop(1)
  })
  // Last: a reader of this file may connect or stop the process at once.
  lock.announce(info(port))
  standby?.close()
  cell.announce(clusterAddress(config, address))
  app.onListening?.()
  collectWhenIdle()
  if (app.activity)
    worker?.begin(app.activity, why => {
      if (stopping) return
      log.info(`${why}; shutting down`)
      void stop()
    })
  log.own(`agent-webui ${version} answers at ${address}/`)
  // Prints the setup token when the service is exposed without a password.
  authenticator.isRequired()
  // The parent process waits for this line.
  log.flush()
  void supervisor.ready(`Answers at ${address}/`)
  browser?.open(`${address}/`)
  return { address, stop }
}

/** Resolves when it listens. A start that cannot succeed is one sentence on stderr and exit code 1, or 78 where a new start would end the same way; a verb never returns. */
export const start = async (options: StartOptions): Promise<Running> => {
  // Node opens its debugger on SIGUSR1, and whoever connects to it runs code in this process. Every program of this user can
  // send the signal, also one that the agent started. A listener replaces that action. `--disable-sigusr1`
  // (build/node-flags.mjs) covers the time before, where the program is started with options.
  process.on('SIGUSR1', () => undefined)
  setV8Flags()
  const { argv = process.argv.slice(2) } = options
  const live = options.environment === undefined ? processEnvironment() : undefined
  const nonce = randomBytes(8).toString('hex')
  const environment = { ...(options.environment ?? live), [MARK_VARIABLE]: nonce }
  // Removes secrets from the process environment, which child processes could read; the values remain in `environment`.
  const readable = live ? eraseSecrets(live, isSecretName) : []
  const verb = commandOf(argv)
  if (verb) {
    const { runCommand: runVerb } = await import('./cli/run.ts')
    const ownNames = firstSegments(options.routes, options.patternRoutes ?? {})
    const { unpackAddon } = options
    process.exit(await runVerb(verb, argv, { environment, unpackAddon, ownNames }))
  }
  const log = createLog(readLogSettings(environment))
  process.on('exit', log.flush)
  process.on('unhandledRejection', error => log.error('unhandled rejection', error))
  try {
    if (readable.length > 0)
      log.warn(`Commands of the agent can read ${readable.join(', ')} of this process`)
    return await run(configOf(environment, argv), log, { ...options, nonce })
  } catch (error) {
    // Whoever types it reads it, as with the other commands: no line of a log.
    if (error instanceof UsageError) {
      const { ProcessTerminal } = await import('./cli/terminal.ts')
      const terminal = new ProcessTerminal()
      terminal.note(redact(error.message))
      await terminal.drain()
      process.exit(2)
    }
    log.error('cannot start', isBug(error) ? error : sentenceOf(error))
    process.exit(error instanceof SetupError ? EXIT_SETUP : 1)
  }
}
