/** Event streams on real sockets: slow readers, readers that leave, generators that end or fail. */
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PushSource } from '../../../lib/base/push-source.ts'
import { eventStream, pushedEvents } from '../../../lib/http/reply.ts'
import { comment, frame } from '../../../lib/base/sse.ts'
import { endpoint, openServer, type TestServer } from './_server.ts'

const KB = Buffer.alloc(1024, 'x')
const state = { produced: 0, ended: 0, aborted: 0 }
let wake: () => void = () => {}
/** Resolves when a generator has been ended. */
let left: () => void = () => {}

async function* flood() {
  try {
    for (;;) {
      state.produced += 1
      yield KB
      if (state.produced % 64 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  } finally {
    state.ended += 1
    left()
  }
}

async function* waiting(signal: AbortSignal) {
  signal.addEventListener('abort', () => {
    state.aborted += 1
    left()
  })
  yield frame('ready', {})
  await new Promise<void>(resolve => {
    wake = resolve
  })
  yield frame('late', {})
}

async function* big() {
  yield Buffer.alloc(8 << 20, 'x')
}

const pushed = { written: 0, closed: () => {} }

/** Writes whenever it may. */
const pour: PushSource = sink => {
  const write = () => {
    while (sink.write(KB)) pushed.written += 1
  }
  write()
  return { resume: write, close: () => pushed.closed() }
}

const breaks: PushSource = sink => {
  sink.write(Buffer.from(frame('one', 1)))
  queueMicrotask(() => sink.fail(new Error('secret')))
  return { resume() {}, close() {} }
}

async function* failing() {
  yield frame('one', 1)
  throw new Error('secret')
}

const raw = { summary: 'stream', raw: 'text/event-stream' }
const test = suite<{ at: TestServer }>('http/sse')
test.before(async context => {
  context.at = await openServer({
    'GET /flood': endpoint({ ...raw, run: () => eventStream(flood()) }),
    'GET /wait': endpoint({ ...raw, run: ctx => eventStream(waiting(ctx.signal)) }),
    'GET /open': endpoint({ summary: 'open', run: () => ({ ok: true }) }),
    'GET /big': endpoint({ ...raw, run: () => eventStream(big()) }),
    'GET /fail': endpoint({ ...raw, run: () => eventStream(failing()) }),
    'GET /pour': endpoint({ ...raw, run: () => pushedEvents(pour) }),
    'GET /break': endpoint({ ...raw, run: () => pushedEvents(breaks) }),
  })
})
test.after(({ at }) => at.close())

const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

test('a field value cannot start another field', () => {
  assert.is(
    frame('a\nb', '{"x":1}\n\ndata: y', '1\r2'),
    'id: 1 2\nevent: a b\ndata: {"x":1} data: y\n\n',
  )
  assert.is(frame('a', { text: 'ü\n' }), 'event: a\ndata: {"text":"ü\\n"}\n\n')
  assert.is(comment('a\nb'), ': a b\n\n')
})

/** Opens a stream, lets it fill what waits for the reader, then reads on. `made`: kB that the source has produced. */
const readLate = async (at: TestServer, path: string, made: () => number) => {
  const socket = await at.open()
  socket.pause()
  const asked = once(at.server, 'request')
  socket.write(ask(path))
  const [, res] = await asked
  // The kernel buffers a few megabytes; then the count stops.
  let before = -1
  while (before !== made() || res.writableLength <= 256 * 1024) {
    before = made()
    for (let round = 0; round < 10; round++) assert.is((await at.get('/open')).status, 200)
  }
  assert.ok(res.writableLength < 300 * 1024, `${res.writableLength} bytes wait`)
  // It continues as soon as the reader does.
  let read = 0
  await new Promise<void>(resolve => {
    socket.on('data', chunk => {
      read += chunk.length
      if (read > (before + 500) * 1024) resolve()
    })
    socket.resume()
  })
  assert.ok(made() > before)
  return socket
}

test('a slow reader pauses only its own generator, with bounded memory', async ({ at }) => {
  const socket = await readLate(at, '/flood', () => state.produced)
  const gone = new Promise<void>(resolve => {
    left = resolve
  })
  socket.destroy()
  await gone
  assert.is(state.ended, 1)
})

test('a pushed source pauses for a slow reader, continues after it, and is closed when the reader has gone', async ({
  at,
}) => {
  for (const leave of ['destroy', 'end'] as const) {
    pushed.written = 0
    const socket = await readLate(at, '/pour', () => pushed.written)
    const gone = new Promise<void>(resolve => {
      pushed.closed = resolve
    })
    socket[leave]()
    await gone
    socket.destroy()
  }
})

test('a disconnect aborts the signal of a waiting generator', async ({ at }) => {
  for (const leave of ['destroy', 'end'] as const) {
    const socket = await at.open()
    socket.write(ask('/wait'))
    await once(socket, 'data')
    const gone = new Promise<void>(resolve => {
      left = resolve
    })
    socket[leave]()
    await gone
    wake()
    socket.destroy()
  }
  assert.is(state.aborted, 2)
  assert.equal(at.errors, [])
})

test('the end of the generator closes the stream without aborting', async ({ at }) => {
  const answer = await at.get('/wait')
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  assert.match((await reader.read()).value ?? '', /ready/)
  wake()
  assert.match((await reader.read()).value ?? '', /late/)
  assert.ok((await reader.read()).done)
  assert.is(state.aborted, 2)
})

test('a failing generator or source cuts the stream without details', async ({ at }) => {
  for (const path of ['/fail', '/break']) {
    at.errors.length = 0
    const answer = await at.raw(ask(path))
    assert.match(answer, /event: one/)
    assert.not.match(answer, /secret|\r\n0\r\n/)
    assert.is(at.errors.length, 1, path)
  }
})

test('splits a long chunk, so that a slow reader holds a bounded amount', async ({ at }) => {
  const socket = await at.open()
  socket.pause()
  const asked = once(at.server, 'request')
  socket.write(ask('/big'))
  const [, res] = await asked
  let most = 0
  for (let i = 0; i < 50; i += 1) {
    await new Promise(resolve => setImmediate(resolve))
    most = Math.max(most, res.writableLength)
  }
  assert.ok(most > 0 && most <= (256 + 65) << 10, `${most} bytes wait`)
  socket.destroy()
})

test.run()
