/** Providers by wire format, optionally through the user's HTTP proxy. */
import type { Clock } from '../../base/clock.ts'
import type { Dispatcher } from 'undici'
import { readProxies } from '../../base/proxy-variables.ts'
import { ProviderFailure } from '../failure.ts'
import type { ApiMode, HttpApiMode, Provider, Providers } from '../types.ts'
import { createAnthropicMessages } from './anthropic-messages.ts'
import { createCodexResponses } from './codex-responses.ts'
import { createDemo } from './demo.ts'
import { createOllamaChat } from './ollama-chat.ts'
import { createOpenAiChat } from './openai-chat.ts'
import type { HttpProviderOptions, KeySource } from './http-provider.ts'
import { createBodyMemory } from './body-memory.ts'

/** Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` in either case, as curl does. Local servers are never proxied. */
export const createProxyDispatcher = async (
  env: Readonly<Record<string, string>>,
): Promise<Dispatcher | undefined> => {
  const { httpProxy, httpsProxy } = readProxies(env)
  if (!httpProxy && !httpsProxy) return undefined
  const noProxy = [env.no_proxy ?? env.NO_PROXY ?? '', 'localhost', '127.0.0.1', '::1']
  // Imported on demand: it would cost every start tens of milliseconds.
  const { EnvHttpProxyAgent } = await import('undici')
  return new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy: noProxy.join(',') })
}

/** To add a wire format: extend `HttpApiMode`; the compiler then points here and to `lib/models/endpoint.ts`. Functions, so that their modules are not needed before. */
const HTTP_PROVIDERS: Readonly<Record<HttpApiMode, (options: HttpProviderOptions) => Provider>> = {
  chat_completions: options => createOpenAiChat(options),
  anthropic_messages: options => createAnthropicMessages(options),
  codex_responses: options => createCodexResponses(options),
  ollama_chat: options => createOllamaChat(options),
}

/** Each is created when it is first used. `keyFor` renews the keys that are tokens of a sign-in; absent: they are used until they expire. */
export const createProviders = (
  dispatcher: Dispatcher | undefined,
  clock: Clock,
  keyFor?: KeySource,
): Providers => {
  const memory = createBodyMemory(clock)
  const made = new Map<HttpApiMode, Provider>()
  const provider = (mode: HttpApiMode): Provider => {
    const known = made.get(mode)
    if (known) return known
    const created = HTTP_PROVIDERS[mode]({ clock, dispatcher, memory, keyFor })
    made.set(mode, created)
    return created
  }
  return {
    get chat_completions() {
      return provider('chat_completions')
    },
    get anthropic_messages() {
      return provider('anthropic_messages')
    },
    get codex_responses() {
      return provider('codex_responses')
    },
    get ollama_chat() {
      return provider('ollama_chat')
    },
    demo: createDemo({ clock }),
  }
}

/** Throws `ProviderFailure` for a format without a provider: an external agent does not answer single model calls. */
export const providerFor = (providers: Providers, apiMode: ApiMode): Provider => {
  const provider = providers[apiMode]
  if (!provider)
    throw new ProviderFailure(
      'error',
      `Models with the wire format ${apiMode} don’t answer single calls.`,
    )
  return provider
}
