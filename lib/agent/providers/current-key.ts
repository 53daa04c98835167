/** Calls a provider with the current token of a sign-in, which may be newer than the one its endpoint was resolved with. */
import { UserError } from '../../errors.ts'
import { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, Provider, ProviderDelta, ProviderRequest } from '../types.ts'

/** See `keyFor` in lib/models/sign-in/sign-ins.ts. */
export type KeySource = (endpoint: ModelEndpoint, isRejected: boolean) => Promise<string | null>

const toFailure = (error: unknown): unknown => {
  if (!(error instanceof UserError)) return error
  // Only the user can sign in again. Everything else may pass.
  return error.kind === 'unauthorized'
    ? new ProviderFailure('auth_mismatch', error.message, { status: 401, retryable: false })
    : new ProviderFailure('network', error.message)
}

/** Renews the token before it expires, and once when it is rejected (401) before anything was received. */
export const withCurrentKey = (provider: Provider, keyFor: KeySource): Provider =>
  async function* (request: ProviderRequest): AsyncGenerator<ProviderDelta> {
    const { endpoint } = request
    if (!endpoint.signIn) return yield* provider(request)
    const find = (used: ModelEndpoint, isRejected: boolean) =>
      keyFor(used, isRejected).catch((error: unknown) => {
        throw toFailure(error)
      })
    const first = { ...endpoint, apiKey: (await find(endpoint, false)) ?? endpoint.apiKey }
    let hasStarted = false
    try {
      for await (const delta of provider({ ...request, endpoint: first })) {
        hasStarted = true
        yield delta
      }
      return
    } catch (error) {
      const isRejected = error instanceof ProviderFailure && error.status === 401
      if (hasStarted || !isRejected || request.signal.aborted) throw error
      const apiKey = await find(first, true)
      if (apiKey === null || apiKey === first.apiKey) throw error
      return yield* provider({ ...request, endpoint: { ...first, apiKey } })
    }
  }
