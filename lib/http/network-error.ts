/** Why a request to another server got no answer, in words for a person. */

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the name is unknown',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNRESET: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection broke off',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  ABORT_ERR: 'it took too long',
}

/** Of what `fetch` or undici throws: a system or undici code, a timeout, a certificate. */
export const describeNetworkError = (error: unknown): string => {
  if (error instanceof Error && error.name === 'TimeoutError') return 'it took too long'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return REASONS[code] ?? (/CERT|TLS|SSL/.test(code) ? `its certificate: ${code}` : 'no connection')
}
