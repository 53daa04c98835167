/** The process: reads its configuration, takes the lock, listens, and comes down in order. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { isatty } from 'node:tty'
import { commandOf } from './cli/arguments.ts'
import { type Config, processEnvironment, readConfig } from './config.ts'
import { messageOf } from './errors.ts'
import type { RouteTable } from './http/endpoint.ts'
import type { Authenticator } from './http/access.ts'
import { type BaseCtx, createRequestListener } from './http/request-listener.ts'
import { createServer, MIN_TLS } from './http/server.ts'
import { createLog, type Log } from './log.ts'
import { listen, prepareStateDir, readTls, urlOf } from './preflight.ts'
import { eraseSecrets } from './own-processes/erase-secrets.ts'
import { MARK_VARIABLE, markOwnProcesses } from './own-processes/own-processes.ts'
import { isSecretName } from './profiles/child-env.ts'
import { redact } from './redact/redact.ts'
import { acquireLock } from './store/instance-lock.ts'

/** What the process needs of the application it carries. */
export type Startable = {
  authenticator: Authenticator
  makeCtx: (base: BaseCtx) => unknown
  version: string
  /** Ends streams and turns, then closes what was opened. */
  close(): Promise<void>
}

export type StartOptions = {
  routes: RouteTable
  patternRoutes?: RouteTable
  createApp: (
    config: Config,
    log: Log,
    given: { addon: string | undefined; restart: () => Promise<never> },
  ) => Promise<Startable>
  environment?: Readonly<Record<string, string | undefined>>
  argv?: readonly string[]
  /** Path of SQLite's native addon, where it is not found by itself. */
  unpackAddon?: (config: Config) => string | undefined
  /** How long running answers may go on after SIGTERM. */
  graceMs?: number
  checkOutput?: boolean
}

export type Running = {
  /** `http://127.0.0.1:8787` */
  address: string
  /** Comes down and ends the process with this code. */
  stop(code?: number): Promise<never>
}

const GRACE_MS = 10_000
const IDLE_SWEEP_MS = 50

/** Mistakes of ours deserve a stack; everything else that stops a start is a sentence. */
const isBug = (error: unknown): boolean =>
  error instanceof TypeError ||
  error instanceof ReferenceError ||
  error instanceof RangeError ||
  error instanceof SyntaxError

/** Only for a person at a desktop; a service has no terminal. */
const browserCommand = ({ openBrowser, env }: Config): string => {
  if (!openBrowser || !process.stdout.isTTY) return ''
  if (process.platform === 'darwin') return 'open'
  if (process.platform === 'win32') return 'explorer'
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : ''
}

type Opener = { pid: number | undefined; open(url: string): void }

/**
 * Started before the programs of the agent are marked, and waiting for the address: the browser may live on as a
 * program of this process, but it is the person's.
 */
