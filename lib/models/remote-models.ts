/** What providers say they serve: asked with the provider's own key, kept for a minute, forgotten when the home's files change. */
import { toProviderId } from './provider-ids.ts'
import type { FetchModelList, RemoteModel, ModelListRequest } from './fetch-model-list.ts'
import { configuredKey, credentialFor, isLocalUrl, isOwnAddress } from './credentials.ts'
import { isEndpoint, PROVIDERS } from './providers.ts'
import { baseUrlOf } from './endpoint.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'

/** spec.md, Limits. */
export const LIST_TIMEOUT_MS = 8_000
const TTL_MS = 60_000
/** A server that was away is asked again sooner. */
const FAILURE_TTL_MS = 15_000

/** Where a provider lists its models when its own address does not (contract §5.6). */
const KNOWN_LISTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    zai: 'https://api.z.ai/v1',
    minimax: 'https://api.minimax.chat/v1',
    mistralai: 'https://api.mistral.ai/v1',
    xai: 'https://api.x.ai/v1',
    deepseek: 'https://api.deepseek.com/v1',
    gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
    nvidia: 'https://integrate.api.nvidia.com/v1',
  }),
)

/** Signed in elsewhere, another program, or a list that is curated: there is nothing to ask. */
const NOT_FETCHED: ReadonlySet<string> = new Set([
  'openrouter',
  'openai-codex',
  'copilot-acp',
  'qwen-oauth',
  'demo',
])

const bearer = (key: string | null): Record<string, string> =>
  key ? { authorization: `Bearer ${key}` } : {}

const anthropicHeaders = (key: string): Record<string, string> => ({
  'anthropic-version': '2023-06-01',
  ...(key.startsWith('sk-ant-oat')
    ? { ...bearer(key), 'anthropic-beta': 'oauth-2025-04-20' }
    : { 'x-api-key': key }),
})

/** An address that names its version is complete; a person's bare one gets `/v1`. */
const listUrl = (base: string, isChosen: boolean): string => {
  const { pathname } = URL.canParse(base) ? new URL(base) : { pathname: '' }
  return isChosen && !/\/v\d[^/]*(?:\/|$)/.test(pathname) ? `${base}/v1/models` : `${base}/models`
}

/** The provider's own address with its own key; null when that cannot be asked. */
const ownQuestion = (setup: ModelSetup, provider: string): ModelListRequest | null => {
  const url = baseUrlOf(setup, provider, { model: '', provider, baseUrl: null })
  if (NOT_FETCHED.has(provider) || !url || /\/anthropic$/.test(url)) return null
  const key = credentialFor(setup, provider, url)?.key ?? null
  const isOwn = isOwnAddress(setup, provider, url)
  if (!key && !isEndpoint(provider) && !isLocalUrl(url)) return null
  const isKnown = PROVIDERS.get(provider)?.baseUrl === url
  if (provider === 'anthropic')
    return {
      url: `${url.replace(/\/v1$/, '')}/v1/models?limit=1000`,
      headers: key ? anthropicHeaders(key) : {},
      timeoutMs: LIST_TIMEOUT_MS,
      isKnown,
    }
  const isConfigured = setup.active === provider && setup.baseUrl === url
  return {
    url: listUrl(url, !isOwn),
    headers: {
      'user-agent': isConfigured ? 'OpenAI/Python 1.0' : 'agent-webui',
      ...bearer(key),
    },
    timeoutMs: LIST_TIMEOUT_MS,
    isKnown,
  }
}

/** The known list of a provider, with no other key than one that config.yaml gives to that provider. */
const knownQuestion = (setup: ModelSetup, provider: string): ModelListRequest | null => {
  const base = KNOWN_LISTS.get(provider)
  const key = configuredKey(setup, provider)
  if (!base || !key) return null
  const headers = { 'user-agent': 'agent-webui', ...bearer(key) }
  return { url: `${base}/models`, headers, timeoutMs: LIST_TIMEOUT_MS, isKnown: true }
}

type CacheEntry = {
  models: readonly RemoteModel[] | null
  atMs: number
  asking: Promise<readonly RemoteModel[] | null> | null
}
type HomeCache = { values: unknown; env: unknown; auth: unknown; held: Map<string, CacheEntry> }

export type RemoteModels = {
  /** Asked now or less than a minute ago; null when nobody answers. Never rejects. */
  load(home: ModelHome, provider: string): Promise<readonly RemoteModel[] | null>
  /** The last answer while the home's files are as they were, however old; never asks. */
  cached(home: ModelHome, provider: string): readonly RemoteModel[] | null
  /** Asks at once and keeps nothing; throws the sentence why there is no answer. */
  fetch(home: ModelHome, provider: string): Promise<readonly RemoteModel[]>
  /** Drops what is known of one provider, or of all. */
  forget(home: ModelHome, provider?: string): void
}

export const createRemoteModels = (
  fetchModelList: FetchModelList,
  now: () => number = Date.now,
): RemoteModels => {
  const homes = new WeakMap<ModelHome, HomeCache>()

  /** The same files give the same objects: another one means that something was edited. */
  const cacheOf = (home: ModelHome): Map<string, CacheEntry> => {
    const [values, env, auth] = [home.values(), home.env(), home.authJson()]
    // One home has two forms; see `Home.lenient`.
    const key = 'strict' in home ? (home.strict as ModelHome) : home
    const files = homes.get(key)
    if (files && files.values === values && files.env === env && files.auth === auth)
      return files.held
    const held = new Map<string, CacheEntry>()
    homes.set(key, { values, env, auth, held })
    return held
  }

  const questions = (setup: ModelSetup, provider: string): ModelListRequest[] =>
    [ownQuestion(setup, provider), knownQuestion(setup, provider)].filter(
      (question, at, all): question is ModelListRequest =>
        question !== null && all.findIndex(other => other?.url === question.url) === at,
    )

  const fetchFirst = async (
    asked: readonly ModelListRequest[],
  ): Promise<readonly RemoteModel[] | null> => {
    for (const question of asked) {
      try {
        const models = await fetchModelList(question)
        if (models.length > 0) return models
      } catch {
        // The next place of the chain is asked; the static list is the last.
      }
    }
    return null
  }

  const isFresh = ({ models, atMs }: CacheEntry): boolean =>
    now() - atMs < (models ? TTL_MS : FAILURE_TTL_MS)

  return {
    async load(home, name) {
      const provider = toProviderId(name)
      const held = cacheOf(home)
      const last = held.get(provider)
      if (last?.asking) return last.asking
      if (last && isFresh(last)) return last.models
      const asked = questions(readSetup(home), provider)
      // Nothing to ask is nothing to remember: names come from anybody.
      if (asked.length === 0) return null
      const asking = fetchFirst(asked)
      held.set(provider, { models: last?.models ?? null, atMs: last?.atMs ?? 0, asking })
      const models = await asking
      held.set(provider, { models, atMs: now(), asking: null })
      return models
    },
    cached: (home, name) => cacheOf(home).get(toProviderId(name))?.models ?? null,
    async fetch(home, name) {
      const setup = readSetup(home)
      const [question] = questions(setup, toProviderId(name))
      return question ? fetchModelList(question) : []
    },
    forget(home, name) {
      if (name === undefined) homes.delete(home)
      else cacheOf(home).delete(toProviderId(name))
    },
  }
}
