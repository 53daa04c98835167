/** The proxy of a command in a sandbox: who is asked when, what is never reached, and what passes through it. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { NetworkTarget } from '../../../../lib/agent/tool-services.ts'
import type { NetworkRules } from '../../../../lib/commands/sandbox/network-opener.ts'
import { NetworkProxy } from '../../../../lib/commands/sandbox/network-proxy.ts'
import { until } from '../../../_wait.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('sandbox: network proxy')

const PUBLIC = '93.184.215.14'

const listen = async (server: Server): Promise<number> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

type Setup = {
  /** What a connection that was let through reaches. */
  onConnection?: (socket: Socket) => void
  allowed?: string[]
  answer?: (target: NetworkTarget, ended: AbortSignal) => Promise<string | null>
  /** By name; all others are at PUBLIC. */
  names?: Record<string, string[] | (() => string[])>
  requestMs?: number
  /** Of the command. */
  env?: (port: number) => Record<string, string>
  /** Nothing listens there. */
  isDown?: boolean
}

const echo = (socket: Socket) => void socket.pipe(socket)

const setUp = async ({ names = {}, answer, onConnection = echo, ...given }: Setup = {}) => {
  const dir = tempDir('network-proxy')
  const path = join(dir, 'proxy')
  const server = createServer({ allowHalfOpen: true }, onConnection)
  const port = await listen(server)
  if (given.isDown) server.close()
  const asked: NetworkTarget[] = []
  const resolved: string[] = []
  const dialed: string[] = []
  const clients: Socket[] = []
  const rules: NetworkRules = {
    allowed: given.allowed ?? [],
    async onTarget(target, ended) {
      asked.push(target)
      return (await answer?.(target, ended)) ?? null
    },
    access: {
      async resolve(host) {
        resolved.push(host)
        const found = names[host] ?? [PUBLIC]
        const addresses = typeof found === 'function' ? found() : found
        return addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
      },
      dial({ port: to }, addresses) {
        dialed.push(`${addresses.map(({ address }) => address).join(' ')}:${to}`)
        return connect({ host: '127.0.0.1', port, allowHalfOpen: true })
      },
    },
    ...(given.env && { env: given.env(port) }),
  }
  const proxy = new NetworkProxy(rules, given.requestMs)
  await proxy.listen({ path })
  const open = () => {
    const client = connect({ path, allowHalfOpen: true })
    client.on('error', () => undefined)
    clients.push(client)
    return client
  }
  return {
    path,
    proxy,
    asked,
    resolved,
    dialed,
    open,
    port,
    close() {
      proxy.close()
      for (const client of clients) client.destroy()
      server.close()
      rmSync(dir, { recursive: true })
    },
  }
}

type World = Awaited<ReturnType<typeof setUp>>
const using = async (setup: Setup, work: (world: World) => Promise<void>): Promise<void> => {
  const world = await setUp(setup)
  try {
    await work(world)
  } finally {
    world.close()
  }
}

/** All that a client reads until the other end closes. */
const readAll = async (client: Socket): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of client) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const send = async ({ open }: World, text: string | Buffer): Promise<string> => {
  const client = open()
  client.end(text)
  return (await readAll(client)).toString()
}

/** The same, from a client that leaves its end open. */
const sendOpen = async ({ open }: World, text: string): Promise<string> => {
  const client = open()
  client.write(text)
  const got = await readAll(client)
  client.destroy()
  return got.toString()
}

