/**
 * Traces of turns with OpenTelemetry: a span for the turn, and below it one for each model request and each tool call.
 * Names and attributes are those of the GenAI semantic conventions. The SDK is loaded only where an endpoint is set.
 */
import {
  type Attributes,
  context,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import { systemClock, waitAtMost } from '../../base/clock.ts'
import type { ObservedCall, ProviderRequest } from '../../agent/provider-types.ts'
import type { Outcome } from '../../agent/types.ts'
import { isLocalUrl } from '../../base/local-network.ts'
import { requestScope } from '../../base/request-scope.ts'
import { maskLeaving, redact } from '../../base/redact/redact.ts'
import type { TurnObserver } from './observed-agent.ts'
import type { TracingSettings } from './tracing-settings.ts'

export type TracingOptions = TracingSettings & {
  version: string
  warn: (text: string) => void
}

/** Version 00; of later versions, the fields that it has (W3C Trace Context, section 4.3). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The header of W3C Trace Context. Undefined for one that is malformed, which starts a trace of its own. */
const parseTraceparent = (text: string | undefined): SpanContext | undefined => {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text ?? '') ?? []
  if (!traceId || !spanId || version === 'ff' || (version === '00' && more !== undefined))
    return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '0', 16) & 1, isRemote: true }
}

