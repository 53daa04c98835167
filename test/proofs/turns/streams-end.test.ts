/** What was opened under a sign-in ends with it: streams of every kind, and downloads. */
import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RequestListener } from '../../../lib/http/http.ts'
import { createServer } from '../../../lib/http/server.ts'
import { endpointFor } from '../../../lib/http/endpoint.ts'
import { OWNER } from '../../../lib/schema/person.ts'
import { eventStream } from '../../../lib/http/reply.ts'
import { BaseCtx } from '../../../lib/http/http.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { createProvider } from '../../_provider.ts'
import { until } from '../../_wait.ts'

const test = suite('proof: streams end')

/** More than the buffers of a connection take, and not to be compressed. */
const LARGE = randomBytes(24 * 1024 * 1024)

type Open = {
  name: string
  /** A slow reader only learns of the end when it reads on. */
  ended: Promise<void>
  isOpen(): boolean
  /** The service has closed its end of the connection. */
  isCut(): boolean
  /** Undefined for readers that keep up; else reads on, and answers whether the whole has arrived. */
  readOn: (() => Promise<boolean>) | undefined
}

/** Connections of the services in this process, by the port of the client. */
const sockets = new Map<number, Socket>()
subscribe('net.server.socket', message => {
  const { socket } = message as { socket: Socket }
  if (socket.remotePort !== undefined) sockets.set(socket.remotePort, socket)
})

/** Resolves when the answer has begun. */
const open = (
  app: Pick<TestApp, 'url'>,
  path: string,
  cookie: string,
  slow = false,
): Promise<Open> =>
  new Promise((resolve, reject) => {
    const req = get(`${app.url}${path}`, { headers: { cookie }, agent: false }, res => {
      if (res.statusCode !== 200) return reject(new Error(`${path} answered ${res.statusCode}`))
      let isEnded = false
      const ended = new Promise<void>(over => {
        const end = () => {
          isEnded = true
          over()
        }
        res.on('error', () => {})
        res.on('close', end)
        res.on('end', end)
      })
      if (slow) res.pause()
      else res.resume()
      const readOn = slow
        ? async () => {
            res.resume()
            await ended
            return res.complete
          }
        : undefined
      const socket = sockets.get(res.socket.localPort!)!
      resolve({
        name: path,
        ended,
        isOpen: () => !isEnded,
        isCut: () => socket.destroyed,
        readOn,
      })
    })
    req.on('error', reject)
  })

const cookieOf = (answer: { headers: { 'set-cookie'?: string[] | undefined } }): string =>
  (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''

const PASSWORD = 'correct horse'
const signIn = async (app: TestApp, password = PASSWORD) =>
  cookieOf(await app.post('/api/auth/login', { password }))

/** A turn that runs until it is let go, and every stream there is. */
const openAll = async (app: TestApp, cookie: string): Promise<Open[]> => {
  const headers = { cookie }
  const { session_id, workspace } = (await app.post('/api/session/new', {}, { headers })).body
    .session
  const { stream_id } = (
    await app.post('/api/chat/start', { session_id, message: 'go' }, { headers })
  ).body
  writeFileSync(join(workspace, 'big.bin'), LARGE)
  const ask = `session_id=${session_id}`
  return Promise.all([
    open(app, '/api/events', cookie),
    open(app, `/api/events?watch=${session_id}`, cookie),
    open(app, `/api/chat/stream?stream_id=${stream_id}`, cookie),
    open(app, '/api/sessions/gateway/stream', cookie),
    open(app, `/api/approval/stream?${ask}`, cookie),
    open(app, `/api/clarify/stream?${ask}`, cookie),
    open(app, `/api/file/raw?${ask}&path=big.bin&download=1`, cookie, true),
    open(app, `/api/folder/download?${ask}&path=.`, cookie, true),
  ])
}

const assertEnd = async (opened: readonly Open[], after: () => Promise<unknown>) => {
  for (const { name, isOpen } of opened) assert.ok(isOpen(), `${name} ended early`)
  await after()
  for (const { name, ended, readOn, isCut } of opened) {
    await (readOn ? until(isCut, `the end of ${name}`) : ended)
    if (readOn) assert.is(await readOn(), false, `${name} was sent to its end`)
  }
}

const never = () => new Promise<void>(() => {})

const withTurns = (run: (app: TestApp) => Promise<void>) => async () => {
  const provider = await createProvider(
    ...Array.from({ length: 20 }, () => ({ text: ['a', 'b'], middle: never() })),
  )
  const app = await startApp({ allowErrors: true })
  try {
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
    )
    await app.post('/api/settings', { show_cli_sessions: true })
    await run(app)
  } finally {
    await app.close()
    await provider.close()
  }
}

test(
  'streams end when another device, signing out, or a changed or removed password ends the sign-in; others remain',
  withTurns(async app => {
    const mine = cookieOf(await app.post('/api/settings', { _set_password: PASSWORD }))
    const headers = { cookie: mine }
    const kept = await open(app, '/api/events', mine)
    const other = await signIn(app)
    await assertEnd(await openAll(app, other), () =>
      app.post('/api/auth/revoke', { others: true }, { headers }),
    )
    const left = await signIn(app)
    await assertEnd(await openAll(app, left), () =>
      app.post('/api/auth/logout', {}, { headers: { cookie: left } }),
    )
    const third = await signIn(app)
    await assertEnd(await openAll(app, third), () =>
      app.post('/api/settings', { _set_password: 'another one' }, { headers }),
    )
    assert.ok(kept.isOpen(), 'the stream of the device that did all this')
    const fourth = await signIn(app, 'another one')
    const streams = await openAll(app, fourth)
    // Another program turned the password off and on again: the sign-ins of before are of no use.
    await assertEnd(streams, async () => {
      await app.post('/api/settings', { _clear_password: true }, { headers })
      await app.post('/api/settings', { _set_password: PASSWORD })
    })
  }),
)

test(
  'streams opened without a password end when one is set',
  withTurns(async app => {
    await assertEnd(await openAll(app, ''), () =>
      app.post('/api/settings', { _set_password: PASSWORD }),
    )
  }),
)

test('a stream ends when its sign-in expires, without any request', async () => {
  const state = { admits: true }
  const endpoint = endpointFor<BaseCtx>()
  const { listen: app } = new RequestListener(
    {
      'GET /events': endpoint({
        summary: 'events',
        raw: 'text/event-stream',
        run: () =>
          eventStream(
            (async function* () {
              yield 'data: 1\n\n'
              await never()
            })(),
          ),
      }),
    },
    {
      clock: systemClock,
      authenticator: {
        isRequired: () => true,
        personOf: () => (state.admits ? OWNER : undefined),
        may: () => true,
      },
      makeCtx: (...base) => new BaseCtx(...base),
      config: { host: '127.0.0.1', allowedOrigins: [], trustedProxies: [] },
      log: { request() {}, error: (what, error) => assert.unreachable(`${what} ${error}`) },
      version: 'v1',
    },
  )
  const server = createServer(app, { version: 'v1' })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  try {
    await assertEnd([await open({ url }, '/events', '')], async () => {
      state.admits = false
    })
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test.run()
