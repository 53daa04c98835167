/** Prices and context lengths of models from @pydantic/genai-prices, loaded on first use. */
import type { calcPrice } from '@pydantic/genai-prices'
import { isObject } from '../base/json.ts'
import { PROVIDERS } from './providers.ts'

export type ModelFacts = {
  /** Tokens; 0 when unknown. */
  contextLength: number
  /** US dollars per million tokens, in the first tier. */
  price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** Whether the model accepts images, according to the provider's list. */
  vision?: boolean
}

type Table = { calcPrice: typeof calcPrice }

/** Makers to look up context lengths with, for providers that resell their models at other prices. */
const MAKERS = new Set(
  [...PROVIDERS.values()].flatMap(({ prices }) =>
    prices === undefined || prices === 'openrouter' ? [] : [prices],
  ),
)

/** A price is a number, or `{base, tiers}`. */
const base = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value
  if (!isObject(value) || !('base' in value)) return undefined
  return typeof value.base === 'number' ? value.base : undefined
}

export class Prices {
  readonly #load: () => Promise<Table>
  #table: Table | undefined
  #loading: Promise<void> | undefined
  readonly #facts = new Map<string, ModelFacts | null>()

  constructor(load: () => Promise<Table> = () => import('@pydantic/genai-prices')) {
    this.#load = load
  }

  #match(providerId: string, model: string) {
    try {
      return (
        this.#table?.calcPrice({ input_tokens: 1, output_tokens: 1 }, model, { providerId }) ?? null
      )
    } catch {
      // The table has rows whose price cannot be calculated.
      return null
    }
  }

  #own(providerId: string, model: string): ModelFacts | null {
    const match = this.#match(providerId, model)
    if (!match) return null
    const input = base(match.model_price.input_mtok)
    const output = base(match.model_price.output_mtok)
    const cacheRead = base(match.model_price.cache_read_mtok)
    const cacheWrite = base(match.model_price.cache_write_mtok)
    const contextLength = match.model.context_window ?? 0
    if (input === undefined || output === undefined) return { contextLength }
    const price = {
      input,
      output,
      ...(cacheRead === undefined ? {} : { cacheRead }),
      ...(cacheWrite === undefined ? {} : { cacheWrite }),
    }
    return { contextLength, price }
  }

  #ofMaker(model: string): ModelFacts | null {
    const name = model.slice(model.lastIndexOf('/') + 1).replace(/:[\w.-]+$/, '')
    for (const maker of MAKERS) {
      const contextLength = this.#match(maker, name)?.model.context_window
      if (contextLength) return { contextLength }
    }
    return null
  }

  #find(provider: string, model: string): ModelFacts | null {
    const id = PROVIDERS.get(provider)?.prices
    const facts = id ? this.#own(id, model) : null
    if (facts?.contextLength) return facts
    const contextLength = this.#ofMaker(model)?.contextLength ?? 0
    return facts?.price
      ? { contextLength, price: facts.price }
      : contextLength
        ? { contextLength }
        : null
  }

  /** Resolves when the table is loaded or failed to load; never rejects. */
  ready(): Promise<void> {
    this.#loading ??= this.#load().then(
      table => {
        this.#table = table
      },
      // Without the table, context lengths come from `context-windows.ts` and there are no prices.
      () => undefined,
    )
    return this.#loading
  }

  /** Null for an unknown model, or while the table is not loaded. `provider` is a canonical id. */
  find(provider: string, model: string): ModelFacts | null {
    if (!this.#table) return null
    const key = `${provider} ${model}`
    const cached = this.#facts.get(key)
    if (cached !== undefined) return cached
    const facts = this.#find(provider, model)
    // Bounded, because ids come from remote model lists.
    if (this.#facts.size < 5_000) this.#facts.set(key, facts)
    return facts
  }
}
