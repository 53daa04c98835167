/** Which provider speaks which wire format, through the proxy the person has set up if there is one. */
import type { Dispatcher } from 'undici'
import { ProviderFailure } from '../failure.ts'
import type { ApiMode, Provider, Providers } from '../types.ts'
import { createAnthropicMessages } from './anthropic-messages.ts'
import { createCodexResponses } from './codex-responses.ts'
import { createDemo } from './demo.ts'
import { createOpenAiChat } from './openai-chat.ts'

/** `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` in either case, as curl reads them. A local server is reached directly. */
export const createProxyDispatcher = async (
  env: Readonly<Record<string, string>>,
): Promise<Dispatcher | undefined> => {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY ?? ''
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY ?? ''
  if (!httpProxy && !httpsProxy) return undefined
  const noProxy = [env.no_proxy ?? env.NO_PROXY ?? '', 'localhost', '127.0.0.1', '::1']
  // Loaded where it is needed only: it costs tens of milliseconds of every start.
  const { EnvHttpProxyAgent } = await import('undici')
  return new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy: noProxy.join(',') })
}

export const createProviders = (dispatcher: Dispatcher | undefined): Providers => {
  const options = dispatcher ? { dispatcher } : {}
  return {
    chat_completions: createOpenAiChat(options),
    anthropic_messages: createAnthropicMessages(options),
    codex_responses: createCodexResponses(options),
    demo: createDemo(),
  }
}

/** Throws `ProviderFailure` for a format nobody here speaks; an agent of somebody else's answers no single calls. */
export const providerFor = (providers: Providers, apiMode: ApiMode): Provider => {
  const provider = providers[apiMode]
  if (!provider)
    throw new ProviderFailure('error', `Models that speak ${apiMode} answer no single calls.`)
  return provider
}