const CONNECT = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`
const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'

const socksName = (host: string, port: number) =>
  Buffer.concat([
    Buffer.from([5, 1, 0, 5, 1, 0, 3, host.length]),
    Buffer.from(host),
    Buffer.from([port >> 8, port & 255]),
  ])

test('CONNECT: asks once it knows where to, and then passes bytes on', () =>
  using({}, async world => {
    assert.is(await send(world, `${CONNECT('example.org:443')}hello`), `${ESTABLISHED}hello`)
    assert.equal(world.asked, [{ host: 'example.org', port: 443 }])
    assert.equal(world.dialed, [`${PUBLIC}:443`])
  }))

test('SOCKS5: a name, an IPv4 and an IPv6 address', () =>
  using({}, async world => {
    const got = await send(world, Buffer.concat([socksName('example.org', 22), Buffer.from('hi')]))
    assert.is(got, '\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00hi')
    await send(world, Buffer.from([5, 1, 0, 5, 1, 0, 1, 8, 8, 8, 8, 0, 53]))
    const v6 = [0x26, 6, 0x47, 0, ...Array<number>(10).fill(0), 0x11, 0x11]
    await send(world, Buffer.from([5, 2, 0, 2, 5, 1, 0, 4, ...v6, 1, 187]))
    assert.equal(world.asked, [
      { host: 'example.org', port: 22 },
      { host: '8.8.8.8', port: 53 },
      { host: '2606:4700::1111', port: 443 },
    ])
    assert.equal(world.resolved, ['example.org'])
  }))

test('plain HTTP: requests of one connection are each checked, and sent without what is for the proxy', async () => {
  const seen: string[] = []
  const origin = createHttpServer((asked, answer) => {
    seen.push(`${asked.method} ${asked.url} ${JSON.stringify(asked.headers)}`)
    asked.pipe(answer.writeHead(201, 'Made', { 'set-cookie': ['a=1', 'b=2'], 'x-there': '1' }))
  })
  await using({ onConnection: socket => void origin.emit('connection', socket) }, async world => {
    const send = (host: string, body?: string) =>
      new Promise<{ status?: number; cookies?: string[]; text: string }>((resolve, reject) => {
        const sent = request({
          socketPath: world.path,
          method: body === undefined ? 'GET' : 'POST',
          path: `http://${host}/a?b=c`,
          headers: {
            host: 'other.example',
            'proxy-authorization': 'Basic x',
            connection: 'x-private',
            'x-private': '1',
            'x-kept': '1',
          },
        })
        sent.on('error', reject)
        sent.on('response', received => {
          let text = ''
          received.setEncoding('utf8').on('data', chunk => (text += chunk))
          const { statusCode: status, headers } = received
          received.on('end', () => resolve({ status, cookies: headers['set-cookie'], text }))
        })
        sent.end(body)
      })
    const first = await send('example.org:8080', 'a body')
    assert.equal(first, { status: 201, cookies: ['a=1', 'b=2'], text: 'a body' })
    await send('other.example')
    assert.equal(
      world.asked.map(({ host, port }) => `${host}:${port}`),
      ['example.org:8080', 'other.example:80'],
    )
    assert.match(seen[0] ?? '', /^POST \/a\?b=c .*"host":"example.org:8080"/i)
    assert.match(seen[0] ?? '', '"x-kept":"1"')
    assert.not.match(seen[0] ?? '', /x-private|proxy-authorization/)
  })
})

