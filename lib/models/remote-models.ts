/** Fetches and caches the model lists of providers. Entries expire after a minute and when the home's files change. */
import type { Clock } from '../base/clock.ts'
import { isLocalUrl } from '../base/local-network.ts'
import { toProviderId } from './provider-ids.ts'
import type { FetchModelList, RemoteModel, ModelListRequest } from './fetch-model-list.ts'
import type { SignInToken } from './sign-in/sign-ins.ts'
import { candidatesFor, configuredKey, firstAvailable, isOwnAddress } from './credentials.ts'
import { isEndpoint, PROVIDERS } from './providers.ts'
import { requestOptionsFor } from './request-options.ts'
import { baseUrlOf } from './endpoint.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'

const LIST_TIMEOUT_MS = 8_000
const TTL_MS = 60_000
/** Failures are retried sooner. */
const FAILURE_TTL_MS = 15_000

const bearer = (key: string | null): Record<string, string> =>
  key ? { authorization: `Bearer ${key}` } : {}

/** Adds `/v1` to a user's address unless it contains a version. */
const listUrl = (base: string, isChosen: boolean): string => {
  const { pathname } = URL.canParse(base) ? new URL(base) : { pathname: '' }
  return isChosen && !/\/v\d[^/]*(?:\/|$)/.test(pathname) ? `${base}/v1/models` : `${base}/models`
}

/** `token` is set when the request carries the token of a sign-in. */
type KeyedRequest = ModelListRequest & { token?: SignInToken }

/** A request to the configured address; null when there is none to make. */
const configuredRequest = (setup: ModelSetup, provider: string): KeyedRequest | null => {
  const url = baseUrlOf(setup, provider)
  if (PROVIDERS.get(provider)?.listUrl === null || !url || /\/anthropic$/.test(url)) return null
  const candidate = firstAvailable(candidatesFor(setup, provider, url), setup.now)
  const key = candidate?.key ?? null
  const isOwn = isOwnAddress(setup, provider, url)
  if (!key && !isEndpoint(provider) && !isLocalUrl(url)) return null
  const isKnown = PROVIDERS.get(provider)?.baseUrl === url
  const { headers: configured } = requestOptionsFor(setup, provider, url)
  if (provider === 'anthropic')
    return {
      url: `${url.replace(/\/v1$/, '')}/v1/models?limit=1000`,
      headers: {
        ...(key && { 'anthropic-version': '2023-06-01', 'x-api-key': key }),
        ...configured,
      },
      timeoutMs: LIST_TIMEOUT_MS,
      isKnown,
    }
  const isConfigured = setup.active === provider && setup.baseUrl === url
  return {
    url: listUrl(url, !isOwn),
    headers: {
      'user-agent': isConfigured ? 'OpenAI/Python 1.0' : 'agent-webui',
      ...bearer(key),
      ...configured,
    },
    timeoutMs: LIST_TIMEOUT_MS,
    isKnown,
    ...(candidate?.signIn && setup.dir !== null
      ? { token: { apiKey: key, signIn: { dir: setup.dir, provider, id: candidate.id } } }
      : {}),
  }
}

/** A request to the known list address. Sends only a key that config.yaml assigns to this provider. */
const knownListRequest = (setup: ModelSetup, provider: string): KeyedRequest | null => {
  const base = PROVIDERS.get(provider)?.listUrl
  const key = configuredKey(setup, provider)
  if (!base || !key) return null
  const headers = { 'user-agent': 'agent-webui', ...bearer(key) }
  return { url: `${base}/models`, headers, timeoutMs: LIST_TIMEOUT_MS, isKnown: true }
}

type CacheEntry = {
  models: readonly RemoteModel[] | null
  at: number
  pending: Promise<readonly RemoteModel[] | null> | null
}
type HomeCache = { values: unknown; env: unknown; auth: unknown; entries: Map<string, CacheEntry> }

/** `keyFor` renews the token of a sign-in before it is used. */
export class RemoteModels {
  readonly #fetchModelList: FetchModelList
  readonly #clock: Clock
  readonly #keyFor: (token: SignInToken, isRejected: boolean) => Promise<string | null>
  readonly #homes = new WeakMap<ModelHome, HomeCache>()

  constructor(
    fetchModelList: FetchModelList,
    clock: Clock,
    keyFor: (token: SignInToken, isRejected: boolean) => Promise<string | null> = async () => null,
  ) {
    this.#fetchModelList = fetchModelList
    this.#clock = clock
    this.#keyFor = keyFor
  }

  async #fetchList({ token, ...request }: KeyedRequest) {
    const key = token ? await this.#keyFor(token, false) : null
    return this.#fetchModelList({ ...request, headers: { ...request.headers, ...bearer(key) } })
  }

  /** Unchanged files return identical objects, so a new object means an edit. */
  #cacheOf(home: ModelHome): Map<string, CacheEntry> {
    const [values, env, auth] = [home.values(), home.env(), home.authJson()]
    // A home has two forms that share a cache; see `Home.lenient`.
    const key = 'strict' in home ? (home.strict as ModelHome) : home
    const files = this.#homes.get(key)
    if (files && files.values === values && files.env === env && files.auth === auth)
      return files.entries
    const entries = new Map<string, CacheEntry>()
    this.#homes.set(key, { values, env, auth, entries })
    return entries
  }

  #requestsFor(setup: ModelSetup, provider: string): KeyedRequest[] {
    return [configuredRequest(setup, provider), knownListRequest(setup, provider)].filter(
      (request, at, all): request is KeyedRequest =>
        request !== null && all.findIndex(other => other?.url === request.url) === at,
    )
  }

  async #fetchFirst(requests: readonly KeyedRequest[]): Promise<readonly RemoteModel[] | null> {
    for (const request of requests) {
      try {
        const models = await this.#fetchList(request)
        if (models.length > 0) return models
      } catch {
        // Try the next address.
      }
    }
    return null
  }

  #isFresh({ models, at }: CacheEntry): boolean {
    return this.#clock.monotonic() - at < (models ? TTL_MS : FAILURE_TTL_MS)
  }

  /** Cached for a minute; null when no server answers. Never rejects. */
  async load(home: ModelHome, name: string): Promise<readonly RemoteModel[] | null> {
    const provider = toProviderId(name)
    const entries = this.#cacheOf(home)
    const last = entries.get(provider)
    if (last?.pending) return last.pending
    if (last && this.#isFresh(last)) return last.models
    const requests = this.#requestsFor(readSetup(home), provider)
    // Do not cache: provider names come from requests, and the map would grow without bound.
    if (requests.length === 0) return null
    const pending = this.#fetchFirst(requests)
    entries.set(provider, { models: last?.models ?? null, at: last?.at ?? 0, pending })
    const models = await pending
    entries.set(provider, { models, at: this.#clock.monotonic(), pending: null })
    return models
  }

  /** The last result for unchanged files, however old. Does not fetch. */
  cached(home: ModelHome, name: string): readonly RemoteModel[] | null {
    return this.#cacheOf(home).get(toProviderId(name))?.models ?? null
  }

  /** Fetches without the cache; throws a UserError. */
  async fetch(home: ModelHome, name: string): Promise<never[] | RemoteModel[]> {
    const setup = readSetup(home)
    const [request] = this.#requestsFor(setup, toProviderId(name))
    return request ? this.#fetchList(request) : []
  }

  /** Drops the cache of one provider, or of all. */
  forget(home: ModelHome, name?: string): void {
    if (name === undefined) this.#homes.delete(home)
    else this.#cacheOf(home).delete(toProviderId(name))
  }
}
