/**
 * Requests with an `Idempotency-Key` are carried out once: a repeated one gets the first one's reply, waits for it while it
 * is made, and is carried out when the first one failed. https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
import { sha256 } from '../base/sha256.ts'
import { isObject } from '../base/json.ts'
import { conflict, invalid, mismatch } from '../errors.ts'
import type { AnyEndpoint } from './endpoint.ts'
import { PERSON_HEADER } from './forwarded-headers.ts'
import { bytes, type Chunk, type DescribedReply, isDescribed, JSON_TYPE } from './reply.ts'
import type { Exchange } from './request-context.ts'

/** A reply as it can be sent again. */
export type SavedReply = {
  status: number
  type: string
  headers: Readonly<Record<string, string>>
  text: string
}

/** `reply` is null where it was not kept; `isDone` is false for a request whose process died. */
export type KnownRequest = { fingerprint: string; isDone: boolean; reply: SavedReply | null }

/** Where keys and replies are kept; `lib/http/request-keys.ts`. */
export type KeyStore = {
  find(id: string): KnownRequest | undefined
  /** Throws when it cannot be written: then the request is not carried out. */
  begin(id: string, fingerprint: string): void
  /** The request was carried out. Must not throw, because it cannot be undone. */
  end(id: string, reply: SavedReply | null, keep: 'disk' | 'memory'): void
  /** The request failed: it may be made again. Must not throw. */
  release(id: string): void
}

const MAX_REPLY_CHARS = 2_000_000

/** Visible ASCII, as UUIDs and the quoted form of the draft are. */
const KEY = /^[\x21-\x7e]{1,255}$/

const REUSED = 'This Idempotency-Key was used for another request. Use a new one for each request.'
const INTERRUPTED =
  'The server stopped while it carried out this request, so it may have been done in part. Check before you send it again with another key.'
const NOT_KEPT =
  'This request was carried out, and its reply is no longer kept. Check before you send it again with another key.'

/** The same text for the same values, whatever the order of keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

const fingerprintOf = ({ method, path }: Exchange, input: unknown): string =>
  sha256(canonical([method, path, input]))

/** Who makes the request, and with which rights: someone whose profiles have changed does not get replies of before. */
const callerOf = ({ person, req, endpoint }: Exchange): readonly unknown[] => {
  const { authorization, 'x-api-key': key } = req.headers
  if (endpoint?.byToken) return ['token', authorization ?? '', key ?? '']
  // People of one cell may be one person to it: who signs them in names each.
  const { [PERSON_HEADER]: personHeader } = req.headers
  return [
    'person',
    person?.id,
    person?.role,
    person?.profiles,
    ...(personHeader ? [personHeader] : []),
  ]
}

/** Names a request: keys are chosen by clients, and each has only those of its own. */
const requestId = (caller: readonly unknown[], key: string): string =>
  sha256(JSON.stringify([...caller, key]))

const keyOf = ({ req, endpoint }: Exchange): string | undefined => {
  const { 'idempotency-key': key } = req.headers
  if (key === undefined || !endpoint?.once) return undefined
  if (typeof key !== 'string' || !KEY.test(key))
    throw invalid('Idempotency-Key must have 1 to 255 visible ASCII characters.', {
      code: 'invalid_idempotency_key',
    })
  return key
}

const chunkText = (data: Chunk | readonly Buffer[]): string => {
  if (typeof data === 'string') return data
  return (Buffer.isBuffer(data) ? data : Buffer.concat(data)).toString('utf8')
}

const toSaved = (
  { status = 200, headers = {}, type }: Partial<DescribedReply>,
  text: string,
): SavedReply => ({
  status,
  headers,
  type: type ?? JSON_TYPE,
  text,
})

const limited = (reply: SavedReply): SavedReply | null =>
  reply.text.length > MAX_REPLY_CHARS ? null : reply

/** Null for a reply that cannot be sent twice. */
const savedReply = (value: unknown): SavedReply | null => {
  if (!isDescribed(value)) return limited(toSaved({}, JSON.stringify(value)))
  const { body } = value
  if (body.kind === 'json') return limited(toSaved(value, JSON.stringify(body.value)))
  if (body.kind === 'bytes') return limited(toSaved(value, chunkText(body.data)))
  return null
}

const replay = ({ status, type, headers, text }: SavedReply) =>
  bytes(text, { status, type, headers: { ...headers, 'Idempotency-Replayed': 'true' } })

