/** Describes network errors of outgoing requests in a few words. */
import { type Sentence, sentence } from '../base/sentences.ts'

const REASONS: Readonly<Record<string, Sentence>> = {
  ECONNREFUSED: sentence('net.refused'),
  ENOTFOUND: sentence('net.unknown_host'),
  EAI_AGAIN: sentence('net.dns'),
  ECONNRESET: sentence('net.reset'),
  UND_ERR_SOCKET: sentence('net.closed'),
  UND_ERR_CONNECT_TIMEOUT: sentence('net.connect_timeout'),
  ABORT_ERR: sentence('net.timeout'),
}

/** Accepts what `fetch` and undici throw: system and undici codes, timeouts, certificate errors. */
export const describeNetworkError = (error: unknown): Sentence => {
  if (error instanceof Error && error.name === 'TimeoutError') return sentence('net.timeout')
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (
    REASONS[code] ??
    (/CERT|TLS|SSL/.test(code) ? sentence('net.certificate', { code }) : sentence('net.none'))
  )
}
