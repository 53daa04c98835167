/** Which provider speaks which wire format, through the proxy the person has set up if there is one. */
import { type Dispatcher, EnvHttpProxyAgent } from 'undici'
import type { ApiMode, Provider } from '../types.ts'
import { createDemo } from './demo.ts'
import { createOpenAiChat } from './openai-chat.ts'

export type Providers = Readonly<Record<ApiMode, Provider>>

/** `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` in either case, as curl reads them. A local server is reached directly. */
export const proxyOf = (env: Readonly<Record<string, string>>): Dispatcher | undefined => {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY ?? ''
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY ?? ''
  if (!httpProxy && !httpsProxy) return undefined
  const noProxy = [env.no_proxy ?? env.NO_PROXY ?? '', 'localhost', '127.0.0.1', '::1']
  return new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy: noProxy.join(',') })
}

export const createProviders = (env: Readonly<Record<string, string>>): Providers => {
  const dispatcher = proxyOf(env)
  return {
    chat_completions: createOpenAiChat(dispatcher ? { dispatcher } : {}),
    demo: createDemo(),
  }
}
