/** The context windows that servers really use: asked, cached, and corrected by what calls reveal. Kept in memory. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import type { ServerKind, Windows } from '../agent/window-services.ts'
import { isLocalUrl } from '../base/local-network.ts'
import { endpointName } from './local-servers.ts'
import {
  askServerWindow,
  loadOllamaModel,
  type ServerRequest,
  serverRoot,
  type ServerWindow,
} from './server-window.ts'

/** A turn waits no longer for an answer. */
const ASK_MS = 1_500
/** Servers are local and answer in milliseconds, so an answer is reused for one burst of calls only. */
const FRESH_MS = 5_000
/** A server that does not say is asked less often. */
const FAILURE_MS = 15_000
const LOAD_MS = 300_000
/** A sentence of an error said so, or a guess: the server may be another one now. */
const LEARNED_MS = 3_600_000
const MAX_ENTRIES = 500

/** Providers that are local programs, whatever their address. */
const PROGRAMS = /^(?:custom:)?(?:ollama|lm-?studio|llama-?cpp|vllm|sglang)$/

type WindowEntry = {
  answer: ServerWindow | null
  at: number
  pending: Promise<ServerWindow | null> | null
  /** Tokens a call revealed; 0: nothing learned. Void when the server's answer changes from `learnedBeside`. */
  learned: number
  learnedBeside: number
  learnedAt: number
}

/** Only local and private addresses, and providers known to be such a program. Ollama's cloud has fixed windows. */
const canAsk = ({ provider, baseUrl, apiMode }: ModelEndpoint): boolean =>
  (apiMode === 'chat_completions' || apiMode === 'ollama_chat') &&
  !/(?:^|\.)ollama\.com$/.test(URL.parse(baseUrl)?.hostname ?? '') &&
  (isLocalUrl(baseUrl) ||
    PROGRAMS.test(provider) ||
    ['Ollama', 'LM Studio'].includes(endpointName(baseUrl) ?? ''))

export class ServedWindows implements Windows {
  readonly #dispatcher: Dispatcher | undefined
  readonly #clock: Clock
  readonly #askMs: number
  readonly #entries = new Map<string, WindowEntry>()
  readonly #kinds = new Map<string, ServerKind>()

  constructor({
    dispatcher,
    clock,
    askMs = ASK_MS,
  }: {
    dispatcher?: Dispatcher | undefined
    clock: Clock
    askMs?: number
  }) {
    this.#dispatcher = dispatcher
    this.#clock = clock
    this.#askMs = askMs
  }

  #find(baseUrl: string, model: string) {
    return this.#entries.get(`${baseUrl} ${model}`)
  }

  #learnedBy(entry: WindowEntry | undefined): number {
    return entry && this.#clock.monotonic() - entry.learnedAt < LEARNED_MS ? entry.learned : 0
  }

  #entryOf({ baseUrl, model }: ModelEndpoint): WindowEntry {
    const existing = this.#find(baseUrl, model)
    if (existing) return existing
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest)
    const entry = {
      answer: null,
      at: -Infinity,
      pending: null,
      learned: 0,
      learnedBeside: 0,
      learnedAt: 0,
    }
    this.#entries.set(`${baseUrl} ${model}`, entry)
    return entry
  }

  #requestFor(
    { baseUrl, model, apiKey, headers }: ModelEndpoint,
    signal: AbortSignal,
  ): ServerRequest {
    return {
      baseUrl,
      model,
      headers: { ...(apiKey && { authorization: `Bearer ${apiKey}` }), ...headers },
      signal,
      dispatcher: this.#dispatcher,
    }
  }

  async #fetchAnswer(endpoint: ModelEndpoint): Promise<ServerWindow | null> {
    const server = this.#requestFor(endpoint, AbortSignal.timeout(this.#askMs))
    const root = serverRoot(endpoint.baseUrl)
    const kind = this.#kinds.get(root)
    const answer =
      (kind && (await askServerWindow(server, kind))) ?? (await askServerWindow(server))
    if (answer) this.#kinds.set(root, answer.kind)
    return answer
  }

  async ask(endpoint: ModelEndpoint): Promise<ServerWindow | null> {
    if (!canAsk(endpoint)) return null
    const entry = this.#entryOf(endpoint)
    if (entry.pending) return entry.pending
    if (this.#clock.monotonic() - entry.at < (entry.answer ? FRESH_MS : FAILURE_MS))
      return entry.answer
    entry.pending = this.#fetchAnswer(endpoint)
    const answer = await entry.pending
    entry.pending = null
    entry.at = this.#clock.monotonic()
    // A server that is slow for once keeps its last answer.
    entry.answer = answer ?? entry.answer
    if (answer && answer.tokens !== entry.learnedBeside) entry.learned = 0
    return entry.answer
  }

  learn(endpoint: ModelEndpoint, tokens: number): void {
    const entry = this.#entryOf(endpoint)
    entry.learned = tokens
    entry.learnedAt = this.#clock.monotonic()
    entry.learnedBeside = entry.answer?.tokens ?? 0
  }

  noteRead(endpoint: ModelEndpoint, tokens: number): void {
    const entry = this.#find(endpoint.baseUrl, endpoint.model)
    if (entry && tokens > entry.learned) entry.learned = 0
  }

  /** Tokens of an asked or learned window; 0 when unknown. Does not ask. */
  knownTokens(baseUrl: string, model: string): number {
    const entry = this.#find(baseUrl, model)
    return this.#learnedBy(entry) || entry?.answer?.tokens || 0
  }

  apply(original: ModelEndpoint): ModelEndpoint {
    const entry = this.#find(original.baseUrl, original.model)
    const vision = original.hasConfiguredVision ? undefined : entry?.answer?.vision
    const endpoint = vision === undefined ? original : { ...original, vision }
    const { ollamaContext = 0, hasConfiguredWindow, contextLength } = endpoint
    if (ollamaContext > 0 && entry?.answer?.kind === 'ollama')
      return {
        ...endpoint,
        apiMode: 'ollama_chat',
        contextLength: Math.min(ollamaContext, entry.answer.trained || ollamaContext),
      }
    const served = hasConfiguredWindow ? 0 : (entry?.answer?.tokens ?? 0)
    const believed = served || contextLength
    const learned = this.#learnedBy(entry) || believed
    return { ...endpoint, contextLength: believed > 0 ? Math.min(believed, learned) : learned }
  }

  /** Asks, and waits for an Ollama model to load: only then its window is certain, and its first call would wait as long. */
  async settle(endpoint: ModelEndpoint, signal: AbortSignal): Promise<ServerWindow | null> {
    const answer = await this.ask(endpoint)
    const isLoadedLater = answer?.kind === 'ollama' && !answer.isCertain && !endpoint.ollamaContext
    if (!isLoadedLater || endpoint.hasConfiguredWindow) return answer
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LOAD_MS)])
    await loadOllamaModel(this.#requestFor(endpoint, limit))
    this.#entryOf(endpoint).at = -Infinity
    return this.ask(endpoint)
  }
}
