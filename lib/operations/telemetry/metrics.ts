/** Metrics for Prometheus and other collectors of OpenMetrics. Loaded only where they are on. */
import type { Counter, Histogram } from 'prom-client'
import { toSeconds } from '../../base/clock.ts'
import type { TurnObserver } from './observed-agent.ts'
import { Series } from './series.ts'

/** Values that are read when the metrics are asked for. */
export type Sources = {
  runningTurns: () => number
  queuedMessages: () => number
  eventStreams: () => number
  /** Bytes that can still be written to the disk of the state directory. */
  freeBytes: () => number
}

export type RequestMetric = {
  method: string
  /** Pattern of the route, never the path: `GET /share/:token` has one series. */
  route: string
  status: number
  seconds: number
  /** Event streams and downloads last as long as their reader wants. */
  isStream: boolean
}

/** Pairs of provider and model with series of their own. A client of the API could name new models without end. */
const MAX_MODELS = 100
const OTHER = 'other'
const REQUEST_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10]
const TURN_BUCKETS = [1, 5, 15, 60, 300, 1_800, 7_200]

/** Limits the number of pairs: later ones share the series `other`. */
class ModelLabels {
  readonly #models = new Set<string>()

  of(provider: string, model: string): { provider: string; model: string } {
    const key = JSON.stringify([provider, model])
    if (!this.#models.has(key) && this.#models.size >= MAX_MODELS)
      return { provider: OTHER, model: OTHER }
    this.#models.add(key)
    return { provider, model }
  }
}

const turnObserver = (series: Series): TurnObserver => {
  const models = new ModelLabels()
  const modelLabels = ['provider', 'model'] as const
  const turns = series.counter('turns_total', 'Turns that ended, by outcome.', ['outcome'])
  const durations = series.histogram('turn_duration_seconds', 'Duration of turns.', TURN_BUCKETS)
  const errors = series.counter('turn_errors_total', 'Turns that failed, by kind of error.', [
    'kind',
  ])
  const calls = series.counter('model_requests_total', 'Requests to models, by result.', [
    ...modelLabels,
    'result',
  ])
  const tokens = series.counter('model_tokens_total', 'Tokens of model requests, by type.', [
    ...modelLabels,
    'type',
  ])
  const cost = series.counter(
    'model_cost_dollars_total',
    'Estimated cost in US dollars.',
    modelLabels,
  )
  const tools = series.counter('tool_calls_total', 'Tool calls that ended, by result.', ['result'])

  return request => {
    const startedAt = performance.now()
    return {
      call({ endpoint }) {
        const labels = models.of(endpoint.provider, endpoint.model)
        return {
          delta(delta) {
            if (delta.type !== 'usage') return
            tokens.inc({ ...labels, type: 'input' }, delta.inputTokens)
            tokens.inc({ ...labels, type: 'output' }, delta.outputTokens)
            tokens.inc({ ...labels, type: 'cache_read' }, delta.cacheReadTokens ?? 0)
            tokens.inc({ ...labels, type: 'cache_write' }, delta.cacheWriteTokens ?? 0)
          },
          ended(error) {
            const isStopped = request.signal.aborted
            const result = error === undefined ? 'ok' : isStopped ? 'stopped' : 'error'
            calls.inc({ ...labels, result })
          },
        }
      },
      event(event) {
        if (event.type === 'tool_complete') tools.inc({ result: event.isError ? 'error' : 'ok' })
      },
      ended({ status, failure, usage, provider, model }) {
        const labels = models.of(provider, model)
        turns.inc({ outcome: status })
        durations.observe(toSeconds(performance.now() - startedAt))
        if (failure) errors.inc({ kind: failure.type })
        cost.inc(labels, usage.estimated_cost)
        if (request.endpoint.apiMode !== 'acp') return
        // External agents call their models themselves.
        tokens.inc({ ...labels, type: 'input' }, usage.input_tokens)
        tokens.inc({ ...labels, type: 'output' }, usage.output_tokens)
      },
    }
  }
}

/** The metrics of a service. */
export class Metrics {
  readonly observeTurn: TurnObserver
  readonly #series: Series
  readonly #requests: Counter
  readonly #durations: Histogram

  /** `version` is that of the program. */
  static async open(version: string, sources: Sources): Promise<Metrics> {
    return new Metrics(await Series.open(), version, sources)
  }

  private constructor(series: Series, version: string, sources: Sources) {
    this.#series = series
    series.gauge('build_info', 'Always 1; the version is a label.', ['version']).set({ version }, 1)
    series.read('turns_running', 'Turns that run now.', sources.runningTurns)
    series.read('queued_messages', 'Messages that wait for a turn to end.', sources.queuedMessages)
    series.read('event_streams', 'Open event streams.', sources.eventStreams)
    series.read('state_disk_free_bytes', 'Free space on the disk of the state.', sources.freeBytes)
    this.#requests = series.counter('http_requests_total', 'Requests, by route and status.', [
      'method',
      'route',
      'status',
    ])
    this.#durations = series.histogram(
      'http_request_duration_seconds',
      'Duration of requests, without event streams.',
      REQUEST_BUCKETS,
      ['method'],
    )
    this.observeTurn = turnObserver(series)
  }

  request({ method, route, status, seconds, isStream }: RequestMetric): void {
    this.#requests.inc({ method, route, status })
    if (!isStream) this.#durations.observe({ method }, seconds)
  }

  /** The exposition, as OpenMetrics where `accept` asks for it, else as Prometheus text. */
  text(accept: string): Promise<{ type: string; text: string }> {
    return this.#series.text(accept)
  }
}
