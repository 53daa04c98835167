/** Changes one value in a YAML text and no other byte: comments, spacing, quotes and indentation survive. */
import {
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parse,
  Scalar,
  stringify,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { isObjectOrArray } from '../base/json.ts'

/** A string that a YAML 1.1 parser (the host agent uses one) reads as another type, like `off` or `12:30`. */
const isAmbiguous = (text: string): boolean =>
  stringify(text, { lineWidth: 0 }) === `${text}\n` &&
  typeof parse(text, { version: '1.1' }) !== 'string'

/** Plain values as nodes, quoted where YAML versions disagree or `needsQuotes` returns true. */
const toDocument = (value: unknown, needsQuotes = isAmbiguous): Document => {
  const document = new Document(value)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && needsQuotes(node.value)) node.type = Scalar.QUOTE_DOUBLE
    },
  })
  return document
}

/** A node with the same quoting. */
export const toNode = (value: unknown): unknown => toDocument(value).contents

const blockText = (value: unknown): string => toDocument(value).toString({ lineWidth: 0 })

/** The value on one line; undefined when it needs several. */
const inlineText = (value: unknown): string | undefined => {
  const hasLines = (text: string) => text.includes('\n') || isAmbiguous(text)
  const text = toDocument(value, hasLines).toString({
    lineWidth: 0,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    collectionStyle: 'flow',
    flowCollectionPadding: false,
  })
  const line = text.replace(/\n$/, '')
  return line.includes('\n') ? undefined : line
}

const nest = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)

/** The offset where a node ends, without the comments and blank lines that follow it. */
const endOf = (node: unknown): number | undefined => {
  if (isMap(node) && !node.flow) {
    const last = node.items.at(-1)
    return last ? (endOf(last.value) ?? endOf(last.key)) : node.range?.[1]
  }
  if (isSeq(node) && !node.flow) return endOf(node.items.at(-1)) ?? node.range?.[1]
  if (isScalar(node) || isAlias(node) || isMap(node) || isSeq(node)) return node.range?.[1]
  return undefined
}

const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1

/** The beginning of the line after `at`; a block scalar's end already is one. */
const nextLine = (text: string, at: number): number => {
  if (text[at - 1] === '\n') return at
  const feed = text.indexOf('\n', at)
  return feed < 0 ? text.length : feed + 1
}

const insertLines = (text: string, at: number, lines: string, indent: string): string => {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const block = lines
    .replace(/\n$/, '')
    .split('\n')
    .map(line => (line ? indent + line : line))
    .join(eol)
  const before = text.slice(0, at)
  const gap = before === '' || before.endsWith('\n') ? '' : eol
  return `${before}${gap}${block}${eol}${text.slice(at)}`
}

const findPair = (map: YAMLMap, key: string): Pair | undefined =>
  map.items.find(({ key: node }) => isScalar(node) && String(node.value) === key)

/** The indentation of a block mapping's keys, when each is on its own line. */
const indentOf = (text: string, map: YAMLMap): string | undefined => {
  const first = map.items[0]?.key
  if (!isScalar(first) || !first.range) return undefined
  const before = text.slice(lineStart(text, first.range[0]), first.range[0])
  return /^ *$/.test(before) ? before : undefined
}

const addKeys = (
  text: string,
  map: YAMLMap,
  path: readonly string[],
  value: unknown,
): string | undefined => {
  if (map.flow) {
    const close = map.range ? map.range[1] - 1 : -1
    const pair = inlineText(nest(path, value))?.slice(1, -1)
    if (text[close] !== '}' || pair === undefined) return undefined
    return `${text.slice(0, close)}${map.items.length ? ', ' : ''}${pair}${text.slice(close)}`
  }
  const indent = indentOf(text, map)
  const end = endOf(map)
  if (indent === undefined || end === undefined) return undefined
  return insertLines(text, nextLine(text, end), blockText(nest(path, value)), indent)
}

/** `key:` without a value, or with `~`, `null`, `''`: the new mapping is inserted below it. */
const fillEmpty = (
  text: string,
  map: YAMLMap,
  pair: Pair,
  path: readonly string[],
  value: unknown,
): string | undefined => {
  const { key, value: empty } = pair
  const indent = indentOf(text, map)
  if (map.flow || indent === undefined || !isScalar(key) || !key.range) return undefined
  const range = isScalar(empty) || isMap(empty) ? empty.range : undefined
  const [from, to] = range && range[1] > range[0] ? [range[0], range[1]] : [0, 0]
  const cut = to > from ? text.slice(0, from).replace(/ +$/, '') + text.slice(to) : text
  return insertLines(cut, nextLine(cut, key.range[1]), blockText(nest(path, value)), `${indent}  `)
}

