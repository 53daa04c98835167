/** Describes network errors of outgoing requests in a few words. */

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'DNS lookup failed',
  ECONNRESET: 'connection reset',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  ABORT_ERR: 'timed out',
}

/** Accepts what `fetch` and undici throw: system and undici codes, timeouts, certificate errors. */
export const describeNetworkError = (error: unknown): string => {
  if (error instanceof Error && error.name === 'TimeoutError') return 'timed out'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (
    REASONS[code] ?? (/CERT|TLS|SSL/.test(code) ? `certificate error: ${code}` : 'no connection')
  )
}
