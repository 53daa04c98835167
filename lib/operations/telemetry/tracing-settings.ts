/** Reads the standard variables of OpenTelemetry. Without an endpoint, nothing else of tracing is loaded. */

export type TracingSettings = {
  /** Where traces are sent: OTLP over HTTP. */
  url: string
  headers: Readonly<Record<string, string>>
  serviceName: string
  /** Of the resource. */
  attributes: Readonly<Record<string, string>>
  /** Texts of messages and arguments of tools are part of the traces. */
  hasContent: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** `key=value,key=value`, percent-encoded (W3C Baggage), as in OTEL_EXPORTER_OTLP_HEADERS. */
const parsePairs = (text = ''): Record<string, string> =>
  Object.fromEntries(
    text.split(',').flatMap(pair => {
      const cut = pair.indexOf('=')
      if (cut < 1) return []
      return [[decode(pair.slice(0, cut)), decode(pair.slice(cut + 1))]]
    }),
  )

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    // Not encoded.
    return text.trim()
  }
}

const isTrue = (text: string | undefined): boolean => text?.trim().toLowerCase() === 'true'

/** Null when tracing is off. Throws an Error with a sentence for a value that cannot work. */
export const readTracingSettings = (env: Environment): TracingSettings | null => {
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim()
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim()
  if (isTrue(env.OTEL_SDK_DISABLED) || env.OTEL_TRACES_EXPORTER?.trim() === 'none') return null
  if (!own && !shared) return null
  const name = own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const url = own || `${shared?.replace(/\/+$/, '')}/v1/traces`
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new Error(`${name} must be a URL like http://127.0.0.1:4318, not "${own || shared}"`)
  const protocol =
    env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?.trim() || env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim()
  if (protocol === 'grpc')
    throw new Error(
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json: gRPC is not supported. Use the port of the collector for HTTP, usually 4318',
    )
  const attributes = parsePairs(env.OTEL_RESOURCE_ATTRIBUTES)
  return {
    url,
    headers: parsePairs(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS),
    serviceName: env.OTEL_SERVICE_NAME?.trim() || attributes['service.name'] || 'agent-webui',
    attributes,
    hasContent: isTrue(env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT),
  }
}
