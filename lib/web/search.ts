/** Web search with the first service that the home has a URL or a key for. */
import type { Dispatcher } from 'undici'
import { asObject, asString, type JsonObject } from '../base/json.ts'
import { messageOf, UserError, unavailable } from '../errors.ts'
import type { ProfileConfig } from '../profiles/config.ts'

export type WebHit = { title: string; url: string; description: string; position: number }
type Variables = Readonly<Record<string, string>>
const list = (value: unknown): Readonly<JsonObject>[] =>
  Array.isArray(value) ? value.map(asObject) : []

type Ask = { url: string; headers: Record<string, string>; body?: unknown }
type Service = {
  name: 'searxng' | 'brave' | 'tavily'
  /** URL or key of the service; empty when the home has none. */
  credential: (env: Variables) => string
  needs: string
  ask: (query: string, limit: number, credential: string, base: string) => Ask
  /** Path of the results in the response. */
  hits: (answer: Readonly<JsonObject>) => Readonly<JsonObject>[]
  base: (env: Variables) => string
}

const first = (env: Variables, ...names: string[]): string =>
  names.map(name => env[name]?.trim() ?? '').find(Boolean) ?? ''

const slashless = (url: string): string => url.replace(/\/+$/, '')

const SERVICES: readonly Service[] = [
  {
    name: 'searxng',
    needs: 'SEARXNG_URL',
    credential: env => first(env, 'SEARXNG_URL'),
    base: env => slashless(first(env, 'SEARXNG_URL')),
    ask: (query, _limit, _url, base) => ({
      url: `${base}/search?${new URLSearchParams({ q: query, format: 'json' })}`,
      headers: {},
    }),
    hits: answer => list(answer.results),
  },
  {
    name: 'brave',
    needs: 'BRAVE_SEARCH_API_KEY',
    credential: env => first(env, 'BRAVE_SEARCH_API_KEY', 'BRAVE_API_KEY'),
    base: env => slashless(first(env, 'BRAVE_SEARCH_BASE_URL') || 'https://api.search.brave.com'),
    ask: (query, limit, key, base) => ({
      url: `${base}/res/v1/web/search?${new URLSearchParams({ q: query, count: `${limit}` })}`,
      headers: { 'x-subscription-token': key },
    }),
    hits: answer => list(asObject(answer.web).results),
  },
  {
    name: 'tavily',
    needs: 'TAVILY_API_KEY',
    credential: env => first(env, 'TAVILY_API_KEY'),
    base: env => slashless(first(env, 'TAVILY_BASE_URL') || 'https://api.tavily.com'),
    ask: (query, limit, key, base) => ({
      url: `${base}/search`,
      headers: { authorization: `Bearer ${key}` },
      body: { query, max_results: limit },
    }),
    hits: answer => list(answer.results),
  },
]

/** Variables that would enable web search. */
export const SEARCH_NEEDS = SERVICES.map(({ needs }) => needs)

const HITS = 10
const TIMEOUT_MS = 20_000
const MAX_BYTES = 4 << 20

/** Titles and descriptions contain highlight tags. */
const plain = (html: string): string =>
  html
    .replace(/<[^>]{0,200}>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 1_000)

const toHits = (results: readonly Readonly<JsonObject>[]): WebHit[] =>
  results
    .filter(({ url }) => /^https?:\/\//.test(asString(url)))
    .slice(0, HITS)
    .map((hit, at) => ({
      title: plain(asString(hit.title)),
      url: asString(hit.url),
      description: plain(asString(hit.description) || asString(hit.content)),
      position: at + 1,
    }))

/** `web.search_backend`, else `web.backend`. An unknown service, or one without a key, is skipped. */
export const chooseSearch = (web: ProfileConfig['web'], env: Variables): Service | null => {
  const preferences = [web.search_backend, web.backend].map(name => name.toLowerCase())
  const usable = SERVICES.filter(service => service.credential(env) !== '')
  return (
    preferences.map(name => usable.find(service => service.name === name)).find(Boolean) ??
    usable[0] ??
    null
  )
}

const SAID: Readonly<Record<number, string>> = {
  401: 'it does not accept the key',
  403: 'the key may not do that',
  429: 'it asks to slow down',
  432: 'the plan is used up',
}

/** Throws a UserError whose message contains no key. */
export const searchWeb = async (
  service: Service,
  query: string,
  {
    env,
    signal,
    dispatcher,
  }: { env: Variables; signal: AbortSignal; dispatcher?: Dispatcher | undefined },
): Promise<WebHit[]> => {
  const { url, headers, body } = service.ask(
    query,
    HITS,
    service.credential(env),
    service.base(env),
  )
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const { request } = await import('undici')
    const answer = await request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, deadline]),
      ...(dispatcher ? { dispatcher } : {}),
    })
    if (answer.statusCode !== 200) {
      answer.body.on('error', () => undefined).destroy()
      const reason = SAID[answer.statusCode] ?? `it answered with status ${answer.statusCode}`
      throw unavailable(`The search at ${service.name} failed: ${reason}.`)
    }
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer.body) {
      size += chunk.length
      if (size > MAX_BYTES) throw unavailable(`${service.name} answered more than can be read.`)
      chunks.push(chunk)
    }
    return toHits(service.hits(asObject(JSON.parse(Buffer.concat(chunks).toString('utf8')))))
  } catch (error) {
    if (error instanceof UserError || signal.aborted) throw error
    const why =
      error instanceof SyntaxError
        ? 'its answer is no JSON (SearXNG: allow the json format in its settings)'
        : deadline.aborted
          ? 'it took too long'
          : messageOf(error)
    throw unavailable(`The search at ${service.name} failed: ${why}.`)
  }
}
