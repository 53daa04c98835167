/** Metrics and traces. Their libraries are loaded only where the configuration turns them on. */
import { isSameSecret } from '../base/sha256.ts'
import type { Agent } from '../agent/types.ts'
import type { Config } from '../config.ts'
import type { CountedRequest } from '../http/write-response.ts'
import type { Log } from '../operations/log.ts'
import type { Metrics, Sources } from '../operations/telemetry/metrics.ts'
import { observeAgent, type TurnObserver } from '../operations/telemetry/observed-agent.ts'
import type { Tracing } from '../operations/telemetry/tracing.ts'
import { readTracingSettings } from '../operations/telemetry/tracing-settings.ts'

const metricsOf = async (version: string, sources: Sources): Promise<Metrics> => {
  const { Metrics } = await import('../operations/telemetry/metrics.ts')
  return Metrics.open(version, sources)
}

const tracingOf = async (
  { env }: Config,
  version: string,
  log: Log,
): Promise<Tracing | undefined> => {
  const settings = readTracingSettings(env)
  if (settings === null) return undefined
  const { Tracing } = await import('../operations/telemetry/tracing.ts')
  log.info(`Traces of turns are sent to ${settings.url}`)
  return new Tracing({ ...settings, version, warn: log.warn })
}

/** @public A test imports it in a process of its own, by a path that knip cannot read. */
export class Telemetry {
  /** Undefined where they are off. */
  readonly metrics: { text: Metrics['text']; isToken: (sent: string) => boolean } | undefined
  readonly onRequest: ((finished: CountedRequest) => void) | undefined
  readonly #observers: readonly TurnObserver[]
  readonly #tracing: Tracing | undefined

  /** Throws an Error with a sentence when the configuration cannot work. */
  static async open(
    config: Config,
    version: string,
    log: Log,
    sources: Sources,
  ): Promise<Telemetry> {
    const { metricsToken } = config
    const [metrics, tracing] = await Promise.all([
      metricsToken === null ? undefined : metricsOf(version, sources),
      tracingOf(config, version, log),
    ])
    return new Telemetry(metricsToken, metrics, tracing)
  }

  private constructor(
    token: string | null,
    metrics: Metrics | undefined,
    tracing: Tracing | undefined,
  ) {
    this.metrics = metrics && {
      text: accept => metrics.text(accept),
      isToken: sent => token !== null && isSameSecret(sent, token),
    }
    this.onRequest = metrics && (finished => metrics.request(finished))
    this.#observers = [metrics, tracing].flatMap(each => each?.observeTurn ?? [])
    this.#tracing = tracing
  }

  wrapAgent(agent: Agent): Agent {
    return observeAgent(agent, [...this.#observers])
  }

  async close(): Promise<void> {
    await this.#tracing?.close()
  }
}
