/** Metrics and traces. Their libraries are loaded only where the configuration turns them on. */
import { isSameSecret } from '../base/sha256.ts'
import type { Agent } from '../agent/types.ts'
import type { Config } from '../config.ts'
import type { CountedRequest } from '../http/write-response.ts'
import type { Log } from '../operations/log.ts'
import { redact } from '../base/redact/redact.ts'
import type { Metrics, Sources } from '../operations/telemetry/metrics.ts'
import { observeAgent, type TurnObserver } from '../operations/telemetry/observed-agent.ts'
import type { Tracing } from '../operations/telemetry/tracing.ts'
import { readTracingSettings } from '../operations/telemetry/tracing-settings.ts'

export type Telemetry = {
  /** Undefined where they are off. */
  metrics: { text: Metrics['text']; isToken: (given: string) => boolean } | undefined
  onRequest: ((finished: CountedRequest) => void) | undefined
  wrapAgent: (agent: Agent) => Agent
  close: () => Promise<void>
}

type Options = { version: string; log: Pick<Log, 'info' | 'warn'>; sources: Sources }

const openMetrics = async (
  { metricsToken }: Config,
  { version, sources }: Options,
): Promise<{ metrics: Metrics; isToken: (given: string) => boolean } | undefined> => {
  if (metricsToken === null) return undefined
  const { Metrics } = await import('../operations/telemetry/metrics.ts')
  return {
    metrics: await Metrics.open(version, sources),
    isToken: given => isSameSecret(given, metricsToken),
  }
}

const openTracing = async (
  { env }: Config,
  { version, log }: Options,
): Promise<Tracing | undefined> => {
  const settings = readTracingSettings(env)
  if (settings === null) return undefined
  const { Tracing } = await import('../operations/telemetry/tracing.ts')
  log.info(`Traces of turns are sent to ${settings.url}`)
  return new Tracing({ ...settings, version, redact, warn: log.warn })
}

/**
 * Throws an Error with a sentence when the configuration cannot work.
 * @public A test imports it in a process of its own, by a path that knip cannot read.
 */
export const openTelemetry = async (config: Config, options: Options): Promise<Telemetry> => {
  const [counted, tracing] = await Promise.all([
    openMetrics(config, options),
    openTracing(config, options),
  ])
  const observers: TurnObserver[] = [
    ...(counted ? [counted.metrics.observeTurn] : []),
    ...(tracing ? [tracing.observeTurn] : []),
  ]
  return {
    wrapAgent: agent => observeAgent(agent, observers),
    onRequest: counted && (finished => counted.metrics.request(finished)),
    metrics: counted && { text: accept => counted.metrics.text(accept), isToken: counted.isToken },
    close: async () => void (await tracing?.close()),
  }
}
