/** Receivers of notifications over real HTTP: a push service as strict as RFC 8030, 8188, 8291 and 8292, and plain ones for ntfy, Gotify, and webhooks. */
import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { PushPayload } from '../lib/schema/notification.ts'

const ece = createRequire(import.meta.url)('http_ece') as {
  decrypt(
    body: Buffer,
    params: { version: string; privateKey: unknown; authSecret: string },
  ): Buffer
}

export type Received = { path: string; headers: IncomingHttpHeaders; body: string }

/** A status, and headers; `hang` never answers. */
export type Reply = { status: number; headers?: Record<string, string>; hang?: boolean }

/** Longer than any delay of a service on a busy machine, shorter than the limit of a test file. */
const PATIENCE_MS = 120_000

/** Accepts every POST with a 200, or with the replies that were pushed, in order. */
export const startReceiver = async (
  check: (received: Received, raw: Buffer) => void = () => {},
) => {
  const replies: Reply[] = []
  const received: Received[] = []
  let arrived = Promise.withResolvers<void>()
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const raw = Buffer.concat(chunks)
      const one = { path: req.url ?? '', headers: req.headers, body: raw.toString() }
      const reply = replies.shift() ?? { status: 200 }
      try {
        if (req.method !== 'POST') throw new Error(`${req.method} is not POST`)
        if (reply.status < 300) check(one, raw)
        received.push(one)
        if (!reply.hang) res.writeHead(reply.status, reply.headers).end()
      } catch (error) {
        received.push({ ...one, body: `REFUSED ${String(error)}` })
        res.writeHead(400).end()
      }
      arrived.resolve()
      arrived = Promise.withResolvers<void>()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    replies,
    /** Waits until `count` requests have arrived in all; the last of them. */
    async at(count: number): Promise<Received> {
      const late = Promise.withResolvers<'late'>()
      const timer = setTimeout(() => late.resolve('late'), PATIENCE_MS)
      while (received.length < count)
        if ((await Promise.race([arrived.promise, late.promise])) === 'late') break
      clearTimeout(timer)
      const one = received[count - 1]
      if (!one || one.body.startsWith('REFUSED')) throw new Error(one?.body ?? 'nothing received')
      return one
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const fromBase64Url = (text: string): Buffer => Buffer.from(text, 'base64url')

/** Throws unless the Authorization header is valid for this origin and was made with the subscription's key. */
const checkVapid = (header: string, origin: string, publicKey: string): void => {
  const match = /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)$/.exec(header)
  if (!match) throw new Error(`no VAPID authorization: ${header}`)
  const [, head = '', claims = '', signature = '', key = ''] = match
  if (key !== publicKey) throw new Error('another key than that of the subscription')
  const point = fromBase64Url(key)
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
  const isValid = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    fromBase64Url(signature),
  )
  if (!isValid) throw new Error('the signature is wrong')
  const { alg } = JSON.parse(fromBase64Url(head).toString()) as { alg: string }
  const { aud, exp, sub } = JSON.parse(fromBase64Url(claims).toString()) as Record<string, unknown>
  if (alg !== 'ES256') throw new Error(`alg ${alg}`)
  if (aud !== origin) throw new Error(`the audience ${String(aud)} is not ${origin}`)
  const left = Number(exp) - Date.now() / 1_000
  if (!(left > 0 && left <= 86_400)) throw new Error(`expires in ${left} s`)
  if (!/^(?:mailto:|https:)/.test(String(sub))) throw new Error(`sub ${String(sub)}`)
}

/** A push service with one browser, whose keys decrypt what arrives. */
export const startPushService = async () => {
  const browser = createECDH('prime256v1')
  browser.generateKeys()
  const auth = randomBytes(16).toString('base64url')
  const messages: PushPayload[] = []
  let publicKey = ''
  const receiver = await startReceiver(({ headers }, raw) => {
    if (!/^\d+$/.test(headers.ttl as string)) throw new Error('no TTL')
    if (headers['content-encoding'] !== 'aes128gcm') throw new Error('not aes128gcm')
    if (!/^[\w-]{1,32}$/.test((headers.topic as string) ?? 'x')) throw new Error('bad Topic')
    if (!/^(?:very-low|low|normal|high)$/.test((headers.urgency as string) ?? 'normal'))
      throw new Error('bad Urgency')
    checkVapid(headers.authorization ?? '', receiver.url, publicKey)
    if (raw.length > 4_096) throw new Error('too large')
    const text = ece.decrypt(raw, { version: 'aes128gcm', privateKey: browser, authSecret: auth })
    messages.push(JSON.parse(text.toString()))
  })
  return {
    ...receiver,
    messages,
    /** As a browser would subscribe with the server's key. */
    subscribe(key: string, path = '/push/1') {
      publicKey = key
      return {
        endpoint: `${receiver.url}${path}`,
        keys: { p256dh: browser.getPublicKey().toString('base64url'), auth },
      }
    },
    /** The decrypted message of request number `count`. */
    async message(count: number): Promise<PushPayload> {
      await receiver.at(count)
      const message = messages.at(-1)
      if (!message) throw new Error('nothing decrypted')
      return message
    },
  }
}
