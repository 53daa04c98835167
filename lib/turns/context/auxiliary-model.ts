/**
 * Auxiliary models: summaries, titles, web pages, images. A home configures one per task
 * (`auxiliary.<task>` in config.yaml); without one the session's own model is used.
 */
import { sentence } from '../../base/sentences.ts'
import type { Clock } from '../../base/clock.ts'
import { isLocalUrl } from '../../base/local-network.ts'
import { ProviderFailure } from '../../agent/failure.ts'
import { providerFor } from '../../agent/providers/registry.ts'
import { type Wait, waitOn } from '../../agent/retry.ts'
import { complete } from '../../agent/complete.ts'
import { UsageMeter } from '../../agent/usage-meter.ts'
import type { ModelEndpoint, Providers, WireMessage } from '../../agent/types.ts'
import { UserError, unavailable } from '../../errors.ts'
import type { ModelServices } from '../../models/models.ts'
import { routingOf } from '../../models/routing.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import type { Home } from '../../profiles/home.ts'
import { emptyUsage, type Usage } from '../../schema/usage.ts'

export type AuxiliaryTask = 'compression' | 'vision' | 'web_extract' | 'title_generation' | 'mcp'

type AskOptions = {
  signal: AbortSignal
  /** Upper bound on output tokens, including reasoning. */
  maxTokens?: number
  /** Called once per model that was called, including failed calls. */
  onUsage?: (usage: Usage) => void
  /** Retries with backoff when the provider is busy. */
  retry?: boolean
  /** No other model answers when `endpoint` fails. */
  isOnly?: true
}

export type Auxiliary = {
  /** The endpoint that is tried first. */
  endpoint: ModelEndpoint
  /** The text of the answer, never blank. Throws `ProviderFailure`, or the signal's reason. */
  ask: (messages: readonly WireMessage[], options: AskOptions) => Promise<string>
}

export type AuxiliarySettings = {
  /** Null: the session's own provider. */
  provider: string | null
  model: string
  baseUrl: string
  apiKey: string | null
  timeoutMs: number
}

/** The settings of a task; `compression.summary_*` is where older files have them. */
export const auxiliarySettings = (
  config: ProfileConfig,
  task: AuxiliaryTask,
): AuxiliarySettings => {
  const own = config.auxiliary[task]
  const older = config.compression
  const isOlder = task === 'compression'
  const provider = own.provider || (isOlder ? older.summary_provider : '')
  const baseUrl = own.base_url || (isOlder ? older.summary_base_url : '')
  return {
    provider: ['', 'auto', 'main'].includes(provider.toLowerCase()) ? null : provider,
    model: own.model || (isOlder ? older.summary_model : ''),
    baseUrl: baseUrl.replace(/\/+$/, ''),
    apiKey: own.api_key || null,
    timeoutMs: own.timeout * 1_000,
  }
}

/** A summary reads a whole conversation. On a home GPU that takes many minutes, and a repeat would begin it again. */
const LOCAL_SUMMARY_MS = 1_800_000

const hostOf = (url: string): string => URL.parse(url)?.host ?? ''

/** The endpoint of a configured base URL. Our key is sent there only when it is configured for the task or belongs to that host. */
const atAddress = (
  settings: AuxiliarySettings,
  own: ModelEndpoint | null,
  config: ProfileConfig,
): ModelEndpoint => ({
  provider: settings.provider ?? 'custom',
  model: settings.model || (own?.model ?? ''),
  apiMode: /\/anthropic$/.test(settings.baseUrl) ? 'anthropic_messages' : 'chat_completions',
  baseUrl: settings.baseUrl,
  apiKey:
    settings.apiKey ??
    (own && hostOf(own.baseUrl) === hostOf(settings.baseUrl) ? own.apiKey : null),
  contextLength: 0,
  ...routingOf(config, settings.provider ?? 'custom', settings.baseUrl),
})

/** The one remaining retry is for an empty response; it fails instead. */
const noWait: Wait = async () => {
  throw new ProviderFailure('no_response', sentence('turn.empty'), {
    retryable: false,
  })
}

export class AuxiliaryModels {
  readonly #models: ModelServices
  readonly #providers: Providers
  readonly #clock: Clock