/** Removes and appends list items; the lines of the other items stay, with their comments. */
const spliceItems = (
  text: string,
  list: YAMLSeq,
  value: readonly unknown[],
): string | undefined => {
  const old = list.items.map(item => (isScalar(item) ? item.value : item))
  const isKept = old.map((item, at) => value.includes(item) && old.indexOf(item) === at)
  const fresh = value.filter(item => !old.includes(item))
  const last = list.items.at(-1)
  if (!isKept.includes(true) || !isScalar(last) || !last.range) return undefined
  const from = lineStart(text, last.range[0])
  const indent = /^( *)- /.exec(text.slice(from, last.range[0]))?.[1]
  if (indent === undefined) return undefined
  let next = fresh.length
    ? insertLines(text, nextLine(text, last.range[1]), blockText(fresh), indent)
    : text
  for (const [at, item] of [...list.items.entries()].reverse()) {
    if (isKept[at]) continue
    if (!isScalar(item) || !item.range) return undefined
    next = next.slice(0, lineStart(text, item.range[0])) + next.slice(nextLine(text, item.range[1]))
  }
  return next
}

const replaceValue = (
  text: string,
  map: YAMLMap,
  pair: Pair,
  key: string,
  value: unknown,
): string | undefined => {
  const old = pair.value
  if (isSeq(old) && Array.isArray(value) && value.length > 0) {
    const line = old.flow ? inlineText(value) : undefined
    const cut =
      old.flow && old.range && line !== undefined
        ? text.slice(0, old.range[0]) + line + text.slice(old.range[1])
        : spliceItems(text, old, value)
    if (cut !== undefined) return cut
  }
  const isLine =
    (isScalar(old) || isAlias(old)) && old.range && !/^[|>]/.test(text[old.range[0]] ?? '')
  const simple = !isObjectOrArray(value)
  const line = inlineText(value)
  if (isLine && simple && line !== undefined && old.range) {
    const [from, to] = old.range
    const gap = text[from - 1] === ':' ? ' ' : ''
    return text.slice(0, from) + gap + line + text.slice(to)
  }
  const range = linesOf(text, map, pair)
  if (!range) return undefined
  const rest = text.slice(0, range.from) + text.slice(range.to)
  return insertLines(rest, range.from, blockText({ [key]: value }), range.indent)
}

/** The range of whole lines of a pair in a block mapping. */
const linesOf = (text: string, map: YAMLMap, pair: Pair) => {
  const indent = indentOf(text, map)
  const key = pair.key
  const end = endOf(pair.value) ?? endOf(key)
  if (map.flow || indent === undefined || end === undefined || !isScalar(key) || !key.range)
    return undefined
  return { from: lineStart(text, key.range[0]), to: nextLine(text, end), indent }
}

/**
 * The text with `value` at `path` (undefined removes the key), or undefined when the structure is too unusual to splice.
 * The caller parses and compares the result, so a wrong splice is never written.
 */
export const spliceYaml = (
  text: string,
  root: unknown,
  path: readonly string[],
  value: unknown,
): string | undefined => {
  if (root === null || (isScalar(root) && root.value === null))
    return value === undefined
      ? text
      : insertLines(text, text.length, blockText(nest(path, value)), '')
  let map = root
  for (const [at, key] of path.entries()) {
    if (!isMap(map)) return undefined
    const pair = findPair(map, key)
    if (!pair) return value === undefined ? text : addKeys(text, map, path.slice(at), value)
    if (at === path.length - 1) {
      if (value !== undefined) return replaceValue(text, map, pair, key, value)
      const lines = linesOf(text, map, pair)
      return lines && text.slice(0, lines.from) + text.slice(lines.to)
    }
    const inner = pair.value
    if (isMap(inner) && inner.items.length > 0) map = inner
    else if (value === undefined) return text
    else return fillEmpty(text, map, pair, path.slice(at + 1), value)
  }
  return undefined
}
