/** Series of metrics, and their exposition. Loaded only where metrics are on. */
import type { Counter, Gauge, Histogram, Registry } from 'prom-client'

type Prom = typeof import('prom-client')

const PREFIX = 'agent_webui_'

/**
 * The names of families of counters without `_total`, no empty lines, and a mark of the end. prom-client has this format, too,
 * but changes the names of its metrics for all later replies in the other one.
 */
const toOpenMetrics = (text: string): string => {
  const counters = new Set(
    [...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(match => match[1]),
  )
  const metrics = text.replace(/^# (HELP|TYPE) (\S+)_total /gm, (whole, kind, name) =>
    counters.has(name) ? `# ${kind} ${name} ` : whole,
  )
  return `${metrics.replace(/\n\n+/g, '\n').trimEnd()}\n# EOF\n`
}

/** The series of a process, with those of Node.js. */
export class Series {
  readonly #prom: Prom
  readonly #registry: Registry

  static async open(): Promise<Series> {
    const { default: prom } = await import('prom-client')
    const registry = new prom.Registry()
    prom.collectDefaultMetrics({ register: registry })
    // Gauges with the name of a counter, which the format forbids; their values are also those of the gauges without `_total`.
    for (const { name, type } of await registry.getMetricsAsJSON())
      if (name.endsWith('_total') && `${type}` !== 'counter') registry.removeSingleMetric(name)
    return new Series(prom, registry)
  }

  private constructor(prom: Prom, registry: Registry) {
    this.#prom = prom
    this.#registry = registry
  }

  #definition(name: string, help: string, labelNames: readonly string[] = []) {
    return { name: `${PREFIX}${name}`, help, labelNames, registers: [this.#registry] }
  }

  counter(name: string, help: string, labels?: readonly string[]): Counter {
    return new this.#prom.Counter(this.#definition(name, help, labels))
  }

  gauge(name: string, help: string, labels?: readonly string[]): Gauge {
    return new this.#prom.Gauge(this.#definition(name, help, labels))
  }

  /** A gauge whose value is read when the metrics are asked for. */
  read(name: string, help: string, value: () => number): void {
    void new this.#prom.Gauge({
      ...this.#definition(name, help),
      collect() {
        this.set(value())
      },
    })
  }

  histogram(name: string, help: string, buckets: number[], labels?: readonly string[]): Histogram {
    return new this.#prom.Histogram({ ...this.#definition(name, help, labels), buckets })
  }

  /** As OpenMetrics where `accept` asks for it, else as Prometheus text. */
  async text(accept: string): Promise<{ type: string; text: string }> {
    // prom-client writes a word that neither format has.
    const text = (await this.#registry.metrics()).replace(/ Nan$/gm, ' NaN')
    return accept.includes('application/openmetrics-text')
      ? { type: this.#prom.openMetricsContentType, text: toOpenMetrics(text) }
      : { type: this.#prom.prometheusContentType, text }
  }
}
