/** Signing in again with a passkey, for the dialog of an expired session. */
import { ApiError, type ApiCall } from '../../api.ts'

/** Whether there is a passkey for the address of this page. False when that cannot be found out. */
export const offersPasskey = async (api: ApiCall): Promise<boolean> => {
  if (!('PublicKeyCredential' in window)) return false
  try {
    return (await api('POST /api/auth/passkey/options', {})).offered
  } catch (error) {
    // An address without a host name, or no connection: the password remains.
    if (error instanceof ApiError) return false
    throw error
  }
}

/** False: the person closed the dialog of the browser. */
export const signInWithPasskey = async (api: ApiCall): Promise<boolean> => {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const { offered: _, ...options } = await api('POST /api/auth/passkey/options', {})
  let made: Awaited<ReturnType<typeof startAuthentication>>
  try {
    made = await startAuthentication({ optionsJSON: options as never })
  } catch (error) {
    if (error instanceof Error && /^(NotAllowedError|AbortError)$/.test(error.name)) return false
    throw error
  }
  const response = { ...made, response: { ...made.response } }
  await api('POST /api/auth/passkey/login', { response })
  return true
}