  constructor(models: ModelServices, providers: Providers, clock: Clock) {
    this.#models = models
    this.#providers = providers
    this.#clock = clock
  }

  /**
   * Binds a task to a home and the session's model; `model` is null or a UserError when that cannot be called. `modelId` is a
   * model that was asked for: no other one is tried then. Throws UserError when there is no model.
   */
  for(
    task: AuxiliaryTask,
    home: Home,
    model: ModelEndpoint | UserError | null,
    modelId?: string,
  ): Auxiliary {
    // The session's endpoint as its turns call it: with the real window, in the format that requests it.
    const own = model instanceof UserError || !model ? null : this.#models.windows.apply(model)
    const settings = auxiliarySettings(home.config(), task)
    /** Usable endpoints, best first: the task's, the session's, the home's default. */
    const candidates: ModelEndpoint[] = []
    let refusal = model instanceof UserError ? model : null
    const add = (find: () => ModelEndpoint | null): void => {
      try {
        const endpoint = find()
        // External agents run turns only.
        if (endpoint && endpoint.apiMode !== 'acp') candidates.push(endpoint)
      } catch (error) {
        // Not configured: try the next one. The first error is thrown when none is usable.
        if (!(error instanceof UserError)) throw error
        refusal ??= error
      }
    }
    if (modelId) add(() => this.#models.endpoint(home, modelId))
    else {
      add(() => this.#configured(home, settings, own))
      add(() => own)
    }
    if (!modelId && candidates.length === 0) add(() => this.#models.endpoint(home, ''))
    const [first, second] = candidates
    if (!first)
      throw (
        refusal ??
        unavailable('No model available. Choose one in the model menu.', { code: 'model_missing' })
      )

    const limitFor = ({ baseUrl: url }: ModelEndpoint): number =>
      task === 'compression' && isLocalUrl(url)
        ? Math.max(settings.timeoutMs, LOCAL_SUMMARY_MS)
        : settings.timeoutMs
    return {
      endpoint: first,
      ask: async (messages, options) => {
        try {
          return await this.#ask(first, messages, limitFor(first), options)
        } catch (error) {
          if (options.signal.aborted || options.isOnly || !second) throw error
          return this.#ask(second, messages, limitFor(second), options)
        }
      },
    }
  }

  #configured(home: Home, settings: AuxiliarySettings, own: ModelEndpoint | null) {
    if (settings.baseUrl) return atAddress(settings, own, home.config())
    // A provider without a model is not enough.
    if (!settings.model) return null
    const id = settings.provider ? `@${settings.provider}:${settings.model}` : settings.model
    const endpoint = this.#models.endpoint(home, id)
    return settings.apiKey ? { ...endpoint, apiKey: settings.apiKey } : endpoint
  }

  /** Calls one model. The text is not streamed to a client, so a retry has nothing to withdraw. */
  async #ask(
    endpoint: ModelEndpoint,
    messages: readonly WireMessage[],
    timeoutMs: number,
    { signal, maxTokens, onUsage, retry }: AskOptions,
  ): Promise<string> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const tally = new UsageMeter(endpoint)
    try {
      const { text: answer } = await complete({
        provider: providerFor(this.#providers, endpoint.apiMode),
        request: {
          // Auxiliary calls do not use the session's reasoning effort.
          endpoint: { ...endpoint, effort: 'none', ...(maxTokens && { maxTokens }) },
          messages: [...messages],
          tools: [],
          signal: AbortSignal.any([signal, deadline]),
          workspace: '',
        },
        messageId: '',
        emit: () => undefined,
        notice: () => undefined,
        meter: tally,
        wait: retry ? waitOn(this.#clock) : noWait,
        random: Math.random,
        // The caller has a fallback.
        ...(!retry && { maxAttempts: 1 }),
      })
      return answer.trim()
    } catch (error) {
      if (signal.aborted || !deadline.aborted) throw error
      const seconds = Math.round(timeoutMs / 1_000)
      throw new ProviderFailure(
        'network',
        `${endpoint.model} did not answer in ${seconds} seconds.`,
      )
    } finally {
      const usage = tally.total()
      if (usage.input_tokens + usage.output_tokens > 0) onUsage?.({ ...emptyUsage, ...usage })
    }
  }
}
