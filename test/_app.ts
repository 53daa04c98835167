/** Starts the service on a free port with its own home: in this process, or as a child process that can be killed. */
import { mkdirSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { App } from '../lib/app/app.ts'
import type { NotificationTestOptions } from '../lib/notifications/event-reports.ts'
import { readConfig } from '../lib/config.ts'
import { RequestListener } from '../lib/http/http.ts'
import { createServer } from '../lib/http/server.ts'
import type { Clock } from '../lib/base/clock.ts'
import { createLog } from '../lib/operations/log.ts'
import { InstanceLock } from '../lib/store/instance-lock.ts'
import { readVersion } from '../lib/operations/version.ts'
import { routes, patternRoutes } from '../router.ts'
import { loadAssets } from './_assets.ts'
import { type Client, createClient } from './_http.ts'
import { freePort, type Program, startService } from '../build/start-program.ts'
import { tempDir } from './_temp-dir.ts'

export type AppOptions = {
  env?: Record<string, string>
  argv?: readonly string[]
  /** Sent with every request. */
  headers?: Record<string, string>
  /** The checkout that updates are applied to; never the sources under test. */
  checkout?: string
  /** The push service of the test is on this computer. */
  notificationTests?: NotificationTestOptions
  /** How long a stop waits for turns to reach a step boundary. Default: not at all. */
  parkMs?: number
  /** Of a child process, until it answers. */
  startTimeoutMs?: number
  /** Errors of the service fail the test on close; with this they are only collected. */
  allowErrors?: boolean
  /** Of a service in this process: turned by hand. */
  clock?: Clock
  /** Settings that loosen what the agent may do need a person; else config.yaml applies as the test writes it. */
  guardsConfig?: boolean
}

type Base = Omit<Client, 'closeClient'> &
  AsyncDisposable & {
    readonly url: string
    /** The user's home directory, which contains the agent's home. */
    userHome: string
    /** The base home: config.yaml, .env, profiles. */
    home: string
    /** The state directory: sessions, live, settings. */
    state: string
    close(): Promise<void>
  }

export type TestApp = Base & {
  /** Errors the service has logged so far. */
  errors: string[]
  /** Every line it has logged. */
  lines: string[]
  /** Times of requested restarts. */
  restarts: number[]
  /** Shuts down and starts again with the same files on another port. */
  restart(whileDown?: () => void): Promise<void>
}

/** Turns the client API on and makes a token: the headers of a program that has it. */
export const tokenHeaders = async (app: Pick<Base, 'post'>): Promise<Record<string, string>> => {
  await app.post('/api/tokens/enable', { enabled: true })
  const { body } = await app.post('/api/tokens/create', { name: 'test', approvals: 'deny' })
  return { Authorization: `Bearer ${body.secret}` }
}

/** Accepts what a test wrote into config.yaml of a running service, as a person in the page does. */
export const acceptSettings = async (
  app: Pick<Base, 'get' | 'post'>,
  headers: Record<string, string> = {},
): Promise<void> => {
  const { changed } = (await app.get('/api/config/problems', { headers })).body
  if (!changed) return
  const { change_id } = changed
  const input = { change_id, accept: true }
  const { status, body } = await app.post('/api/guards/changes', input, { headers })
  if (status !== 200) throw new Error(`not accepted: ${JSON.stringify(body)}`)
}

/** `post` of a service in another process: what a test wrote into config.yaml before a turn is a person's. */
export const confirming =
  (client: Pick<Base, 'get' | 'post'>): Base['post'] =>
  async (path, body, more) => {
    if (/^\/api\/(?:chat\/start|crons\/)/.test(path))
      await acceptSettings(client, more?.headers as Record<string, string> | undefined)
    return client.post(path, body, more)
  }

export type SpawnedApp = Base & {
  output(): string
  /** SIGKILL: no cleanup. */
  kill(): Promise<void>
  /** SIGTERM; its exit code. */
  stop(): Promise<number | null>
  start(): Promise<void>
}

/** Of services in this process. As many as in use take 0.2 s of CPU time for each sign-in. */
export const PASSWORD_ITERATIONS = 100

/** Read once: asking git takes as long as the rest of a start. */
const version = readVersion({ root: join(import.meta.dirname, '..'), path: process.env.PATH })

/** Created before the service starts, so that a test can add files. */
const createHome = () => {
  const userHome = tempDir('app')
  const home = join(userHome, '.agent')
  mkdirSync(home, { mode: 0o700 })
  return { userHome, home, state: join(home, 'webui') }
}

export const startApp = async (options: AppOptions = {}): Promise<TestApp> => {
  const places = createHome()
  const errors: string[] = []
  const lines: string[] = []
  const restarts: number[] = []

  const boot = async () => {
    const environment = {
      PATH: process.env.PATH,
      HOME: places.userHome,
      AGENT_WEBUI_PORT: '0',
      // As on a computer without bubblewrap, unless config.yaml turns the sandbox on.
      AGENT_WEBUI_SANDBOX: 'off',
      // Most tests are not about what is asked: commands run as in the command line.
      AGENT_WEBUI_OUTSIDE_SANDBOX: 'dangerous',
      ...options.env,
    }
    const config = readConfig(environment, ['--no-browser', ...(options.argv ?? [])])
    const log = createLog({
      ...config.log,
      out: text => lines.push(...text.trimEnd().split('\n')),
      err: text => {
        lines.push(text.trimEnd())
        if (/ error: /.test(text)) errors.push(text.trimEnd())
      },
    })
    mkdirSync(config.stateDir, { recursive: true, mode: 0o700 })
    const lock = new InstanceLock(config.stateDir, { pid: process.pid, address: '', started_at: 0 })
    const app = await App.open(config, log, {
      assets: loadAssets,
      clock: options.clock,
      checkout: options.checkout ?? null,
      version: await version,
      notificationTests: options.notificationTests,
      passwordIterations: PASSWORD_ITERATIONS,
      isConfigTrusted: options.guardsConfig !== true,
      parkMs: options.parkMs ?? 0,
      restart: async () => void restarts.push(Date.now()),
    })
    const { authenticator, makeCtx } = app
    const server = createServer(
      new RequestListener(routes, {
        patternRoutes,
        page: '/',
        clock: app.clock,
        authenticator,
        makeCtx,
        config,
        log,
        onRequest: app.onRequest,
        keys: app.requestKeys,
        version: app.version,
        checkOutput: true,
      }).listen,
      { version: app.version },
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    app.onListening()
    const down = async () => {
      const closed = new Promise(resolve => server.close(resolve))
      await app.close()
      server.closeAllConnections()
      await closed
      lock.release()
      log.close()
    }
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, down }
  }

  const running = { now: await boot() }
  const { closeClient, ...client } = createClient(() => running.now.url, options.headers)
  return {
    ...places,
    ...client,
    get url() {
      return running.now.url
    },
    errors,
    lines,
    restarts,
    async restart(whileDown: () => void = () => undefined) {
      await running.now.down()
      whileDown()
      running.now = await boot()
    },
    [Symbol.asyncDispose](this: Base) {
      return this.close()
    },
    async close() {
      closeClient()
      await running.now.down()
      rmSync(places.userHome, { recursive: true, force: true })
      if (errors.length > 0 && !options.allowErrors) {
        throw new Error(`The service logged errors:\n${errors.join('\n')}`)
      }
    },
  }
}

/** The service as a child process. It keeps its port across restarts, like a real one. */
export const spawnApp = async (options: AppOptions = {}): Promise<SpawnedApp> => {
  const places = createHome()
  const port = await freePort()
  const args = ['--no-browser', ...(options.argv ?? [])]
  const boot = (): Promise<Program> =>
    startService({
      ...{ home: places.userHome, port, args, env: options.env ?? {} },
      ...(options.startTimeoutMs !== undefined && { startTimeoutMs: options.startTimeoutMs }),
    })
  const running = { now: await boot() }
  const { closeClient, ...client } = createClient(() => running.now.url, options.headers)
  const end = async (signal: NodeJS.Signals) => running.now.stop(signal)
  const post = options.guardsConfig === true ? client.post : confirming(client)
  return {
    ...places,
    ...client,
    post,
    url: running.now.url,
    output: () => running.now.output(),
    async kill() {
      await end('SIGKILL')
    },
    stop: () => end('SIGTERM'),
    async start() {
      running.now = await boot()
    },
    [Symbol.asyncDispose](this: Base) {
      return this.close()
    },
    async close() {
      closeClient()
      await end('SIGKILL')
      rmSync(places.userHome, { recursive: true, force: true })
    },
  }
}
