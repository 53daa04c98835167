/** The user whom a trusted proxy names in a header (AGENT_WEBUI_AUTH_HEADER). */
import type { IncomingMessage } from 'node:http'
import { invalid } from '../errors.ts'
import type { Client } from './client-address.ts'

const MAX_CHARS = 320

/**
 * Returns a function that reads the header; undefined: absent or empty. Throws a 400 when it comes from anywhere but a
 * trusted proxy, so that a wrong setup and a forged request are noticed, and when it is not one plain name. Only the peer of
 * the socket counts: X-Forwarded-For says nothing about who set this header.
 */
export const createUserHeader = (name: string | null) => {
  /** Other spellings, which servers before us may take for the same header, are other headers here. */
  const isNamed = ({ rawHeaders }: IncomingMessage): number =>
    rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === name).length

  return (req: IncomingMessage, client: () => Pick<Client, 'isTrustedPeer'>) => {
    const value = name === null ? undefined : req.headers[name]
    if (name === null || value === undefined) return undefined
    if (!client().isTrustedPeer)
      throw invalid(
        `The header ${name} is only accepted from proxies in AGENT_WEBUI_TRUSTED_PROXIES, and ${req.socket.remoteAddress} is none of them. Add it there if it is your proxy.`,
      )
    if (isNamed(req) !== 1)
      throw invalid(`The header ${name} was sent more than once. Your proxy must replace it.`)
    const user = String(value).trim()
    if (user.length > MAX_CHARS || !/^[\x20-\x7e]*$/.test(user))
      throw invalid(`The header ${name} must be a name of ASCII characters.`)
    return user === '' ? undefined : user
  }
}
