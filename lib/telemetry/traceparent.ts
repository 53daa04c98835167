/** The header `traceparent` of W3C Trace Context, and who may receive it. */
import { isIP } from 'node:net'
import type { SpanContext } from '@opentelemetry/api'

/** Version 00; of later versions, the fields that it has (W3C Trace Context, section 4.3). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined for a header that is malformed, which starts a trace of its own. */
export const parseTraceparent = (text: string | undefined): SpanContext | undefined => {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text ?? '') ?? []
  if (!traceId || !spanId || version === 'ff' || (version === '00' && more !== undefined))
    return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '0', 16) & 1, isRemote: true }
}

export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`

/** 10/8, 172.16/12, 192.168/16, 127/8, and their IPv6 counterparts fc00::/7, fe80::/10, ::1. */
const isPrivateAddress = (host: string): boolean =>
  isIP(host) === 4
    ? /^(?:10\.|127\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/.test(host)
    : /^(?:::1$|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:)/i.test(host)

/**
 * Whether a model server may see which requests belong together: only one on this machine or in its private network,
 * such as a gateway of one's own that is part of the trace. To others the id says which requests are of one turn and
 * person, which is of no use to them.
 */
export const mayReceiveTrace = (baseUrl: string): boolean => {
  if (!URL.canParse(baseUrl)) return false
  const host = new URL(baseUrl).hostname.replace(/^\[(.+)\]$/, '$1')
  if (isIP(host) !== 0) return isPrivateAddress(host)
  // A name without a dot is one of the local network, such as a container beside this one.
  return (
    host === 'localhost' ||
    /^[a-z0-9-]+$/i.test(host) ||
    /\.(?:local|internal|localhost)$/i.test(host)
  )
}
