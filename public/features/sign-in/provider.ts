/** Signing in again with the OpenID Connect provider, for the dialog of an expired session. */
import { ApiError, type ApiCall } from '../../api.ts'

/** Its name; null without one, or when that cannot be found out. */
export const providerOf = async (api: ApiCall): Promise<string | null> => {
  try {
    return (await api('GET /api/auth/status')).provider ?? null
  } catch (error) {
    // No connection: the password remains.
    if (error instanceof ApiError) return null
    throw error
  }
}