const prepareBrowser = (config: Config): Opener | undefined => {
  const command = browserCommand(config)
  if (command === '') return undefined
  if (process.platform !== 'linux') {
    const open = (url: string) =>
      void spawn(command, [url], { detached: true, stdio: 'ignore' })
        // The address has been printed; a machine without a browser is no problem of ours.
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

/** Stops accepting, lets running answers end, closes the application, and after a while everything. */
const comeDown = async (
  server: Server,
  app: Startable,
  log: Log,
  graceMs: number,
): Promise<void> => {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  server.closeIdleConnections()
  // Connections become idle one by one as their answers end.
  const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  const late = new Promise<void>(resolve => setTimeout(resolve, graceMs * 2).unref())
  await Promise.race([app.close().catch(error => log.error('closing', error)), late])
  await Promise.race([closed, late])
  clearInterval(sweep)
  clearTimeout(cut)
}

/**
 * The same program from the files that lie there now, in the same process where the system allows it, so that whoever
 * started and watches us sees nothing of it.
 */
const replaceProcess = ({ env }: Config, log: Log): never => {
  const [program = process.execPath, ...rest] = process.argv
  const again = rest.includes('--no-browser') ? [] : ['--no-browser']
  const args = [...process.execArgv, ...rest, ...again]
  try {
    process.execve?.(process.execPath, [program, ...args], env)
  } catch (error) {
    log.warn('the process cannot be replaced; starting another one', { error: messageOf(error) })
  }
  spawn(process.execPath, args, { env, detached: true, stdio: 'inherit' }).unref()
  return process.exit(0)
}

/** SIGHUP from a supervisor: a renewed certificate. Configuration files need none, they are read when they change. */
const reload = (server: Server, config: Config, log: Log): void => {
  try {
    const tls = readTls(config)
    if (!tls) {
      log.info('SIGHUP: nothing to reload')
      return
    }
    const tlsServer = server as TlsServer
    tlsServer.setSecureContext({ ...tls, minVersion: MIN_TLS })
    log.info('SIGHUP: certificate reloaded')
  } catch (error) {
    log.error('SIGHUP: the certificate in use stays', messageOf(error))
  }
}

const run = async (
  config: Config,
  log: Log,
  options: StartOptions & { nonce: string },
): Promise<Running> => {
  const { routes, patternRoutes = {}, createApp, graceMs = GRACE_MS } = options
  const hasTerminal = isatty(0)
  // Until it listens: the default action would end the process without a word.
  const onEarly = () => log.info('SIGHUP: still starting')
  if (!hasTerminal) process.on('SIGHUP', onEarly)
  for (const warning of config.warnings) log.warn(warning)
  prepareStateDir(config)
  const tls = readTls(config)
  const addon = options.unpackAddon?.(config)
  const startedAt = Math.floor(Date.now() / 1000)
  const info = (port: number) => ({
    pid: process.pid,
    address: urlOf(config, port),
    started_at: startedAt,
  })
  const lock = acquireLock(config.stateDir, info(config.port), { addon })
  const browser = prepareBrowser(config)
  const ownPrograms = markOwnProcesses({
    nonce: options.nonce,
    warn: log.warn,
    isOutside: pid => pid === browser?.pid,
  })
  const app = await createApp(config, log, {
    addon,
    restart: () => stop(0, () => replaceProcess(config, log)),
  })
  const { authenticator, makeCtx, version } = app
  const listener = createRequestListener(routes, {
    patternRoutes,
    authenticator,
    makeCtx,
    config,
    log,
    version,
    isOwnChild: ownPrograms.ownsPeerOf,
    checkOutput: options.checkOutput ?? false,
  })
  const server = createServer(listener, { version, ...(tls ? { tls } : {}) })
  const { port } = await listen(server, config).catch(async error => {
    await app.close()
    throw error
  })
  server.on('error', error => log.error('server', error))

  const address = urlOf(config, port)
  let stopping: Promise<never> | undefined
  const stop = (code = 0, leave = () => process.exit(code)): Promise<never> => {
    stopping ??= comeDown(server, app, log, graceMs).then(() => {
      lock.release()
      log.close()
      return leave()
    })
    return stopping
  }
  const onSignal = (signal: NodeJS.Signals) => {
    // Asked twice: whoever waits has had enough.
    if (stopping) process.exit(1)
    log.info(`${signal}: shutting down`)
    void stop()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.off('SIGHUP', onEarly)
  process.on('SIGHUP', () => {
    // Started by hand: the terminal has been closed.
    if (hasTerminal) onSignal('SIGHUP')
    else reload(server, config, log)
  })
  process.on('uncaughtException', error => {
    // What it has left half done nobody knows: come down in order and let the supervisor start anew.
    log.error('uncaught', error)
    void stop(1)
  })
  // Last: whoever reads that it answers may end it at once.
  lock.announce(info(port))
  log.info(`agent-webui ${version} answers at ${address}/`)
  // Prints the setup token where no password protects what other machines can reach.
  authenticator.isRequired()
  // Whoever started us reads on for this line.
  log.flush()
  browser?.open(`${address}/`)
  return { address, stop }
}

/** Resolves when it listens. A start that cannot succeed is one sentence on stderr and exit code 1; a verb never returns. */
export const start = async (options: StartOptions): Promise<Running> => {
  const { argv = process.argv.slice(2) } = options
  const live = options.environment === undefined ? processEnvironment() : undefined
  const nonce = randomBytes(8).toString('hex')
  const environment = { ...(options.environment ?? live), [MARK_VARIABLE]: nonce }
  // What the programs of the agent could read of this process; the values live on in `environment` alone.
  const readable = live ? eraseSecrets(live, isSecretName) : []
  const verb = commandOf(argv)
  if (verb) {
    const { runCommand: runVerb } = await import('./cli/run.ts')
    process.exit(await runVerb(verb, argv, { environment, unpackAddon: options.unpackAddon }))
  }
  const log = createLog({ redact })
  process.on('exit', log.flush)
  process.on('unhandledRejection', error => log.error('unhandled rejection', error))
  try {
    if (readable.length > 0)
      log.warn(`Commands of the agent can read ${readable.join(', ')} of this process`)
    return await run(readConfig(environment, argv), log, { ...options, nonce })
  } catch (error) {
    log.error('cannot start', isBug(error) ? error : messageOf(error))
    process.exit(1)
  }
}