test('denied: a status and the sentence, and nothing is resolved', () =>
  using({ answer: async () => 'The user denied access to evil.example — “no”.' }, async world => {
    const got = await send(world, CONNECT('evil.example:443'))
    assert.match(got, /^HTTP\/1\.1 403 The user denied access to evil\.example \? \?no\?\.\r\n/)
    assert.match(got, '\r\n\r\nThe user denied access to evil.example — “no”.\n')
    const plain = await sendOpen(world, 'GET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.match(plain, /^HTTP\/1\.1 403 Forbidden\r\n/)
    assert.match(plain, 'The user denied access')
    const socks = await send(world, socksName('evil.example', 443))
    assert.is(socks, '\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00')
    assert.equal([world.resolved, world.dialed], [[], []])
  }))

test('this computer and metadata services: no question and no connection, in the list or not', () =>
  using(
    {
      allowed: [
        '127.0.0.1',
        'localhost',
        '169.254.169.254',
        'rebound.example',
        '*.rebound.example',
      ],
      names: {
        'rebound.example': ['127.0.0.1'],
        'both.example': [PUBLIC, '::1'],
        'meta.example': ['169.254.169.254'],
      },
    },
    async world => {
      for (const authority of [
        'localhost:80',
        '127.1:8787',
        '[::ffff:7f00:1]:80',
        '0:80',
        '169.254.169.254:80',
      ]) {
        assert.match(await send(world, CONNECT(authority)), /^HTTP\/1\.1 403 \S+ is this computer/)
        const plain = `GET http://${authority}/latest/meta-data HTTP/1.1\r\nHost: x\r\n\r\n`
        assert.match(await sendOpen(world, plain), /^HTTP\/1\.1 403 /)
      }
      assert.match(await send(world, socksName('127.1', 80)), /^\x05\x00\x05\x02/)
      assert.match(
        await send(world, Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80])),
        /^\x05\x00\x05\x02/,
      )
      assert.equal([world.asked, world.resolved], [[], []])
      for (const name of ['rebound.example', 'both.example', 'meta.example'])
        assert.match(await send(world, CONNECT(`${name}:443`)), /^HTTP\/1\.1 403 /)
      assert.equal(world.dialed, [])
    },
  ))

test('a name that means another address later: each connection is checked, and made to the checked address', () => {
  const answers = [[PUBLIC], ['127.0.0.1'], ['10.0.0.1']]
  return using(
    {
      names: { 'rebind.example': () => answers.shift() ?? [] },
      answer: async ({ isPrivate }) => (isPrivate ? 'No private networks.' : null),
    },
    async world => {
      const answered = []
      for (let round = 0; round < 4; round++)
        answered.push((await send(world, CONNECT('rebind.example:443'))).slice(9, 12))
      assert.equal(answered, ['200', '403', '403', '502'])
      assert.equal(world.dialed, [`${PUBLIC}:443`])
      assert.equal(world.asked.at(2), { host: 'rebind.example', port: 443 })
      assert.equal(world.asked.at(3), {
        host: 'rebind.example',
        port: 443,
        isPrivate: true,
        address: '10.0.0.1',
      })
    },
  )
})

test('private networks: the question says so, once where the name says it already; a list answers it', () =>
  using(
    {
      allowed: ['*.corp.example'],
      names: { 'nas.local': ['192.168.99.7'], 'a.corp.example': ['10.0.0.9'] },
    },
    async world => {
      for (const authority of ['192.168.99.7:22', 'nas.local:80', 'a.corp.example:443'])
        assert.match(await send(world, CONNECT(authority)), /^HTTP\/1\.1 200/)
      assert.equal(world.asked, [
        { host: '192.168.99.7', port: 22, isPrivate: true },
        { host: 'nas.local', port: 80, isPrivate: true },
      ])
    },
  ))

test('the client waits for the answer', async () => {
  const open = Promise.withResolvers<null>()
  await using({ answer: () => open.promise }, async world => {
    const got = send(world, `${CONNECT('example.org:443')}early`)
    await until(() => world.asked.length === 1)
    assert.equal(world.dialed, [])
    open.resolve(null)
    assert.is(await got, `${ESTABLISHED}early`)
  })
})

test('a client that is gone when the answer comes: no connection is kept', async () => {
  const open = Promise.withResolvers<null>()
  const closed: string[] = []
  const onConnection = (socket: Socket) => {
    const close = () => closed.push('closed')
    socket.on('error', close).on('end', close).resume()
  }
  await using({ answer: () => open.promise, onConnection }, async world => {
    const client = world.open()
    client.write(CONNECT('example.org:443'))
    await until(() => world.asked.length === 1)
    client.destroy()
    open.resolve(null)
    await until(() => closed.length > 0)
  })
})

