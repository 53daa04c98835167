/** Context lengths in tokens by model family: the last fallback of `resolveEndpoint` in endpoint.ts, which decides. */

/** Parts of model names; the longest match wins. */
const FAMILIES: readonly (readonly [fragment: string, tokens: number])[] = [
  ['claude-opus-4.6', 1_000_000],
  ['claude-opus-4-6', 1_000_000],
  ['claude-sonnet-4.6', 1_000_000],
  ['claude-sonnet-4-6', 1_000_000],
  ['claude', 200_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-5', 128_000],
  ['gpt-4', 128_000],
  ['gemini', 1_048_576],
  ['deepseek', 128_000],
  ['llama', 131_072],
  ['qwen', 131_072],
  ['glm', 202_752],
  ['kimi', 262_144],
  ['minimax', 1_048_576],
]

const FALLBACK = 128_000

/** Tokens; 0 for an unknown family. */
export const knownContextLength = (model: string): number => {
  const name = model.toLowerCase()
  const found = FAMILIES.filter(([fragment]) => name.includes(fragment))
  return found.toSorted(([a], [b]) => b.length - a.length)[0]?.[1] ?? 0
}

export const contextLengthOf = (model: string): number => knownContextLength(model) || FALLBACK
