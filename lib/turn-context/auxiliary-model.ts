/**
 * The model for work beside the conversation: summaries, titles, reading pages and pictures. A home names one per task
 * (`auxiliary.<task>` in config.yaml); without one the conversation's own model does it.
 */
import { ProviderFailure } from '../agent/failure.ts'
import { providerFor } from '../agent/providers/registry.ts'
import { type Wait, wait } from '../agent/retry.ts'
import { complete } from '../agent/complete.ts'
import { createUsageMeter } from '../agent/usage-meter.ts'
import type { ModelEndpoint, Provider, Providers, WireMessage } from '../agent/types.ts'
import { UserError, unavailable } from '../errors.ts'
import { routingOf } from '../models/routing.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import type { Home } from '../profiles/home.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'

export type AuxiliaryTask = 'compression' | 'vision' | 'web_extract' | 'title_generation'

export type AskOptions = {
  signal: AbortSignal
  /** Upper bound on the answer's tokens; models that think aloud spend them on that too. */
  maxTokens?: number
  /** What the question cost, told once per model that was asked, failed ones included. */
  onUsage?: (usage: Usage) => void
  /** Waits and asks again when the provider is busy; for answers worth waiting for. */
  retry?: boolean
}

export type Auxiliary = {
  /** Who is asked first. */
  endpoint: ModelEndpoint
  /** The text of the answer, never blank. Throws `ProviderFailure`, or the signal's reason. */
  ask: (messages: readonly WireMessage[], options: AskOptions) => Promise<string>
}

export type AuxiliaryOptions = {
  providers: Providers
  /** Throws a Refusal with the sentence why the model cannot be called. */
  endpoint: (home: Home, model: string) => ModelEndpoint
  /** Chance and waiting as values, for tests. */
  wait?: Wait
  random?: () => number
}

/** Binds a task to a home and to the model of the conversation; null or a refusal when that cannot be called. */
export type AuxiliaryFor = (
  task: AuxiliaryTask,
  home: Home,
  own: ModelEndpoint | UserError | null,
) => Auxiliary

export type AuxiliarySettings = {
  /** Null: whichever serves the conversation. */
  provider: string | null
  model: string
  baseUrl: string
  apiKey: string | null
  timeoutMs: number
}

/** The settings of a task; `compression.summary_*` is where older files have them. */
export const auxiliarySettings = (
  config: Pick<ProfileConfig, 'auxiliary' | 'compression'>,
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

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '')

/** An address of the task's own. A key goes there only when it stands beside it, or belongs to that host already. */
const atAddress = (
  said: AuxiliarySettings,
  own: ModelEndpoint | null,
  config: ProfileConfig,
): ModelEndpoint => ({
  provider: said.provider ?? 'custom',
  model: said.model || (own?.model ?? ''),
  apiMode: /\/anthropic$/.test(said.baseUrl) ? 'anthropic_messages' : 'chat_completions',
  baseUrl: said.baseUrl,
  apiKey: said.apiKey ?? (own && hostOf(own.baseUrl) === hostOf(said.baseUrl) ? own.apiKey : null),
  contextLength: 0,
  ...routingOf(config, said.provider ?? 'custom', said.baseUrl),
})

export const createAuxiliaryModels = (deps: AuxiliaryOptions): AuxiliaryFor => {
  const named = (home: Home, said: AuxiliarySettings, own: ModelEndpoint | null) => {
    if (said.baseUrl) return atAddress(said, own, home.settings())
    // A provider alone says nothing about which of its models is meant.
    if (!said.model) return null
    const id = said.provider ? `@${said.provider}:${said.model}` : said.model
    const endpoint = deps.endpoint(home, id)
    return said.apiKey ? { ...endpoint, apiKey: said.apiKey } : endpoint
  }

  return (task, home, given) => {
    const own = given instanceof UserError ? null : given
    const said = auxiliarySettings(home.settings(), task)
    /** Whoever can answer, best first: the task's own model, the conversation's, the home's default. */
    const candidates: ModelEndpoint[] = []
    let refusal = given instanceof UserError ? given : null
    const add = (find: () => ModelEndpoint | null): void => {
      try {
        const endpoint = find()
        // Another program answers turns, not questions.
        if (endpoint && endpoint.apiMode !== 'acp') candidates.push(endpoint)
      } catch (error) {
        // Not set up: the next one serves, and when none does this sentence says why.
        if (!(error instanceof UserError)) throw error
        refusal ??= error
      }
    }
    add(() => named(home, said, own))
    add(() => own)
    if (candidates.length === 0) add(() => deps.endpoint(home, ''))
    const [first, second] = candidates
    if (!first) throw refusal ?? unavailable('No model can be asked. Pick one in the model menu.')

    return {
      endpoint: first,
      async ask(messages, options) {
        try {
          return await askOne(deps, first, messages, said.timeoutMs, options)
        } catch (error) {
          if (options.signal.aborted || !second) throw error
          return askOne(deps, second, messages, said.timeoutMs, options)
        }
      },
    }
  }
}

const quiet = () => undefined

/** Its failures are final: who asks has something else to do instead. */
const once = (provider: Provider): Provider =>
  async function* (request) {
    try {
      yield* provider(request)
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      const { type, message, status } = error
      const extra = status === undefined ? {} : { status }
      throw new ProviderFailure(type, message, { retryable: false, ...extra })
    }
  }

/** All that is left to wait for: another answer where the first was empty. */
const noWait: Wait = async () => {
  throw new ProviderFailure('no_response', 'The model answered nothing.', { retryable: false })
}

/** Nobody watches this answer, so one that must be made again has not been spoken. */
const askOne = async (
  { providers, ...deps }: AuxiliaryOptions,
  endpoint: ModelEndpoint,
  messages: readonly WireMessage[],
  timeoutMs: number,
  { signal, maxTokens, onUsage, retry }: AskOptions,
): Promise<string> => {
  // The conversation's own effort would be spent on a side question.
  const plain: ModelEndpoint = { ...endpoint, effort: 'none' }
  const deadline = AbortSignal.timeout(timeoutMs)
  const tally = createUsageMeter(endpoint)
  try {
    const provider = providerFor(providers, endpoint.apiMode)
    const { text: answer } = await complete({
      provider: retry ? provider : once(provider),
      request: {
        endpoint: { ...plain, ...(maxTokens && { maxTokens }) },
        messages: [...messages],
        tools: [],
        signal: AbortSignal.any([signal, deadline]),
        workspace: '',
      },
      messageId: '',
      emit: quiet,
      notice: () => undefined,
      meter: tally,
      wait: retry ? (deps.wait ?? wait) : noWait,
      random: deps.random ?? Math.random,
    })
    return answer.trim()
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error
    const seconds = Math.round(timeoutMs / 1_000)
    throw new ProviderFailure('network', `${endpoint.model} did not answer in ${seconds} seconds.`)
  } finally {
    const usage = tally.total()
    if (usage.input_tokens + usage.output_tokens > 0) onUsage?.({ ...emptyUsage, ...usage })
  }
}
