/** Requests of the service worker: a stored reply is used when one fails, when a proxy does not reach the server, and when the connection stalls. */
import type { Clock } from '../../lib/base/clock.ts'
import { isGatewayStatus } from '../../lib/base/unreachable.ts'

/** How long a request may take while there is a stored reply. */
export const PATIENCE_MS = 8_000
/** The same after one has stalled: a page makes many requests, and waiting for each would add up. */
export const SHORT_MS = 1_000

export type FromNetwork = (
  request: Request,
  otherwise: () => Promise<Response | undefined>,
) => Promise<Response>

/** The server's own errors are JSON. */
const isUnreachable = ({ status, headers }: Response): boolean =>
  isGatewayStatus(status) && !headers.get('content-type')?.includes('json')

export const createNetwork = (
  send: (request: Request) => Promise<Response>,
  clock: Clock,
): FromNetwork => {
  let hasStalled = false

  return async (request, otherwise) => {
    const response = send(request)
    response.then(
      () => {
        hasStalled = false
      },
      () => undefined,
    )
    try {
      const reply = await Promise.race([response, clock.delay(hasStalled ? SHORT_MS : PATIENCE_MS)])
      if (reply && !isUnreachable(reply)) return reply
      hasStalled ||= !reply
      return (await otherwise()) ?? (await response)
    } catch (error) {
      const copy = await otherwise()
      if (copy) return copy
      throw error
    }
  }
}
