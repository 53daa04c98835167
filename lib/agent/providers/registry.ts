/** Providers by wire format, optionally through the user's HTTP proxy. */
import type { Clock } from '../../base/clock.ts'
import type { Dispatcher } from 'undici'
import { readProxies } from '../../base/proxy-variables.ts'
import { ProviderFailure } from '../failure.ts'
import type { ApiMode, HttpApiMode, Provider, Providers } from '../types.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { codexResponses } from './codex-responses.ts'
import { demo } from './demo.ts'
import { httpProvider, type KeySource, type WireFormat } from './http-provider.ts'
import { ollamaChat } from './ollama-chat.ts'
import { chatCompletions } from './openai-chat.ts'

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
export const FORMATS: Readonly<Record<HttpApiMode, () => WireFormat>> = {
  chat_completions: () => chatCompletions,
  anthropic_messages: () => anthropicMessages,
  codex_responses: () => codexResponses,
  ollama_chat: () => ollamaChat,
}

/** `keyFor` renews the keys that are tokens of a sign-in; absent: they are used until they expire. */
export const createProviders = (
  dispatcher: Dispatcher | undefined,
  clock: Clock,
  keyFor?: KeySource,
): Providers => ({
  ...Object.fromEntries(
    Object.entries(FORMATS).map(([apiMode, format]) => [
      apiMode,
      httpProvider(format, clock, dispatcher, keyFor),
    ]),
  ),
  demo: demo(clock),
})

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
