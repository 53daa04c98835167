/** Metrics for Prometheus and other collectors of OpenMetrics. Loaded only where they are on. */
import type { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { toSeconds } from '../../base/clock.ts'
import type { TurnObserver } from './observed-agent.ts'

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

export type Metrics = {
  request(finished: RequestMetric): void
  observeTurn: TurnObserver
  /** The exposition, as OpenMetrics where `accept` asks for it, else as Prometheus text. */
  text(accept: string): Promise<{ type: string; text: string }>
}

const PREFIX = 'agent_webui_'
/** Pairs of provider and model with series of their own. A client of the API could name new models without end. */
const MAX_MODELS = 100
const OTHER = 'other'
const REQUEST_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10]
const TURN_BUCKETS = [1, 5, 15, 60, 300, 1_800, 7_200]

type Make = {
  counter: (name: string, help: string, labels?: readonly string[]) => Counter
  gauge: (name: string, help: string, labels?: readonly string[]) => Gauge
  read: (name: string, help: string, value: () => number) => void
  histogram: (
    name: string,
    help: string,
    buckets: number[],
    labels?: readonly string[],
  ) => Histogram
}

const createMake = (prom: typeof import('prom-client'), registers: Registry[]): Make => {
  const named = (name: string, help: string, labelNames: readonly string[] = []) => ({
    name: `${PREFIX}${name}`,
    help,
    labelNames,
    registers,
  })
  return {
    counter: (...given) => new prom.Counter(named(...given)),
    gauge: (...given) => new prom.Gauge(named(...given)),
    read(name, help, value) {
      void new prom.Gauge({
        ...named(name, help),
        collect() {
          this.set(value())
        },
      })
    },
    histogram: (name, help, buckets, labels) =>
      new prom.Histogram({ ...named(name, help, labels), buckets }),
  }
}

/** Limits the number of pairs: later ones share the series `other`. */
const createModelLabels = () => {
  const known = new Set<string>()
  return (provider: string, model: string): { provider: string; model: string } => {
    const key = JSON.stringify([provider, model])
    if (!known.has(key) && known.size >= MAX_MODELS) return { provider: OTHER, model: OTHER }
    known.add(key)
    return { provider, model }
  }
}

const createTurnMetrics = ({ counter, histogram }: Make): TurnObserver => {
  const labelsOf = createModelLabels()
  const modelLabels = ['provider', 'model'] as const
  const turns = counter('turns_total', 'Turns that ended, by outcome.', ['outcome'])
  const durations = histogram('turn_duration_seconds', 'Duration of turns.', TURN_BUCKETS)
  const errors = counter('turn_errors_total', 'Turns that failed, by kind of error.', ['kind'])
  const calls = counter('model_requests_total', 'Requests to models, by result.', [
    ...modelLabels,
    'result',
  ])
  const tokens = counter('model_tokens_total', 'Tokens of model requests, by type.', [
    ...modelLabels,
    'type',
  ])
  const cost = counter('model_cost_dollars_total', 'Estimated cost in US dollars.', modelLabels)
  const tools = counter('tool_calls_total', 'Tool calls that ended, by result.', ['result'])

  return request => {
    const startedAt = performance.now()
    return {
      call({ endpoint }) {
        const labels = labelsOf(endpoint.provider, endpoint.model)
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
        const labels = labelsOf(provider, model)
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

/**
 * The names of families of counters without `_total`, no empty lines, and a mark of the end. prom-client has this format, too,
 * but changes the names of its metrics for all later replies in the other one.
 */
const toOpenMetrics = (text: string): string => {
  const counters = new Set(
    [...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(found => found[1]),
  )
  const named = text.replace(/^# (HELP|TYPE) (\S+)_total /gm, (whole, kind, name) =>
    counters.has(name) ? `# ${kind} ${name} ` : whole,
  )
  return `${named.replace(/\n\n+/g, '\n').trimEnd()}\n# EOF\n`
}

/** `version` is that of the program. */
export const createMetrics = async (version: string, sources: Sources): Promise<Metrics> => {
  const { default: prom } = await import('prom-client')
  const registry = new prom.Registry()
  const make = createMake(prom, [registry])
  prom.collectDefaultMetrics({ register: registry })
  // Gauges with the name of a counter, which the format forbids; their values are also those of the gauges without `_total`.
  for (const { name, type } of await registry.getMetricsAsJSON())
    if (name.endsWith('_total') && `${type}` !== 'counter') registry.removeSingleMetric(name)
  make.gauge('build_info', 'Always 1; the version is a label.', ['version']).set({ version }, 1)
  make.read('turns_running', 'Turns that run now.', sources.runningTurns)
  make.read('queued_messages', 'Messages that wait for a turn to end.', sources.queuedMessages)
  make.read('event_streams', 'Open event streams.', sources.eventStreams)
  make.read('state_disk_free_bytes', 'Free space on the disk of the state.', sources.freeBytes)
  const requests = make.counter('http_requests_total', 'Requests, by route and status.', [
    'method',
    'route',
    'status',
  ])
  const durations = make.histogram(
    'http_request_duration_seconds',
    'Duration of requests, without event streams.',
    REQUEST_BUCKETS,
    ['method'],
  )
  return {
    request({ method, route, status, seconds, isStream }) {
      requests.inc({ method, route, status })
      if (!isStream) durations.observe({ method }, seconds)
    },
    observeTurn: createTurnMetrics(make),
    async text(accept) {
      // prom-client writes a word that neither format has.
      const text = (await registry.metrics()).replace(/ Nan$/gm, ' NaN')
      return accept.includes('application/openmetrics-text')
        ? { type: prom.openMetricsContentType, text: toOpenMetrics(text) }
        : { type: prom.prometheusContentType, text }
    },
  }
}
