/** The forwarder between real HTTP servers: what it sends again, what it never sends again, and what it passes on. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Waiting } from '../../../lib/http/forwarder.ts'
import { until } from '../../_wait.ts'
import { closeForwarders, deadAddress, listen, send, startForwarder } from './_forwarder.ts'

const test = suite('http/forwarder')

test.after.each(closeForwarders)

test('refuses a request without a cell, and one for which no owner comes', async () => {
  const url = await startForwarder([null], { waitMs: 100 })
  const denied = await send(`${url}/forbidden`)
  assert.equal(
    [denied.status, JSON.parse(denied.text).error],
    [403, 'There is nothing here for this account.'],
  )
  const none = await send(`${url}/api`)
  assert.equal([none.status, none.headers.get('retry-after')], [503, '2'])
})

test('says why no process serves a cell: no capacity, no worker, or a start that takes long', async () => {
  const said = async (waiting: Waiting) => {
    const url = await startForwarder([null], { waitMs: 100, waiting })
    const { status, text } = await send(`${url}/api`)
    assert.is(status, 503)
    return JSON.parse(text).error
  }
  assert.match(await said('full'), /All workers are full/)
  assert.match(await said('none'), /No worker that may run this/)
  assert.match(await said('starting'), /being started/)
})

test('a database that does not answer is waited for', async () => {
  let asked = 0
  const healthy = await listen((_, res) => res.end('hello'))
  const url = await startForwarder([healthy], {
    routeOf: () => {
      asked += 1
      if (asked < 3) throw new Error('the connection ended')
    },
  })
  assert.is((await send(url)).text, 'hello')
  assert.is(asked, 3)
})

test('requests that come together ask once', async () => {
  const healthy = await listen((_, res) => res.end('hello'))
  const asked: string[] = []
  const url = await startForwarder([null, healthy], { onAsk: cell => asked.push(cell) })
  await Promise.all(Array.from({ length: 20 }, () => send(url)))
  assert.equal(asked, ['cell-1'])
})

test('a cell of several gets its path and cookies of its own, and who may use it; no client can say so', async () => {
  const echo = await listen((req, res) => {
    res.setHeader('Set-Cookie', ['a=b; HttpOnly; Path=/', 'c=d; Path=/login; SameSite=Lax'])
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify({ ...req.headers, url: req.url }))
  })
  const headers = { 'X-Agent-Webui-Person': 'eve', 'X-Agent-Webui-Forwarder': 'forged' }
  const url = await startForwarder([echo])
  const below = await send(`${url}/cells/cell-1/api?x=1`, { headers })
  const seen = JSON.parse(below.text)
  assert.equal(
    [seen.url, seen['x-forwarded-prefix'], seen['x-agent-webui-person']],
    ['/cells/cell-1/api?x=1', '/cells/cell-1', 'anna'],
  )
  assert.is(seen['x-agent-webui-forwarder'], 'token of cell-1')
  assert.equal(below.headers.getSetCookie(), [
    'a=b; HttpOnly; Path=/cells/cell-1/',
    'c=d; Path=/login; SameSite=Lax',
  ])
  const root = await send(`${url}/api`, { headers })
  assert.is(root.headers.getSetCookie()[0], 'a=b; HttpOnly; Path=/')
})

test('a stream ends when its reader may not use the cell any more', async () => {
  const streaming = await listen((_, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    res.write('data: 1\n\n')
  })
  const rights = { isAllowed: true }
  const url = await startForwarder([streaming], {
    isAllowed: () => rights.isAllowed,
    lookMs: 10,
  })
  const res = await fetch(url)
  const reader = (res.body as ReadableStream<Uint8Array>).getReader()
  assert.is(Buffer.from((await reader.read()).value ?? []).toString(), 'data: 1\n\n')
  rights.isAllowed = false
  const end = await reader.read().then(
    ({ done }) => done,
    () => 'cut',
  )
  assert.is(end, 'cut')
})

test('a POST whose connection breaks is not sent again: 502 with a sentence', async () => {
  const seen: string[] = []
  const breaking = await listen(req => {
    seen.push(`${req.method}`)
    req.resume().on('end', () => req.socket.destroy())
  })
  const healthy = await listen((_, res) => {
    seen.push('second owner')
    res.end()
  })
  const url = await startForwarder([breaking, healthy])
  const answer = await send(url, { method: 'POST', body: 'once' })
  assert.is(answer.status, 502)
  assert.match(JSON.parse(answer.text).error, /check before you send it again/)
  assert.equal(seen, ['POST'])
})

test('a GET without an answer is sent once more, to the next owner, and not a third time', async () => {
  let broken = 0
  const breaking = await listen(req => {
    broken += 1
    req.socket.destroy()
  })
  const healthy = await listen((_, res) => res.end('hello'))
  const url = await startForwarder([breaking, healthy])
  assert.is((await send(url)).text, 'hello')
  assert.is(broken, 1)
  const still = await startForwarder([breaking])
  assert.is((await send(still)).status, 502)
  assert.is(broken, 3)
})

test('an owner that says nothing any more: what it was asked ends when another one owns the cell', async () => {
  const asked = Promise.withResolvers<void>()
  const silent = await listen((req, res) => {
    if (req.url === '/stream') return void res.write('begun')
    asked.resolve()
  })
  const healthy = await listen((_, res) => res.end('hello'))
  const owners = [silent]
  const url = await startForwarder(owners, { lookMs: 20 })
  const stream = await fetch(`${url}/stream`)
  const read = stream.text().then(
    () => 'whole',
    () => 'cut',
  )
  const [post, get] = [send(url, { method: 'POST', body: 'once' }), send(url)]
  await asked.promise
  owners.push(healthy)
  assert.is((await post).status, 502)
  assert.is((await get).text, 'hello')
  assert.is(await read, 'cut')
})

test('what could not be sent waits for the next owner, with its body', async () => {
  const bodies: string[] = []
  const healthy = await listen(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += String(chunk)
    bodies.push(body)
    res.end('done')
  })
  const url = await startForwarder([await deadAddress(), null, healthy])
  const body = 'x'.repeat(300_000)
  assert.is((await send(url, { method: 'POST', body })).text, 'done')
  assert.equal(bodies, [body])
})

test('a process that serves another cell rejects the request, and the owner is looked up again', async () => {
  const other = await listen((_, res) => {
    res.writeHead(421)
    res.end()
  })
  const healthy = await listen((req, res) => res.end(String(req.headers['x-agent-webui-cell'])))
  const url = await startForwarder([other, healthy])
  assert.is((await send(url)).text, 'cell-1')
})

test('headers: what only a trusted proxy may say is replaced, and hop-by-hop ones are not passed on', async () => {
  const echo = await listen((req, res) => {
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify(req.headers))
  })
  const headers = {
    'X-Forwarded-For': '9.9.9.9',
    'X-Forwarded-Proto': 'https',
    'X-Agent-Webui-Cell': 'another',
    'X-Real-Host': 'elsewhere.example',
    'X-Forwarded-User': 'eve',
    'Remote-User': 'eve',
    TE: 'trailers',
    Cookie: 'a=b',
  }
  const direct = JSON.parse((await send(await startForwarder([echo]), { headers })).text)
  assert.equal(
    [direct['x-forwarded-for'], direct['x-forwarded-proto'], direct['x-agent-webui-cell']],
    ['127.0.0.1', 'http', 'cell-1'],
  )
  assert.equal([direct.te, direct.cookie], [undefined, 'a=b'])
  const names = ['x-real-host', 'x-forwarded-user', 'remote-user']
  assert.equal(
    names.map(name => direct[name]),
    [undefined, undefined, undefined],
  )
  const url = await startForwarder([echo], { proxies: ['127.0.0.1'] })
  const proxied = JSON.parse((await send(url, { headers })).text)
  assert.equal([proxied['x-forwarded-for'], proxied['x-forwarded-proto']], ['9.9.9.9', 'https'])
  assert.equal(
    names.map(name => proxied[name]),
    ['elsewhere.example', 'eve', 'eve'],
  )
})

test('an event stream passes at once, and its end by the reader reaches the service', async () => {
  let isClosed = false
  const streaming = await listen((_, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    res.write('data: 1\n\n')
    res.on('close', () => {
      isClosed = true
    })
  })
  const url = await startForwarder([streaming])
  const stop = new AbortController()
  const res = await fetch(url, { signal: stop.signal })
  const { value } = await (res.body as ReadableStream<Uint8Array>).getReader().read()
  assert.is(Buffer.from(value ?? []).toString(), 'data: 1\n\n')
  stop.abort()
  await until(() => isClosed, 'the end of the stream at the service')
})

test('a reader that does not read holds the service back', async () => {
  const chunk = Buffer.alloc(64 << 10)
  const state = { written: 0, isFull: false }
  const flooding = await listen((_, res) => {
    const write = () => {
      while (state.written < 512 << 20) {
        state.written += chunk.length
        if (!res.write(chunk)) {
          state.isFull = true
          res.once('drain', write)
          return
        }
      }
    }
    write()
  })
  const url = new URL(await startForwarder([flooding]))
  const socket = connect(Number(url.port), '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  let last = -1
  // It stops growing once the buffers on the way are full.
  await until(() => {
    const isStill = state.isFull && state.written === last
    last = state.written
    return isStill
  })
  assert.ok(state.written < 64 << 20, `${state.written} bytes on the way`)
  socket.destroy()
})

test('a service that dies in the middle of an answer: the answer is cut, not completed', async () => {
  const dying = await listen((_, res) => {
    res.writeHead(200, { 'Content-Length': '100' })
    res.write('half')
    setImmediate(() => res.destroy())
  })
  const url = await startForwarder([dying])
  const ended = await new Promise<string>(resolve => {
    const req = request(url, res => {
      res.resume()
      res.on('aborted', () => resolve('cut'))
      res.on('end', () => resolve('complete'))
    })
    req.on('error', () => resolve('cut'))
    req.end()
  })
  assert.is(ended, 'cut')
})

/** Writes these bytes and returns what comes back until the connection ends. */
const sendRaw = async (url: string, bytes: string): Promise<string> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').write(bytes)
  for await (const chunk of socket) text += String(chunk)
  return text
}

