/**
 * The idempotency keys of a day, with the replies to their requests. What is known is in memory, and a line for each change is in a
 * file for each day (UTC), which a restart reads, and which a cluster copies for the next owner.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { appendText, readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'
import type { KeyStore, KnownRequest, SavedReply } from './once.ts'

const KEPT_MS = 24 * 3_600_000
const MAX_KEYS = 20_000
/** Of the replies. The oldest are dropped. */
const MAX_REPLY_CHARS = 4_000_000
const NAME = /^\d{4}-\d\d-\d\d\.jsonl$/

const Reply = z.object({
  status: z.number(),
  type: z.string(),
  headers: z.record(z.string(), z.string()),
  text: z.string(),
})
const RequestLine = z.discriminatedUnion('t', [
  z.object({ t: z.literal('begun'), id: z.string(), at: z.number(), fingerprint: z.string() }),
  z.object({ t: z.literal('ended'), id: z.string(), reply: Reply.nullable() }),
  z.object({ t: z.literal('freed'), id: z.string() }),
])
type RequestLine = z.infer<typeof RequestLine>

const parse = (line: string): RequestLine[] => {
  try {
    return [RequestLine.parse(JSON.parse(line))]
  } catch {
    // Torn by a kill, damaged, or the empty one behind the last line.
    return []
  }
}

export class RequestKeys implements KeyStore {
  readonly #dir: string
  readonly #clock: Clock
  readonly #log: (message: string, extra?: Record<string, unknown>) => void
  readonly #maxKeys: number
  /** In the order in which they began. */
  readonly #requests = new Map<string, { at: number; fingerprint: string; isDone: boolean }>()
  /** Those that hold the text of a chat or a secret are nowhere else. */
  readonly #replies = new Map<string, SavedReply>()
  #chars = 0
  #isRead = false
  #today = ''

  constructor(
    dir: string,
    clock: Clock,
    log: (message: string, extra?: Record<string, unknown>) => void,
    maxKeys = MAX_KEYS,
  ) {
    this.#dir = dir
    this.#clock = clock
    this.#log = log
    this.#maxKeys = maxKeys
  }

  find(id: string): KnownRequest | undefined {
    this.#read()
    const request = this.#requests.get(id)
    if (!request || request.at < this.#clock.now() - KEPT_MS) return undefined
    const { fingerprint, isDone } = request
    return { fingerprint, isDone, reply: this.#replies.get(id) ?? null }
  }

  begin(id: string, fingerprint: string): void {
    this.#read()
    const line: RequestLine = { t: 'begun', id, at: this.#clock.now(), fingerprint }
    this.#append(line)
    this.#apply(line)
  }

  end(id: string, reply: SavedReply | null, keep: 'disk' | 'memory'): void {
    this.#apply({ t: 'ended', id, reply })
    this.#tryAppend({ t: 'ended', id, reply: keep === 'disk' ? reply : null })
  }

  release(id: string): void {
    this.#apply({ t: 'freed', id })
    this.#tryAppend({ t: 'freed', id })
  }

  #apply(line: RequestLine): void {
    const { id } = line
    this.#chars -= this.#replies.get(id)?.text.length ?? 0
    this.#replies.delete(id)
    if (line.t === 'ended') {
      const request = this.#requests.get(id)
      if (request) request.isDone = true
      if (line.reply) this.#keepReply(id, line.reply)
      return
    }
    this.#requests.delete(id)
    if (line.t === 'begun') {
      this.#requests.set(id, { at: line.at, fingerprint: line.fingerprint, isDone: false })
      this.#dropOld()
    }
  }

  #keepReply(id: string, reply: SavedReply): void {
    this.#replies.set(id, reply)
    this.#chars += reply.text.length
    for (const [oldest, { text }] of this.#replies) {
      if (this.#chars <= MAX_REPLY_CHARS) break
      this.#replies.delete(oldest)
      this.#chars -= text.length
    }
  }

  /** Of a request that has not ended, it must stay known that it began. */
  #dropOld(): void {
    for (const [id, { at, isDone }] of this.#requests) {
      const isExpired = at < this.#clock.now() - KEPT_MS
      if (!isExpired && this.#requests.size <= this.#maxKeys) break
      if (isExpired || isDone) this.#apply({ t: 'freed', id })
    }
  }

  #tryAppend(line: RequestLine): void {
    try {
      this.#append(line)
    } catch (error) {
      this.#log('the key of a request could not be kept', { error: messageOf(error) })
    }
  }

  #append(line: RequestLine): void {
    const name = this.#nameOf(this.#clock.now())
    if (name !== this.#today) this.#removeOld()
    this.#today = name
    // A line that a kill has torn ends before this one.
    appendText(join(this.#dir, name), `\n${JSON.stringify(line)}\n`)
  }

  /** The files of today and yesterday, when a key is first asked for. */
  #read(): void {
    if (this.#isRead) return
    this.#removeOld()
    for (const name of this.#names())
      for (const text of readWholeText(join(this.#dir, name)).split('\n'))
        for (const line of parse(text)) this.#apply(line)
    this.#isRead = true
  }

  #nameOf(ms: number): string {
    return `${new Date(ms).toISOString().slice(0, 10)}.jsonl`
  }

  /** Oldest first. */
  #names(): string[] {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    return readdirSync(this.#dir)
      .filter(name => NAME.test(name))
      .sort()
  }

  #removeOld(): void {
    const oldest = this.#nameOf(this.#clock.now() - KEPT_MS)
    for (const name of this.#names()) {
      if (name >= oldest) continue
      rmSync(join(this.#dir, name), { force: true })
      reportWrite(join(this.#dir, name))
    }
  }
}
