/** A tiny application for the tests of startup and shutdown; its environment selects the behavior. */
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../../lib/base/clock.ts'
import { Auth, authenticatorOf } from '../../../lib/people/auth.ts'
import { People } from '../../../lib/people/people.ts'
import { endpointFor } from '../../../lib/http/endpoint.ts'
import { eventStream } from '../../../lib/http/reply.ts'
import { BaseCtx } from '../../../lib/http/http.ts'
import { start } from '../../../lib/start.ts'

const endpoint = endpointFor<BaseCtx>()
const stop = new AbortController()
const mode = process.env.MODE ?? ''
let state: 'ready' | 'stopping' = 'ready'

async function* events() {
  yield 'data: 1\n\n'
  await new Promise(resolve => stop.signal.addEventListener('abort', resolve))
  yield 'data: end\n\n'
}

await start({
  routes: {
    'GET /health': endpoint({ summary: 'health', public: true, run: () => ({ status: 'ok' }) }),
    'GET /ready': endpoint({ summary: 'ready', public: true, run: () => ({ state }) }),
    'GET /events': endpoint({
      summary: 'events',
      raw: 'text/event-stream',
      run: () => eventStream(events()),
    }),
    'GET /slow': endpoint({
      summary: 'slow',
      run: () =>
        new Promise<{ ok: boolean }>(resolve => {
          process.stdout.write('slow begins\n')
          // Well after the streams have been closed.
          stop.signal.addEventListener('abort', () => resolve(setTimeout(20, { ok: true })))
        }),
    }),
    'GET /never': endpoint({ summary: 'never', run: () => new Promise<never>(() => {}) }),
    'GET /crash': endpoint({
      summary: 'crash',
      run: () => {
        setImmediate(() => {
          throw new Error('outside every border')
        })
        return {}
      },
    }),
  },
  graceMs: 400,
  async openApp(config, log) {
    if (mode === 'bug') throw new TypeError('x is not a function')
    const auth = new Auth(config.stateDir, new People(config.stateDir, log.warn), {
      clock: systemClock,
      config,
      settings: { read: () => ({ kind: 'none' }), store() {} },
      log,
    })
    return {
      authenticator: authenticatorOf(auth),
      makeCtx: (...base) => new BaseCtx(...base),
      version: 'v9.9.9',
      async close() {
        state = 'stopping'
        log.info('closing')
        // Until a file appears, as running turns end.
        if (mode.startsWith('/')) while (!existsSync(mode)) await setTimeout(5)
        stop.abort()
      },
    }
  },
})
