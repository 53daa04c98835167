/** What belongs to the request that is being handled, for log lines and traces anywhere below it. A turn keeps that of the request that started it. */
import { AsyncLocalStorage } from 'node:async_hooks'

export type RequestScope = {
  readonly id: string
  /** Trace that the client is part of (W3C Trace Context), unchecked. */
  readonly traceparent: string | undefined
}

const storage = new AsyncLocalStorage<RequestScope>()

export const withinRequest = <T>(scope: RequestScope, work: () => T): T => storage.run(scope, work)

/** Undefined outside of requests: at the start, in timers, and in scheduled tasks. */
export const requestScope = (): RequestScope | undefined => storage.getStore()
