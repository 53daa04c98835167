/**
 * Context lengths in tokens for models that neither their provider's list nor the table of prices knows: the last fallback of
 * `resolveEndpoint` in endpoint.ts, which decides. One row per family that reads more than the fallback, so that a model of next
 * month, or one of a local server, is not compacted early. Single models do not belong here.
 */

/** Parts of model names; the longest match wins. */
const FAMILIES: readonly (readonly [fragment: string, tokens: number])[] = [
  ['claude', 200_000],
  // The table of prices has no window for most of these three.
  ['gemini', 1_048_576],
  ['glm', 202_752],
  ['kimi', 262_144],
  ['llama', 131_072],
  ['qwen', 131_072],
]

const FALLBACK = 128_000

/** Tokens; 0 for an unknown family. */
export const knownContextLength = (model: string): number => {
  const name = model.toLowerCase()
  const families = FAMILIES.filter(([fragment]) => name.includes(fragment))
  return families.toSorted(([a], [b]) => b.length - a.length)[0]?.[1] ?? 0
}

export const contextLengthOf = (model: string): number => knownContextLength(model) || FALLBACK