test('the end of the command withdraws the question and cuts what is open', () => {
  let withdrawn = 0
  const answer = ({ host }: NetworkTarget, ended: AbortSignal) =>
    host === 'asked.example'
      ? new Promise<string>(resolve =>
          ended.addEventListener('abort', () => resolve(`gone ${++withdrawn}`)),
        )
      : Promise.resolve(null)
  return using({ answer }, async world => {
    const waiting = world.open()
    waiting.write(CONNECT('asked.example:443'))
    const tunnel = world.open()
    tunnel.write(CONNECT('example.org:443'))
    await once(tunnel, 'data')
    await until(() => world.asked.length === 2)
    world.proxy.close()
    await Promise.all([readAll(waiting), readAll(tunnel)].map(each => each.catch(() => null)))
    assert.is(withdrawn, 1)
    assert.equal(world.dialed, [`${PUBLIC}:443`])
  })
})

test('half-close in either direction, and much data against a slow reader', async () => {
  // Answers only after the client has ended.
  const onConnection = (socket: Socket) => {
    const hash = createHash('sha256')
    socket.on('data', chunk => hash.update(chunk))
    socket.on('end', () => socket.end(hash.digest('hex')))
  }
  const bytes = randomBytes(24 * 1024 * 1024)
  const digest = createHash('sha256').update(bytes).digest('hex')
  await using({ onConnection }, async world => {
    const got = await send(world, Buffer.concat([Buffer.from(CONNECT('example.org:443')), bytes]))
    assert.is(got, ESTABLISHED + digest)
  })
  const sender: Socket[] = []
  const sending = (socket: Socket) => {
    sender.push(socket)
    socket.end(bytes)
  }
  await using({ onConnection: sending }, async world => {
    const client = world.open()
    client.write(CONNECT('example.org:443'))
    await once(client, 'readable')
    // The sender is held back while no one reads.
    await until(() => (sender[0]?.writableLength ?? 0) > 0)
    assert.ok((sender[0]?.writableLength ?? 0) > 0)
    const all = await readAll(client)
    assert.is(createHash('sha256').update(all.subarray(ESTABLISHED.length)).digest('hex'), digest)
    client.end()
  })
})

test('a server that resets the connection, and one that is not there', async () => {
  await using({ onConnection: socket => void socket.resetAndDestroy() }, async world => {
    const client = world.open()
    client.write(CONNECT('example.org:443'))
    await readAll(client).catch(() => null)
    assert.ok(client.destroyed || client.readableEnded)
  })
  await using({ isDown: true }, async world => {
    const sentence = /could not be connected to/
    assert.match(await send(world, CONNECT('example.org:443')), sentence)
    assert.match(await send(world, socksName('example.org', 443)), /^\x05\x00\x05\x05/)
    const plain = 'GET http://example.org/ HTTP/1.1\r\nHost: a\r\n\r\n'
    assert.match(await sendOpen(world, plain), sentence)
  })
})

test('behind a proxy of the network: the internet through it, by name; the own network and exceptions directly', async () => {
  const heads: string[] = []
  const onConnection = (socket: Socket) => {
    socket.once('data', (head: Buffer) => {
      heads.push(head.toString())
      if (!head.includes('CONNECT ')) return void socket.end(head)
      socket.write(`HTTP/1.1 ${head.includes('refused') ? 407 : 200} Words\r\nA: b\r\n\r\nearly `)
      socket.pipe(socket)
    })
  }
  const env = (port: number) => ({
    HTTPS_PROXY: `http://me:a%40b@127.0.0.1:${port}`,
    NO_PROXY: 'direct.example',
  })
  // The proxy would resolve them itself.
  const inside = ['127.0.0.1.nip.example', 'a-169-254-169-254.nip.example', '7f000001.nip.example']
  const names = {
    ...Object.fromEntries([...inside, '8.8.8.8.nip.example'].map(name => [name, []])),
    ...{ 'unknown.example': [], 'direct.example': [PUBLIC], 'nas.local': ['10.0.0.1'] },
  }
  await using({ onConnection, env, names }, async world => {
    const got = await send(world, `${CONNECT('unknown.example:443')}late`)
    assert.is(got, `${ESTABLISHED}early late`)
    const sign = Buffer.from('me:a@b').toString('base64')
    assert.is(
      heads[0],
      `CONNECT unknown.example:443 HTTP/1.1\r\nHost: unknown.example:443\r\nProxy-Authorization: Basic ${sign}\r\n\r\n`,
    )
    assert.match(
      await send(world, CONNECT('refused.example:443')),
      /^HTTP\/1\.1 502 refused\.example could not be connected to through 127\.0\.0\.1:\d+ \(The proxy answered: 407 Words\)/,
    )
    assert.equal(world.dialed, [])
    for (const host of ['direct.example', 'nas.local'])
      await send(world, `${CONNECT(`${host}:80`)}x`)
    assert.equal(world.dialed, [`${PUBLIC}:80`, '10.0.0.1:80'])
    // Neither does it lead to this computer.
    for (const host of ['127.0.0.1', 'localhost.localdomain', ...inside])
      assert.match(await send(world, CONNECT(`${host}:80`)), /^HTTP\/1\.1 403 /, host)
    assert.match(await send(world, `${CONNECT('8.8.8.8.nip.example:443')}x`), /200/)
  })
  await using({ env: () => ({ HTTPS_PROXY: 'socks5://proxy:1' }) }, async world => {
    assert.match(
      await send(world, CONNECT('a.example:443')),
      'need a proxy with an http:// address',
    )
  })
})

