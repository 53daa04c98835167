/** How many tokens a model can read, by the family its name belongs to. Data and one look-up. */

/** Fragments of names; the longest one found decides. */
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

/** 0 for a name of no family we know. */
export const knownContextLength = (model: string): number => {
  const name = model.toLowerCase()
  const found = FAMILIES.filter(([fragment]) => name.includes(fragment))
  return found.toSorted(([a], [b]) => b.length - a.length)[0]?.[1] ?? 0
}

export const contextLengthOf = (model: string): number => knownContextLength(model) || FALLBACK
