/** The header `traceparent` of W3C Trace Context, and who may receive it. */
import { isLocalUrl } from '../../base/local-network.ts'
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

/**
 * Whether a model server may see which requests belong together: only one on this machine or in its private network,
 * such as a gateway of one's own that is part of the trace. To others the id says which requests are of one turn and
 * person, which is of no use to them.
 */
export const mayReceiveTrace = isLocalUrl