const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`

/**
 * Whether a model server may see which requests belong together: only one on this machine or in its private network,
 * such as a gateway of one's own that is part of the trace. To others the id says which requests are of one turn and
 * person, which is of no use to them.
 */
const mayReceiveTrace = isLocalUrl

const CLOSE_MS = 2_000
/** The names of the convention, where ours differ. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  mistral: 'mistral_ai',
  xai: 'x_ai',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  bedrock: 'aws.bedrock',
  azure: 'azure.ai.openai',
}
const providerName = (provider: string): string => PROVIDER_NAMES[provider] ?? provider

/** The span as it is sent: with known secrets masked, whoever named it. */
const maskedSpan = (span: ReadableSpan): ReadableSpan => {
  const { name, attributes, status } = span
  const text = JSON.stringify({ name, attributes, status })
  const safe = maskLeaving(text)
  if (safe === text) return span
  const fields: Pick<ReadableSpan, 'name' | 'attributes' | 'status'> = JSON.parse(safe)
  const descriptors = Object.entries(fields).map(([key, value]) => [key, { value }])
  return Object.create(span, Object.fromEntries(descriptors))
}

/** Reports the first batch that could not be sent, and the first one that could be sent again. The others are dropped. */
const reporting = (exporter: SpanExporter, url: string, warn: TracingOptions['warn']) => {
  let isDown = false
  const report = (isSent: boolean): void => {
    if (isSent === !isDown) return
    isDown = !isSent
    warn(
      isSent
        ? `Traces are sent to ${url} again`
        : `Traces cannot be sent to ${url}; they are dropped until it accepts them`,
    )
  }
  return {
    export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
      exporter.export(spans.map(maskedSpan), result => {
        // ExportResultCode.SUCCESS of @opentelemetry/core.
        report(result.code === 0)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  } satisfies SpanExporter
}

const failed = (span: Span, type: string): void => {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

const errorType = (error: unknown): string =>
  error instanceof Error && 'type' in error ? String(error.type) : 'error'

const serverOf = (baseUrl: string): Attributes => {
  if (!URL.canParse(baseUrl)) return {}
  const { hostname, port, protocol } = new URL(baseUrl)
  return {
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
  }
}

const usageOf = (input: number, output: number): Attributes => ({
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
})

export class Tracing {
  readonly #hasContent: boolean
  readonly #provider: BasicTracerProvider
  readonly #tracer

  constructor(options: TracingOptions) {
    const { url, headers, serviceName, attributes, hasContent, version } = options
    this.#hasContent = hasContent
    const exporter = new OTLPTraceExporter({ url, headers: { ...headers } })
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        ...attributes,
        'service.name': serviceName,
        'service.version': version,
      }),
      spanProcessors: [new BatchSpanProcessor(reporting(exporter, url, options.warn))],
    })
    this.#tracer = this.#provider.getTracer('agent-webui', version)
  }

  readonly observeTurn: TurnObserver = request => {
    const parent = parseTraceparent(requestScope()?.traceparent)
    const turn = this.#tracer.startSpan(
      'invoke_agent agent-webui',
      {
        kind: SpanKind.INTERNAL,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'agent-webui',
          'gen_ai.provider.name': providerName(request.endpoint.provider),
          'gen_ai.request.model': request.endpoint.model,
          ...(request.sessionKey !== undefined && { 'gen_ai.conversation.id': request.sessionKey }),
        },
      },
      parent ? trace.setSpanContext(context.active(), parent) : context.active(),
    )
    const tools = new Map<string, Span>()
    return {
      call: request => {
        const [span, call] = this.#startCall(turn, request)
        if (mayReceiveTrace(request.endpoint.baseUrl))
          call.traceparent = formatTraceparent(span.spanContext())
        return call
      },
      event: event => {
        if (event.type === 'tool') {
          const span = this.#tracer.startSpan(
            `execute_tool ${event.name}`,
            {
              attributes: {
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': event.name,
                'gen_ai.tool.call.id': event.callId,
                'gen_ai.tool.type': 'function',
                ...(this.#hasContent && {
                  'gen_ai.tool.call.arguments': redact(JSON.stringify(event.args)),
                }),
              },
            },
            trace.setSpan(context.active(), turn),
          )
          tools.set(event.callId, span)
          return
        }
        const span = tools.get(event.callId)
        if (!span) return
        tools.delete(event.callId)
        if (event.isError) failed(span, 'tool_error')
        span.end()
      },
      ended: outcome => {
        // Calls that a stopped turn has left behind.
        for (const span of tools.values()) {
          failed(span, 'stopped')
          span.end()
        }
        this.#endTurn(turn, outcome)
      },
    }
  }

  /** Sends what is left, for at most two seconds. */
  async close(): Promise<void> {
    // What cannot be sent has been reported.
    await waitAtMost(
      systemClock,
      CLOSE_MS,
      this.#provider.shutdown().catch(() => undefined),
    )
  }

  #startCall(turn: Span, { endpoint, messages }: ProviderRequest): [Span, ObservedCall] {
    const span = this.#tracer.startSpan(
      `chat ${endpoint.model}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': providerName(endpoint.provider),
          'gen_ai.request.model': endpoint.model,
          ...(endpoint.maxTokens !== undefined && {
            'gen_ai.request.max_tokens': endpoint.maxTokens,
          }),
          ...serverOf(endpoint.baseUrl),
          ...(this.#hasContent && {
            'gen_ai.input.messages': redact(JSON.stringify(messages)),
          }),
        },
      },
      trace.setSpan(context.active(), turn),
    )
    let text = ''
    const call: ObservedCall = {
      delta: delta => {
        if (delta.type === 'text' && this.#hasContent) text += delta.text
        if (delta.type === 'finish')
          span.setAttribute('gen_ai.response.finish_reasons', [delta.reason])
        if (delta.type !== 'usage') return
        span.setAttributes({
          ...usageOf(delta.inputTokens, delta.outputTokens),
          ...(delta.cacheReadTokens !== undefined && {
            'gen_ai.usage.cache_read.input_tokens': delta.cacheReadTokens,
          }),
          ...(delta.cacheWriteTokens !== undefined && {
            'gen_ai.usage.cache_creation.input_tokens': delta.cacheWriteTokens,
          }),
        })
      },
      ended: error => {
        if (error !== undefined) failed(span, errorType(error))
        if (text !== '')
          span.setAttribute(
            'gen_ai.output.messages',
            redact(JSON.stringify([{ role: 'assistant', content: text }])),
          )
        span.end()
      },
    }
    return [span, call]
  }

  #endTurn(span: Span, { status, failure, usage, provider: name, model }: Outcome): void {
    span.setAttributes({
      ...usageOf(usage.input_tokens, usage.output_tokens),
      'gen_ai.provider.name': providerName(name),
      'gen_ai.response.model': model,
    })
    if (status !== 'finished') failed(span, failure?.type ?? status)
    span.end()
  }
}
