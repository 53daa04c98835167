/** What a forwarder passes on of the headers of a request and its answer, and what it says itself. */
import type { IncomingMessage } from 'node:http'
import type { Client } from './client-address.ts'

export type Target = {
  address: string
  epoch: number
  /** Proves to it that a request comes from a forwarder. */
  token?: string | null
}

/** What a request is for. */
export type Route = {
  cell: string
  /** Whom a trusted proxy names; null where no one signs in before the cell does. */
  person: string | null
  /** Path and query for the cell; begins with the prefix. */
  url: string
  /** Below which the browser sees the cell, without a trailing slash. */
  prefix: string
  /** Other cells have the same host name. */
  isShared: boolean
}

/** Names the cell that a request is for, so that a process that serves another one by now rejects it. */
export const CELL_HEADER = 'x-agent-webui-cell'
/** The token of the owner. */
export const FORWARDER_HEADER = 'x-agent-webui-forwarder'
/** Who was found to be allowed to use the cell. */
export const PERSON_HEADER = 'x-agent-webui-person'

/** RFC 9110 §7.6.1. */
const HOP_BY_HOP =
  /^(?:connection|keep-alive|proxy-authenticate|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i
/** Not for one connection, whatever `Connection` names: without its length, a body would be read as another request. */
const END_TO_END = /^(?:content-length|host)$/i
/** Set by us for what is behind us. */
const FORWARDED =
  /^(?:forwarded|via|x-forwarded-(?:for|host|proto|prefix)|x-real-ip|x-agent-webui-(?:cell|forwarder|person))$/i
/** What is behind us may believe these of us, as it does those above: only a trusted proxy may say them. */
const BELIEVED =
  /^(?:forwarded$|x-forwarded-|x-real-|(?:x-)?remote-|x-auth-request-|x-webauth-|tailscale-|cf-access-)/i

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

export const requestHeaders = (
  { rawHeaders, headers }: IncomingMessage,
  client: Client,
  { route, target }: { route: Route; target: Target },
): string[] => {
  const connectionNames = new Set(
    (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase()),
  )
  const isKept = (name: string): boolean =>
    END_TO_END.test(name) ||
    !(
      HOP_BY_HOP.test(name) ||
      FORWARDED.test(name) ||
      connectionNames.has(name.toLowerCase()) ||
      (BELIEVED.test(name) && !client.isTrustedPeer)
    )
  const pairs = rawHeaders.flatMap((name, at, all) =>
    at % 2 === 0 && isKept(name) ? [name, all[at + 1] ?? ''] : [],
  )
  pairs.push('X-Forwarded-For', client.address, 'X-Forwarded-Host', client.host)
  pairs.push('X-Forwarded-Proto', client.secure ? 'https' : 'http', CELL_HEADER, route.cell)
  if (route.prefix !== '') pairs.push('X-Forwarded-Prefix', route.prefix)
  if (target.token) pairs.push(FORWARDER_HEADER, target.token)
  if (route.person !== null) pairs.push(PERSON_HEADER, route.person)
  // A body of unknown length: Node sends it in chunks again.
  if (headers['transfer-encoding'] !== undefined) pairs.push('Transfer-Encoding', 'chunked')
  return pairs
}

/** Cells that share a host name have cookies of their own. */
export const answerHeaders = (
  { rawHeaders }: IncomingMessage,
  { prefix, isShared }: Route,
): string[] =>
  rawHeaders.flatMap((name, at, all) => {
    if (at % 2 === 1 || HOP_BY_HOP.test(name)) return []
    const value = all[at + 1] ?? ''
    const isOwnCookie = isShared && name.toLowerCase() === 'set-cookie'
    return [name, isOwnCookie ? value.replace(/; Path=\/(?=;|$)/, `; Path=${prefix}/`) : value]
  })