test('no request can be hidden in the body of another one: its length is passed on, whatever Connection names', async () => {
  const seen: string[] = []
  const echo = await listen(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += String(chunk)
    seen.push(`${req.method} ${req.url} ${body.length}`)
    res.end()
  })
  const url = await startForwarder([echo])
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\nRemote-User: admin\r\n\r\n'
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST'])
    await sendRaw(
      url,
      `${method} /open HTTP/1.1\r\nHost: x\r\nConnection: close, content-length, host\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    )
  assert.equal(
    seen,
    ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST'].map(method => `${method} /open ${hidden.length}`),
  )
})

test('a GET with a body is not sent again, as its body is gone', async () => {
  let broken = 0
  const breaking = await listen(req => {
    broken += 1
    req.resume().on('end', () => req.socket.destroy())
  })
  const healthy = await listen((_, res) => res.end('hello'))
  const url = await startForwarder([breaking, healthy])
  const text = await sendRaw(
    url,
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody',
  )
  assert.match(text, /^HTTP\/1\.1 502 /)
  assert.is(broken, 1)
})

test('a POST that a process of another cell rejected: a sentence that it can be sent again', async () => {
  const other = await listen((req, res) => {
    req.resume()
    res.writeHead(421)
    res.end()
  })
  const url = await startForwarder([other])
  const answer = await send(url, { method: 'POST', body: 'once' })
  assert.equal([answer.status, answer.headers.get('retry-after')], [503, '2'])
})

test('a long wait for an owner leaves no listeners behind, and a database that is away is logged once', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  const owners: (string | null)[] = [await deadAddress()]
  let tries = 0
  const url = await startForwarder(owners, { onAsk: () => (tries += 1), waitMs: 1_000 })
  assert.is((await send(url)).status, 503)
  let asked = 0
  const logged: string[] = []
  const healthy = await listen((_, res) => res.end('hello'))
  const away = await startForwarder([healthy], {
    warn: text => logged.push(text),
    routeOf: () => {
      asked += 1
      if (asked < 15) throw new Error('the connection ended')
    },
  })
  assert.equal(
    (await Promise.all([send(away), send(away)])).map(({ text }) => text),
    ['hello', 'hello'],
  )
  process.off('warning', onWarning)
  assert.equal(warnings, [])
  assert.is(logged.length, 1)
})

test.run()
