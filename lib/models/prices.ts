/** Prices and context lengths of models from @pydantic/genai-prices, loaded on first use. */
import type { calcPrice } from '@pydantic/genai-prices'
import { isObject } from '../base/json.ts'

export type ModelFacts = {
  /** Tokens; 0 when unknown. */
  contextLength: number
  /** US dollars per million tokens, in the first tier. */
  price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** Whether the model accepts images, according to the provider's list. */
  vision?: boolean
}

export type Prices = {
  /** Resolves when the table is loaded or failed to load; never rejects. */
  ready(): Promise<void>
  /** Null for an unknown model, or while the table is not loaded. `provider` is a canonical id. */
  find(provider: string, model: string): ModelFacts | null
}

type Table = { calcPrice: typeof calcPrice }

/** Canonical id → id in the price table, for providers that set their own prices. */
const PRICED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    openai: 'openai',
    anthropic: 'anthropic',
    openrouter: 'openrouter',
    gemini: 'google',
    deepseek: 'deepseek',
    xai: 'x-ai',
    mistralai: 'mistral',
    'kimi-coding': 'moonshotai',
    minimax: 'minimax',
    'minimax-cn': 'minimax',
    zai: 'zai',
  }),
)

/** Makers to look up context lengths with, for providers that resell their models at other prices. */
const MAKERS = ['openai', 'anthropic', 'google', 'x-ai', 'deepseek', 'moonshotai', 'minimax', 'zai']

/** A price is a number, or `{base, tiers}`. */
const base = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value
  if (!isObject(value) || !('base' in value)) return undefined
  return typeof value.base === 'number' ? value.base : undefined
}

export const createPrices = (
  load: () => Promise<Table> = () => import('@pydantic/genai-prices'),
): Prices => {
  let table: Table | undefined
  let loading: Promise<void> | undefined
  const known = new Map<string, ModelFacts | null>()

  const match = (providerId: string, model: string) => {
    try {
      return table?.calcPrice({ input_tokens: 1, output_tokens: 1 }, model, { providerId }) ?? null
    } catch {
      // The table has rows whose price cannot be calculated.
      return null
    }
  }

  const own = (providerId: string, model: string): ModelFacts | null => {
    const found = match(providerId, model)
    if (!found) return null
    const input = base(found.model_price.input_mtok)
    const output = base(found.model_price.output_mtok)
    const cacheRead = base(found.model_price.cache_read_mtok)
    const cacheWrite = base(found.model_price.cache_write_mtok)
    const contextLength = found.model.context_window ?? 0
    if (input === undefined || output === undefined) return { contextLength }
    const price = {
      input,
      output,
      ...(cacheRead === undefined ? {} : { cacheRead }),
      ...(cacheWrite === undefined ? {} : { cacheWrite }),
    }
    return { contextLength, price }
  }

  const ofMaker = (model: string): ModelFacts | null => {
    const name = model.slice(model.lastIndexOf('/') + 1).replace(/:[\w.-]+$/, '')
    for (const maker of MAKERS) {
      const contextLength = match(maker, name)?.model.context_window
      if (contextLength) return { contextLength }
    }
    return null
  }

  const find = (provider: string, model: string): ModelFacts | null => {
    const id = PRICED.get(provider)
    const facts = id ? own(id, model) : null
    if (facts?.contextLength) return facts
    const contextLength = ofMaker(model)?.contextLength ?? 0
    return facts?.price
      ? { contextLength, price: facts.price }
      : contextLength
        ? { contextLength }
        : null
  }

  return {
    ready() {
      loading ??= load().then(
        loaded => {
          table = loaded
        },
        // Without the table, context lengths come from `context-windows.ts` and there are no prices.
        () => undefined,
      )
      return loading
    },
    find(provider, model) {
      if (!table) return null
      const key = `${provider} ${model}`
      const held = known.get(key)
      if (held !== undefined) return held
      const facts = find(provider, model)
      // Bounded, because ids come from remote model lists.
      if (known.size < 5_000) known.set(key, facts)
      return facts
    },
  }
}
