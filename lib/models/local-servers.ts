/** Local model servers (Ollama, LM Studio, llama.cpp, vLLM): default ports, display names and detection. */
import { isLocalUrl, isLoopbackHost } from '../base/local-network.ts'
import type { LocalServer } from '../schema/provider.ts'
import type { FetchModelList } from './fetch-model-list.ts'
import { liveLabel, tagLabel } from './model-labels.ts'
import { type ModelHome, readSetup } from './provider-config.ts'
import { displayName, PROVIDERS } from './providers.ts'

type Server = { id: string; name: string; baseUrl: string; baseUrlEnv?: string | undefined }

const LOCAL_SERVERS: readonly Server[] = [
  ...[...PROVIDERS].flatMap(([id, { keyless, baseUrl, baseUrlEnv }]) =>
    keyless ? [{ id, name: displayName(id), baseUrl, baseUrlEnv }] : [],
  ),
  { id: 'llamacpp', name: 'llama.cpp', baseUrl: 'http://127.0.0.1:8080/v1' },
  { id: 'vllm', name: 'vLLM', baseUrl: 'http://127.0.0.1:8000/v1' },
]

const PROBE_MS = 1_500

/** Display name guessed from an address; null when it is not a private address. */
export const endpointName = (url: string): string | null => {
  if (!URL.canParse(url)) return null
  const { host, port } = new URL(url)
  if (host.includes('ollama')) return 'Ollama'
  if (/lm-?studio/.test(host)) return 'LM Studio'
  if (!isLocalUrl(url)) return null
  return LOCAL_SERVERS.find(({ baseUrl }) => new URL(baseUrl).port === port)?.name ?? 'Local server'
}

/** Whether model ids there are `name:variant` tags. */
export const isTagServer = (provider: string, url: string): boolean =>
  /^(?:custom:)?ollama(?:-cloud)?$/.test(provider) || endpointName(url) === 'Ollama'

/** An address from the environment counts only when it is a loopback address. */
const addressOf = ({ baseUrl, baseUrlEnv }: Server, env: Readonly<Record<string, string>>) => {
  const address = (baseUrlEnv && env[baseUrlEnv]?.trim().replace(/\/+$/, '')) || ''
  return URL.canParse(address) && isLoopbackHost(new URL(address).hostname) ? address : baseUrl
}

const sameAddress = (a: string, b: string): boolean => {
  const plain = (url: string) => url.replace('//localhost', '//127.0.0.1').replace(/\/+$/, '')
  return plain(a) === plain(b)
}

/** Probes all known servers in parallel, without a key, and returns those that list models. */
export const findLocalServers = async (
  ask: FetchModelList,
  home: ModelHome,
): Promise<LocalServer[]> => {
  const setup = readSetup(home)
  const urls = [
    setup.baseUrl,
    ...setup.custom.map(({ baseUrl }) => baseUrl),
    ...[...setup.providers.values()].map(({ baseUrl }) => baseUrl),
  ]
  const servers = await Promise.all(
    LOCAL_SERVERS.map(async (server): Promise<LocalServer[]> => {
      const base_url = addressOf(server, setup.env)
      try {
        const url = `${base_url}/models`
        const models = await ask({ url, headers: {}, timeoutMs: PROBE_MS, isKnown: true })
        const label = server.id === 'ollama' ? tagLabel : liveLabel
        const configured = urls.some(url => url !== null && sameAddress(url, base_url))
        return [
          {
            id: server.id,
            name: server.name,
            base_url,
            models: models.map(({ id }) => ({ id, label: label(id) })),
            configured,
          },
        ]
      } catch {
        // Usually nothing listens there.
        return []
      }
    }),
  )
  return servers.flat()
}
