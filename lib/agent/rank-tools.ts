/** Ranks tools for a query by BM25 over their names, descriptions and parameters. Pure. */
import { asObject } from '../base/json.ts'
import { describeTool } from './tool-schema.ts'
import type { Tool } from './types.ts'

/** The usual parameters of BM25: saturation of repeated words, and the influence of a text's length. */
const K1 = 1.2
const B = 0.75
/** A word in the name says more than one in the description. */
const NAME_WEIGHT = 4
const PARAMETER_WEIGHT = 2

/** They say nothing about a tool, and count as rare where most descriptions are a few words. */
const EMPTY_WORDS = new Set(
  'a an and at by for from i in into is it my of on or that the this to use with'.split(' '),
)

/**
 * Lower-case words without the end of a plural: `listPullRequests` and `list_pull_request` are the same. The `e` goes too, so
 * that `branches` is `branch` and `caches` is `cache`.
 */
const wordsOf = (text: string): string[] =>
  (text.replace(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, '$1 ').match(/[\p{L}\p{N}]+/gu) ?? []).map(word =>
    word.toLowerCase().replace(/(?<=\p{L}{3})(?:es?|(?<!s)s)$/u, ''),
  )

type IndexedTool = { tool: Tool; counts: Map<string, number>; length: number }

const toEntry = (tool: Tool): IndexedTool => {
  const { name, description, parameters } = describeTool(tool)
  const properties = Object.keys(asObject(asObject(parameters).properties))
  const counts = new Map<string, number>()
  const add = (text: string, weight: number) => {
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + weight)
  }
  add(name, NAME_WEIGHT)
  add(description, 1)
  add(properties.join(' '), PARAMETER_WEIGHT)
  return { tool, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) }
}

/** The matching tools, best first; tools that the query names come before all others. */
export const rankTools = (query: string, tools: readonly Tool[]): Tool[] => {
  const names = new Set(query.split(/[\s,]+/))
  const exact = tools.filter(({ name }) => names.has(name))
  const entries = tools.map(toEntry)
  const meanLength = entries.reduce((sum, { length }) => sum + length, 0) / entries.length
  const words = [...new Set(wordsOf(query))].filter(word => !EMPTY_WORDS.has(word))
  const rarity = new Map(
    words.map(word => {
      const matches = entries.filter(({ counts }) => counts.has(word)).length
      return [word, Math.log(1 + (entries.length - matches + 0.5) / (matches + 0.5))]
    }),
  )
  const scoreOf = ({ counts, length }: IndexedTool): number =>
    words.reduce((sum, word) => {
      const count = counts.get(word) ?? 0
      const saturated = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / meanLength))
      return sum + (rarity.get(word) ?? 0) * saturated
    }, 0)
  const ranked = entries
    .map(entry => ({ tool: entry.tool, score: scoreOf(entry) }))
    .filter(({ tool, score }) => score > 0 && !exact.includes(tool))
    .sort((a, b) => b.score - a.score)
  return [...exact, ...ranked.map(({ tool }) => tool)]
}
