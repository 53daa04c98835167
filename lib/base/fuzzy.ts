/** Fuzzy matching of short texts: names, titles, and paths. */
import uFuzzy from '@leeoniya/ufuzzy'

export type FuzzyMatch = {
  /** Index into the texts. */
  at: number
  /** Offsets of the matched characters: start and end in turn. */
  ranges: number[]
}

/** Made with the first search: its patterns for every script take 20 ms to compile. */
const cache: { matcher?: uFuzzy } = {}

/** Letters of every script; characters may be left out within a word, or within a name of a path. */
const matcherOf = (): uFuzzy =>
  (cache.matcher ??= new uFuzzy({
    unicode: true,
    interSplit: "[^\\p{L}\\d']+",
    intraSplit: '\\p{Ll}\\p{Lu}',
    intraBound: '\\p{L}\\d|\\d\\p{L}|\\p{Ll}\\p{Lu}',
    intraChars: '[^\\s/]',
    intraContr: "'\\p{L}{1,2}\\b",
    intraIns: 6,
  }))

/** With more matches than this, only the first ones by length are ranked: ranking is what takes time. */
const MAX_RANKED = 3_000
const MAX_QUERY_CHARS = 200
/** Words in any order are ranked for as many words; the number of attempts is its factorial. */
const MAX_PERMUTED = 3

/** The texts that match `query`, best first. A query without letters and digits matches nothing. */
export const fuzzyMatches = (texts: readonly string[], query: string): FuzzyMatch[] => {
  const needle = query.slice(0, MAX_QUERY_CHARS)
  const haystack = texts as string[]
  const matcher = matcherOf()
  const [indexes] = matcher.search(haystack, needle, MAX_PERMUTED, 0)
  if (!indexes) return []
  const ranked =
    indexes.length <= MAX_RANKED
      ? indexes
      : indexes
          .sort((a, b) => haystack[a]!.length - haystack[b]!.length)
          .slice(0, MAX_RANKED)
          .sort((a, b) => a - b)
  const isLong = matcher.split(needle).length > MAX_PERMUTED
  const inOrder = isLong ? (matcher.filter(haystack, needle, ranked) ?? []) : ranked
  const permuted = isLong ? 0 : MAX_PERMUTED
  const [, info, order] =
    inOrder.length > 0
      ? matcher.search(haystack, needle, permuted, MAX_RANKED, inOrder)
      : [null, null, null]
  const best =
    info && order
      ? order.map(index => ({ at: info.idx[index]!, ranges: info.ranges[index] ?? [] }))
      : []
  if (!isLong) return best
  // In another order than they were typed, more words are found, but neither ranked nor marked.
  const isBest = new Set(best.map(({ at }) => at))
  return [...best, ...ranked.filter(at => !isBest.has(at)).map(at => ({ at, ranges: [] }))]
}