/**
 * Collects the chunks of a stream for repeated requests. A stream whose reader has gone is read to its end, unless its work
 * ends with the connection. `onEnd` gets null for one that did not come to its end.
 */
const collect = (
  source: AsyncIterable<Chunk>,
  mayContinue: () => boolean,
  onEnd: (text: string | null) => void,
) => {
  const iterator = source[Symbol.asyncIterator]()
  const texts: string[] = []
  let isOver = false
  const end = (text: string | null): void => {
    if (!isOver) onEnd(text)
    isOver = true
  }
  const next = async (): Promise<IteratorResult<Chunk>> => {
    try {
      const result = await iterator.next()
      if (result.done) end(texts.join(''))
      else texts.push(chunkText(result.value))
      return result
    } catch (error) {
      end(null)
      throw error
    }
  }
  /** The reader has gone. It may never have begun. */
  const leave = async (): Promise<void> => {
    if (isOver) return
    if (mayContinue()) while (!isOver) await next()
    else {
      end(null)
      await iterator.return?.()
    }
  }
  return {
    // The response leaves when it closes.
    source: { [Symbol.asyncIterator]: () => ({ next }) } satisfies AsyncIterable<Chunk>,
    leave: (): void => void leave().catch(() => undefined),
  }
}

type Running = { fingerprint: string; outcome: Promise<SavedReply | null> }

type Work = () => unknown

const check = (earlier: { fingerprint: string }, fingerprint: string): void => {
  if (earlier.fingerprint !== fingerprint)
    throw mismatch(REUSED, { code: 'idempotency_key_reused' })
}

/** Runs requests, and each of those with a key once. */
export class Once {
  readonly #keys: KeyStore
  readonly #running = new Map<string, Running>()

  constructor(keys: KeyStore) {
    this.#keys = keys
  }

  /** Runs `work`, or returns the reply of the first request with the same key. `input`: what it asks for, with defaults filled in. */
  run(x: Exchange, endpoint: AnyEndpoint, input: unknown, work: Work): unknown {
    const key = keyOf(x)
    if (key === undefined) return work()
    x.requestKey = requestId(callerOf(x), key)
    return this.#withKey(x, endpoint, x.requestKey, fingerprintOf(x, input), work)
  }

  async #withKey(
    x: Exchange,
    endpoint: AnyEndpoint,
    id: string,
    fingerprint: string,
    work: Work,
  ): Promise<unknown> {
    for (let other = this.#running.get(id); other; other = this.#running.get(id)) {
      check(other, fingerprint)
      const reply = await other.outcome
      if (reply) return replay(reply)
    }
    const earlier = this.#keys.find(id)
    if (earlier) check(earlier, fingerprint)
    if (earlier?.reply) return replay(earlier.reply)
    if (earlier && !endpoint.recognizes)
      throw earlier.isDone
        ? conflict(NOT_KEPT, { code: 'reply_not_kept' })
        : conflict(INTERRUPTED, { code: 'request_interrupted' })
    return this.#first(x, endpoint, id, fingerprint, work)
  }

  /** Carries the request out. Nothing awaits between the look at the keys and here. */
  async #first(
    x: Exchange,
    endpoint: AnyEndpoint,
    id: string,
    fingerprint: string,
    work: Work,
  ): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<SavedReply | null>()
    this.#keys.begin(id, fingerprint)
    this.#running.set(id, { fingerprint, outcome: promise })
    const settle = (reply: SavedReply | null): void => {
      this.#running.delete(id)
      resolve(reply)
    }
    const fail = (): void => {
      this.#keys.release(id)
      settle(null)
    }
    const succeed = (reply: SavedReply | null): void => {
      this.#keys.end(id, reply, endpoint.once!)
      settle(reply)
    }
    try {
      const value = await work()
      if (!isDescribed(value) || value.body.kind !== 'stream') {
        succeed(savedReply(value))
        return value
      }
      const { body, ...described } = value
      const mayContinue = () => !x.endsWithConnection
      const onEnd = (text: string | null): void => {
        // A client that has closed only its side ends its work as well.
        const isCut = x.endsWithConnection && (x.res.destroyed || x.req.socket.readableEnded)
        if (text === null || isCut) fail()
        else succeed(limited(toSaved(described, text)))
      }
      const { source, leave } = collect(body.source, mayContinue, onEnd)
      if (x.res.destroyed) leave()
      else x.res.once('close', leave)
      return { ...value, body: { ...body, source } }
    } catch (error) {
      fail()
      throw error
    }
  }
}