test('what is neither protocol, or not one it speaks, reaches nothing', () =>
  using({}, async world => {
    for (const text of [
      'CONNECT example.org HTTP/1.1\r\nHost: a\r\n\r\n',
      'CONNECT http://example.org:80/ HTTP/1.1\r\nHost: a\r\n\r\n',
      'CONNECT a@example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: example.org\r\n\r\n',
      'GET https://example.org/ HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET ftp://example.org/ HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n',
    ])
      assert.match(await send(world, text), /^HTTP\/1\.1 400 /, text)
    for (const text of [
      '\x16\x03\x01\x02\x00',
      'nonsense\r\n\r\n',
      '',
      `GET / HTTP/1.1\r\nA: ${'a'.repeat(40_000)}`,
    ])
      assert.not.match(await send(world, text), /^HTTP\/1\.1 [23]/, text.slice(0, 20))
    // Sign-in only, BIND, UDP, an unknown kind of address, a name with another one in it, cut off.
    const SOCKS: [number[], RegExp][] = [
      [[5, 1, 2], /^\x05\ufffd$/],
      [[5, 1, 0, 5, 2, 0, 1, 8, 8, 8, 8, 0, 53], /^\x05\x00\x05\x07/],
      [[5, 1, 0, 5, 3, 0, 1, 8, 8, 8, 8, 0, 53], /^\x05\x00\x05\x07/],
      [[5, 1, 0, 5, 1, 0, 9, 8, 8, 8, 8, 0, 53], /^\x05\x00\x05\x08/],
      [[5, 1, 0, 5, 1, 0, 3, 5, ...Buffer.from('a.b/c'), 0, 80], /^\x05\x00\x05\x01/],
      [[5, 1, 0, 5, 1, 0, 3, 0, 0, 80], /^\x05\x00\x05\x01/],
      [[5, 1, 0, 5, 1, 0, 3, 200, 1], /^\x05\x00$/],
      [[5], /^$/],
    ]
    for (const [bytes, reply] of SOCKS)
      assert.match(await send(world, Buffer.from(bytes)), reply, bytes.join(' '))
    assert.equal([world.asked, world.dialed], [[], []])
  }))

test('a client that says nothing, or half of it, is cut off', () =>
  using({ requestMs: 50 }, async world => {
    for (const text of ['', 'CONNECT example.org:443 HT', '\x05\x01', '\x05\x01\x00\x05']) {
      const client = world.open()
      client.write(text)
      await readAll(client).catch(() => null)
      client.destroy()
    }
    // The proxy still works.
    assert.is(await send(world, `${CONNECT('example.org:443')}a`), `${ESTABLISHED}a`)
  }))

test.run()
