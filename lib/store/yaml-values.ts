/** Parses YAML to plain values in time proportional to its length: no alias bombs, no cycles, no duplicate keys. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml'
import { isObject, isObjectOrArray, type JsonObject } from '../base/json.ts'
import { type Sentence, sentence, type Words } from '../base/sentences.ts'
import { failed } from '../errors.ts'

/** Deeper than any configuration, and far below the depth at which recursion overflows the stack. */
const MAX_DEPTH = 100
/** Number of values with aliases expanded: code that walks the result visits each of them. */
const MAX_VALUES = 400_000

const REASONS: Readonly<Record<string, Sentence>> = {
  MULTIPLE_DOCS: sentence('yaml.documents'),
  TAB_AS_INDENT: sentence('yaml.tabs'),
}

/** The value of an anchored node and its number of values. `null` while it is being converted. */
type Anchored = { value: unknown; count: number } | null

const convert = (root: Node | null, lines: LineCounter): unknown => {
  const anchors = new Map<string, Anchored>()
  let count = 0

  const lineOf = (node: unknown): number => {
    const range = isObject(node) && 'range' in node ? node.range : null
    const start = Array.isArray(range) ? Number(range[0]) : 0
    return lines.linePos(start).line
  }
  const wrong = (node: unknown, reason: Words): Error =>
    failed(sentence('yaml.line', { line: lineOf(node), reason }))
  const add = (number: number, node: unknown): void => {
    count += number
    if (count > MAX_VALUES) throw wrong(node, 'it holds too many values')
  }

  const keyOf = (key: unknown): string => {
    const node = isAlias(key) ? key : isScalar(key) ? key : null
    const value = isAlias(node) ? aliased(node).value : isScalar(node) ? node.value : undefined
    if (node === null || isObjectOrArray(value)) throw wrong(key, 'a key has to be a plain text')
    return value === null || value === undefined ? '' : String(value)
  }

  const aliased = (node: Node & { source: string }): NonNullable<Anchored> => {
    const anchor = anchors.get(node.source)
    if (anchor === null) throw wrong(node, `"${node.source}" contains itself`)
    if (!anchor) throw wrong(node, `there is no "&${node.source}" above`)
    return anchor
  }

  const isMerge = ({ key }: Pair): boolean =>
    isScalar(key) && key.value === '<<' && key.type === 'PLAIN'

  const mapOf = (map: YAMLMap, depth: number): JsonObject => {
    const own = new Map<string, { value: unknown; line: number }>()
    const merged: unknown[] = []
    for (const pair of map.items) {
      if (isMerge(pair)) {
        merged.push(toValue(pair.value, depth))
        continue
      }
      const key = keyOf(pair.key)
      const before = own.get(key)
      if (before)
        throw wrong(
          pair.key,
          sentence('yaml.twice', { key, reason: sentence('yaml.at', { line: before.line }) }),
        )
      own.set(key, { value: toValue(pair.value, depth), line: lineOf(pair.key) })
    }
    const entries = [...own].map(([key, { value }]) => [key, value] as const)
    // The mapping's own keys win over merged ones, and earlier sources over later ones.
    const sources = merged.flatMap(value => (Array.isArray(value) ? value : [value]))
    for (const source of sources) {
      if (!isObject(source)) throw wrong(map, '"<<" can only take in mappings')
      for (const [key, value] of Object.entries(source)) {
        if (own.has(key)) continue
        own.set(key, { value, line: 0 })
        entries.push([key, value])
        add(1, map)
      }
    }
    return Object.fromEntries(entries)
  }

  const toValue = (node: unknown, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw wrong(node, 'it is nested too deeply')
    if (isAlias(node)) {
      const { value, count: size } = aliased(node)
      add(size, node)
      return value
    }
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined
    if (anchor !== undefined) anchors.set(anchor, null)
    const before = count
    add(1, node)
    const value = isMap(node)
      ? mapOf(node, depth + 1)
      : isSeq(node)
        ? node.items.map(item => toValue(item, depth + 1))
        : isScalar(node)
          ? (node.value ?? null)
          : null
    if (anchor !== undefined) anchors.set(anchor, { value, count: count - before })
    return value
  }

  return toValue(root, 0)
}

/** YAML 1.2 (`off` stays a string) with the merge keys of 1.1. Throws an Error with the line and the reason. */
export const parseYaml = (text: string): { document: Document; value: JsonObject } => {
  const lines = new LineCounter()
  let document: Document.Parsed
  let value: unknown
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      logLevel: 'error',
      prettyErrors: false,
      // Quadratic in the number of keys; `convert` finds duplicates in linear time.
      uniqueKeys: false,
    })
    const [error] = document.errors
    if (error) {
      const reason = REASONS[error.code] ?? error.message.split('\n', 1).join('')
      const { line } = lines.linePos(error.pos[0])
      throw failed(sentence('yaml.line', { line, reason }))
    }
    value = convert(document.contents, lines)
  } catch (error) {
    if (error instanceof RangeError) throw new Error('it is nested too deeply')
    throw error
  }
  if (value !== null && !isObject(value))
    throw failed(
      sentence('yaml.line', {
        line: 1,
        reason: sentence(Array.isArray(value) ? 'yaml.list' : 'yaml.scalar'),
      }),
    )
  return { document, value: value ?? {} }
}
