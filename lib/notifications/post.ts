/** Sends one POST request and says what to do after it. Addresses are checked when connecting, redirects are not followed. */
import type { Dispatcher } from 'undici'
import { type Clock, fromSeconds } from '../base/clock.ts'
import { UserError } from '../errors.ts'
import {
  checkForProxy,
  createGuardedDispatcher,
  refusalIn,
  type Resolve,
} from '../http/guarded-dispatcher.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { type Allow, checkUrl } from '../http/public-address.ts'
import type { NotificationProblem } from '../schema/notification.ts'

/** `gone`: the receiver does not exist any more. `later`: worth a retry. `refused`: it would be refused again. */
export type Delivery =
  | { how: 'sent' }
  | { how: 'gone' | 'refused'; problem: string; code: NotificationProblem }
  | { how: 'later'; problem: string; code: NotificationProblem; afterMs: number | null }

export type Outgoing = {
  url: string
  headers: Readonly<Record<string, string>>
  body: string | Buffer
  /** Addresses that are allowed besides those of the public internet. */
  allow: Allow
}

const TIMEOUT_MS = 15_000
const MAX_REPLY_BYTES = 64 << 10

/** Retry-After in seconds or as a date, at `now` (milliseconds since 1970); null when there is none. */
const retryAfterMs = (text: string | string[] | undefined, now: number): number | null => {
  const value = Array.isArray(text) ? text[0] : text
  if (!value) return null
  const ms = /^\d{1,9}$/.test(value) ? fromSeconds(Number(value)) : Date.parse(value) - now
  return Number.isFinite(ms) && ms > 0 ? ms : null
}

const codeOf = (status: number): NotificationProblem => {
  if (status === 401 || status === 403 || status === 407) return 'unauthorized'
  if (status === 404 || status === 410) return 'not_found'
  if (status === 413) return 'too_large'
  if (status === 429) return 'rate_limited'
  if (status >= 300 && status < 400) return 'redirected'
  return status >= 500 ? 'server_error' : 'rejected'
}

const toDelivery = (
  status: number,
  retryAfter: string | string[] | undefined,
  now: number,
): Delivery => {
  if (status >= 200 && status < 300) return { how: 'sent' }
  const failure = { problem: `It answered with status ${status}.`, code: codeOf(status) }
  if (status === 404 || status === 410) return { how: 'gone', ...failure }
  if (status === 408 || status === 429 || status >= 500)
    return { how: 'later', ...failure, afterMs: retryAfterMs(retryAfter, now) }
  return { how: 'refused', ...failure }
}

/** What sends requests of notifications. */
export class Poster {
  readonly #clock: Clock
  readonly #dispatcher: () => Dispatcher | undefined
  readonly #closing: AbortSignal
  readonly #resolve: Resolve | undefined
  readonly #timeoutMs: number

  /** `dispatcher` returns the proxy, if one is configured. */
  constructor(
    clock: Clock,
    dispatcher: () => Dispatcher | undefined,
    closing: AbortSignal,
    { resolve, timeoutMs = TIMEOUT_MS }: { resolve?: Resolve | undefined; timeoutMs?: number } = {},
  ) {
    this.#clock = clock
    this.#dispatcher = dispatcher
    this.#closing = closing
    this.#resolve = resolve
    this.#timeoutMs = timeoutMs
  }

  /** Never rejects. */
  async send({ url: address, headers, body, allow }: Outgoing): Promise<Delivery> {
    const resolve = this.#resolve
    const proxy = this.#dispatcher()
    const signal = AbortSignal.any([this.#closing, AbortSignal.timeout(this.#timeoutMs)])
    const own = proxy ? null : await createGuardedDispatcher(allow, resolve ? { resolve } : {})
    try {
      const url = checkUrl(address, allow)
      if (proxy) await checkForProxy(url, allow, resolve)
      const { request } = await import('undici')
      const reply = await request(url, {
        method: 'POST',
        headers,
        body,
        signal,
        dispatcher: (own ?? proxy) as Dispatcher,
      })
      await reply.body.dump({ limit: MAX_REPLY_BYTES })
      return toDelivery(reply.statusCode, reply.headers['retry-after'], this.#clock.now())
    } catch (error) {
      const refusal = error instanceof UserError ? error : refusalIn(error)
      if (refusal) return { how: 'refused', problem: refusal.message, code: 'address_blocked' }
      const problem = describeNetworkError(signal.aborted ? signal.reason : error)
      return {
        how: 'later',
        problem: `It could not be reached: ${problem}.`,
        code: 'unreachable',
        afterMs: null,
      }
    } finally {
      void own?.destroy()
    }
  }
}
