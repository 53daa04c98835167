/** Highlights code with lazily loaded grammars and CSS custom highlights, without extra DOM nodes. */
import type { HLJSApi, LanguageFn } from 'highlight.js'

type Grammar = () => Promise<{ default: LanguageFn }>

const grammars: Readonly<Record<string, Grammar>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  csharp: () => import('highlight.js/lib/languages/csharp'),
  css: () => import('highlight.js/lib/languages/css'),
  dart: () => import('highlight.js/lib/languages/dart'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  elixir: () => import('highlight.js/lib/languages/elixir'),
  go: () => import('highlight.js/lib/languages/go'),
  graphql: () => import('highlight.js/lib/languages/graphql'),
  haskell: () => import('highlight.js/lib/languages/haskell'),
  http: () => import('highlight.js/lib/languages/http'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  latex: () => import('highlight.js/lib/languages/latex'),
  lua: () => import('highlight.js/lib/languages/lua'),
  makefile: () => import('highlight.js/lib/languages/makefile'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  nginx: () => import('highlight.js/lib/languages/nginx'),
  nix: () => import('highlight.js/lib/languages/nix'),
  perl: () => import('highlight.js/lib/languages/perl'),
  php: () => import('highlight.js/lib/languages/php'),
  powershell: () => import('highlight.js/lib/languages/powershell'),
  python: () => import('highlight.js/lib/languages/python'),
  r: () => import('highlight.js/lib/languages/r'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  scala: () => import('highlight.js/lib/languages/scala'),
  scss: () => import('highlight.js/lib/languages/scss'),
  sql: () => import('highlight.js/lib/languages/sql'),
  swift: () => import('highlight.js/lib/languages/swift'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
}

const aliases: Readonly<Record<string, string>> = {
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  console: 'bash',
  'c++': 'cpp',
  h: 'c',
  hpp: 'cpp',
  cs: 'csharp',
  ex: 'elixir',
  golang: 'go',
  hs: 'haskell',
  html: 'xml',
  svg: 'xml',
  vue: 'xml',
  toml: 'ini',
  conf: 'ini',
  env: 'ini',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsonc: 'json',
  json5: 'json',
  kt: 'kotlin',
  tex: 'latex',
  make: 'makefile',
  md: 'markdown',
  pl: 'perl',
  ps1: 'powershell',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  yml: 'yaml',
}

/** Grammar for a fence label or file extension; null when there is none. */
export const grammarOf = (label: string): string | null => {
  const name = label.toLowerCase()
  const grammar = aliases[name] ?? name
  return Object.hasOwn(grammars, grammar) ? grammar : null
}

/** Names of the most usual languages; other labels are shown as they are. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ bash: 'Shell', sh: 'Shell', shell: 'Shell', c: 'C', cpp: 'C++', cs: 'C#', css: 'CSS' },
  ...{ csv: 'CSV', diff: 'Diff', dockerfile: 'Dockerfile', go: 'Go', html: 'HTML', java: 'Java' },
  ...{ javascript: 'JavaScript', js: 'JavaScript', json: 'JSON', jsx: 'JSX', kotlin: 'Kotlin' },
  ...{ markdown: 'Markdown', md: 'Markdown', php: 'PHP', py: 'Python', python: 'Python' },
  ...{ rb: 'Ruby', rs: 'Rust', ruby: 'Ruby', rust: 'Rust', sql: 'SQL', svg: 'SVG', swift: 'Swift' },
  ...{ toml: 'TOML', ts: 'TypeScript', tsx: 'TSX', typescript: 'TypeScript', xml: 'XML' },
  ...{ yaml: 'YAML', yml: 'YAML' },
}

export const languageName = (label: string): string | null =>
  Object.hasOwn(NAMES, label) ? NAMES[label]! : null

/** A highlighted range; offsets in UTF-16 code units. */
export type Span = { from: number; to: number; scope: Scope }

/** Maps scopes to the theme's colors; others keep the text color. */
const scopes = {
  keyword: 'keyword',
  built_in: 'type',
  type: 'type',
  literal: 'number',
  number: 'number',
  string: 'string',
  regexp: 'string',
  symbol: 'number',
  char: 'string',
  comment: 'comment',
  doctag: 'keyword',
  meta: 'comment',
  title: 'title',
  section: 'title',
  attr: 'attribute',
  attribute: 'attribute',
  property: 'attribute',
  variable: 'variable',
  'template-variable': 'variable',
  params: 'variable',
  tag: 'tag',
  name: 'tag',
  'selector-tag': 'tag',
  'selector-class': 'title',
  'selector-id': 'title',
  bullet: 'keyword',
  code: 'string',
  link: 'string',
  quote: 'comment',
  addition: 'addition',
  deletion: 'deletion',
} as const
export type Scope = (typeof scopes)[keyof typeof scopes]

type Node = string | { scope?: string; children: Node[] }

const walk = (node: Node, at: number, spans: Span[]): number => {
  if (typeof node === 'string') return at + node.length
  let end = at
  const name = node.scope?.split('.')[0] ?? ''
  const scope = scopes[name as keyof typeof scopes] as Scope | undefined
  const place = spans.length
  for (const child of node.children) end = walk(child, end, spans)
  if (scope && end > at) spans.splice(place, 0, { from: at, to: end, scope })
  return end
}

/** Longer texts are not highlighted, because lexing them would block the page. */
const MAX_CHARACTERS = 60_000

/** Null until the first grammar is loaded. */
const cache: { hljs: HLJSApi | null } = { hljs: null }

/** Highlighted ranges of a text, outer ones before inner ones. */
export const spansOf = async (text: string, grammar: string): Promise<Span[]> => {
  if (text.length > MAX_CHARACTERS) return []
  const load = grammars[grammar]
  if (!load) return []
  const [{ default: hljs }, language] = await Promise.all([import('highlight.js/lib/core'), load()])
  if (!hljs.getLanguage(grammar)) hljs.registerLanguage(grammar, language.default)
  cache.hljs = hljs
  return spansNow(text, grammar) ?? []
}

/** The same at once, for code that is still being written; null while the grammar is not loaded. */
const spansNow = (text: string, grammar: string): Span[] | null => {
  const { hljs } = cache
  if (!hljs?.getLanguage(grammar)) return null
  const result = hljs.highlight(text, { language: grammar, ignoreIllegals: true })
  const spans: Span[] = []
  walk((result._emitter as unknown as { rootNode: Node }).rootNode, 0, spans)
  return spans
}

/** Highlights the spans in `element`; returns a function that removes the highlights. */
export const paint = (element: HTMLElement, spans: readonly Span[]): (() => void) => {
  if (typeof Highlight === 'undefined' || !CSS.highlights) return () => {}
  // Forced colors paint every highlight like selected text.
  if (matchMedia('(forced-colors: active)').matches) return () => {}
  const ranges: [Highlight, Range][] = []
  const texts = textNodes(element)
  for (const { from, to, scope } of spans) {
    const start = locate(texts, from)
    const end = locate(texts, to)
    if (!start || !end) continue
    const range = new Range()
    range.setStart(start.node, start.offset)
    range.setEnd(end.node, end.offset)
    const highlight = registered(`code-${scope}`)
    highlight.add(range)
    ranges.push([highlight, range])
  }
  return () => {
    for (const [highlight, range] of ranges) highlight.delete(range)
  }
}

/** Read within a frame; a longer text that is still being written stays plain until it has ended. */
const SHORT_CHARS = 4_000

/** Null where the grammar is not loaded, or the text takes longer to read. */
export const paintNow = (
  element: HTMLElement,
  text: string,
  label: string,
  isOpen: boolean,
): (() => void) | null => {
  if (text.length > SHORT_CHARS) return isOpen ? () => {} : null
  const grammar = grammarOf(label)
  const spans = grammar && spansNow(text, grammar)
  return spans ? paint(element, spans) : null
}

export const paintLater = async (
  element: HTMLElement,
  text: string,
  label: string,
): Promise<() => void> => {
  const grammar = grammarOf(label)
  const spans = grammar ? await spansOf(text, grammar) : []
  return paint(element, spans)
}

const registered = (name: string): Highlight => {
  const existing = CSS.highlights.get(name)
  if (existing) return existing
  const highlight = new Highlight()
  // Inner scopes (an escape in a string) must win over outer ones.
  highlight.priority = name === 'code-string' || name === 'code-tag' ? 0 : 1
  CSS.highlights.set(name, highlight)
  return highlight
}

type TextSegment = { node: Text; from: number; to: number }

const textNodes = (element: HTMLElement): TextSegment[] => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const places: TextSegment[] = []
  let at = 0
  while (walker.nextNode()) {
    const node = walker.currentNode as Text
    places.push({ node, from: at, to: at + node.length })
    at += node.length
  }
  return places
}

/** Nested spans are not in order, so use a binary search. */
const locate = (
  places: readonly TextSegment[],
  offset: number,
): { node: Text; offset: number } | null => {
  let low = 0
  let high = places.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (places[middle]!.to < offset) low = middle + 1
    else high = middle
  }
  const place = places[low]
  return place
    ? { node: place.node, offset: Math.min(offset - place.from, place.node.length) }
    : null
}
