/** Word expansion: the values that a word of a command can have, as far as they are known before it runs. */
import { forEachChild, parse, type Script, type SyntaxNode, type Word, type WordPart } from 'unbash'
import { applyOperation } from './parameters.ts'
import { DATA, UNKNOWN } from './syntax.ts'

/** One word as the program gets it. `glob`: contains a pattern that the shell replaces with file names. */
export type Field = { text: string; glob: boolean }
/** All values a variable may have here; null if unknown. */
export type Value = readonly string[] | null

export type Scope = {
  value: (name: string) => Value
  /** The output of a substitution; its commands are visited. */
  output: (script: Script | undefined) => Value
  /** Consumes steps of the limit; throws when none are left. */
  spend: (steps: number) => void
  /** Something runs that cannot be followed. */
  reportUnclear: () => void
}

const MAX_ALTERNATIVES = 64
const MAX_RANGE = 40

type Expansion = Field[]

const joinExpansions = (expansions: Expansion[], next: Expansion[], scope: Scope): Expansion[] => {
  const chars = (all: Expansion[]) =>
    all.reduce(
      (sum, expansion) => sum + expansion.reduce((more, { text }) => more + text.length, 0),
      0,
    )
  // Self-doubling text costs its expanded length.
  scope.spend(
    expansions.length * next.length +
      (chars(expansions) * next.length + chars(next) * expansions.length) / 200,
  )
  const joined: Expansion[] = []
  for (const expansion of expansions)
    for (const more of next) {
      if (joined.length >= MAX_ALTERNATIVES) return joined
      const last = expansion.at(-1)
      const [first, ...rest] = more
      joined.push(
        last && first
          ? [
              ...expansion.slice(0, -1),
              { text: last.text + first.text, glob: last.glob || first.glob },
              ...rest,
            ]
          : [...expansion, ...more],
      )
    }
  return joined
}

const plain = (text: string, glob = false): Expansion[] => [[{ text, glob }]]

/** An unquoted value: split at spaces, wildcards are patterns. */
const splitValue = (value: string): Expansion => {
  const words = value.split(/[ \t\n]+/)
  return words.map(text => ({ text, glob: /[*?[]/.test(text) }))
}

const fromValue = (value: Value, quoted: boolean): Expansion[] => {
  if (value === null) return plain(UNKNOWN)
  // An empty list leaves the text around it.
  if (value.length === 0) return plain('')
  return value
    .slice(0, MAX_ALTERNATIVES)
    .map(text => (quoted ? [{ text, glob: false }] : splitValue(text)))
}

const NAMES_SPECIAL = /^[?$!#\-_\d]$/

/** Substitutions in arithmetic run like all others. */
const substitutionsIn = (tree: SyntaxNode, scope: Scope): void => {
  if (tree.type === 'CommandExpansion' || tree.type === 'ArithmeticCommandExpansion')
    scope.output(tree.script)
  else forEachChild(tree, child => substitutionsIn(child, scope))
}

/** Substitutions in a pattern run before file names are matched. */
const expandGlob = (part: WordPart, scope: Scope): Expansion[] => {
  forEachChild(part, child => substitutionsIn(child, scope))
  return plain(/[$`]/.test(part.text) ? UNKNOWN : part.text, true)
}

const expandPart = (part: WordPart, quoted: boolean, scope: Scope, depth: number): Expansion[] => {
  scope.spend(1)
  switch (part.type) {
    case 'Literal':
      return plain(part.value)
    case 'Glob':
    case 'ExtendedGlob':
      return expandGlob(part, scope)
    case 'AnsiCQuoted':
      // `$'\x01'` would be taken for our own placeholder.
      if (part.value.includes(DATA)) scope.reportUnclear()
      return plain(part.value)
    case 'SingleQuoted':
      return plain(part.value)
    case 'DoubleQuoted':
    case 'LocaleString': {
      let expansions = plain('')
      for (const inner of part.parts)
        expansions = joinExpansions(expansions, expandPart(inner, true, scope, depth + 1), scope)
      return expansions
    }
    case 'SimpleExpansion': {
      const name = part.text.slice(1)
      return fromValue(scope.value(name), quoted || NAMES_SPECIAL.test(name))
    }
    case 'ParameterExpansion':
      return fromValue(
        applyOperation(part, scope, word => flatText(word, scope, depth + 1)),
        quoted,
      )
    case 'CommandExpansion':
      return fromValue(scope.output(part.script), quoted)
    case 'ArithmeticExpansion':
      if (part.expression) substitutionsIn(part.expression, scope)
      return plain(DATA)
    case 'ProcessSubstitution':
      scope.output(part.script)
      return plain(part.operator === '<' ? `/dev/fd/${DATA}` : `/dev/fd/w${DATA}`)
    case 'BraceExpansion':
      return [braceFields(part.text, scope, depth + 1)]
  }
}

/** The items of `{…}` at its own nesting level. */
const braceItems = (text: string): string[] => {
  const inner = text.slice(1, -1)
  const items: string[] = []
  let depth = 0
  let quote = ''
  let from = 0
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at] ?? ''
    if (char === '\\') at++
    else if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '{' || char === '(') depth++
    else if (char === '}' || char === ')') depth--
    else if (char === ',' && depth === 0) {
      items.push(inner.slice(from, at))
      from = at + 1
    }
  }
  return [...items, inner.slice(from)]
}

/** Expands `{a,b}` to several fields; the caller joins the text around it. */
const braceFields = (text: string, scope: Scope, depth: number): Field[] => {
  const range = /^\{(-?\w+)\.\.(-?\w+)(?:\.\.(-?\d+))?\}$/.exec(text)
  if (range) return rangeOf(range[1] ?? '', range[2] ?? '', Number(range[3] ?? 1))
  if (depth > 4) return [{ text: UNKNOWN, glob: false }]
  return braceItems(text).flatMap(item => {
    scope.spend(2)
    if (!/[\\"'$`{*?[~]/.test(item)) return [{ text: item, glob: false }]
    // Parsed as a separate word; an empty item stays empty.
    const [statement] = parse(`: ${item}`).commands
    const command = statement?.command
    const word = command?.type === 'Command' ? command.suffix[0] : undefined
    return word?.type === 'Word'
      ? fieldsOf(word, scope, depth + 1)
      : [{ text: UNKNOWN, glob: false }]
  })
}

const rangeOf = (from: string, to: string, step: number): Field[] => {
  const isLetter = /^[a-zA-Z]$/
  const numbers = /^-?\d+$/.test(from) && /^-?\d+$/.test(to)
  if (!numbers && !(isLetter.test(from) && isLetter.test(to))) return [{ text: DATA, glob: false }]
  const [start, end] = numbers ? [Number(from), Number(to)] : [from.charCodeAt(0), to.charCodeAt(0)]
  const width = Math.abs(step) || 1
  if (Math.abs(end - start) / width > MAX_RANGE) return [{ text: DATA, glob: false }]
  const found: Field[] = []
  for (let at = start; start <= end ? at <= end : at >= end; at += start <= end ? width : -width)
    found.push({ text: numbers ? String(at) : String.fromCharCode(at), glob: false })
  return found
}

/** A word with braces: each item with the text before and after it. */
const withBraces = (parts: readonly WordPart[], scope: Scope, depth: number): Field[] => {
  let fields: Field[] = [{ text: '', glob: false }]
  for (const part of parts) {
    const next =
      part.type === 'BraceExpansion'
        ? braceFields(part.text, scope, depth + 1)
        : expandPart(part, false, scope, depth + 1).flat()
    scope.spend(fields.length * next.length)
    fields = fields
      .flatMap(({ text, glob }) =>
        next.map(more => ({ text: text + more.text, glob: glob || more.glob })),
      )
      .slice(0, MAX_ALTERNATIVES * 4)
  }
  return fields
}

const bareValue = (word: Word): Expansion => {
  const { text, value } = word
  // An unquoted pattern without expansions has no parts.
  return [{ text: value, glob: /(?<!\\)[*?[]/.test(text) && !/["']/.test(text) }]
}

/** Every possible expansion of a word, each with its fields. */
export const expansionsOf = (word: Word, scope: Scope, depth = 0): Expansion[] => {
  scope.spend(1)
  if (depth > 8) return plain(UNKNOWN)
  const { parts } = word
  if (!parts) return [bareValue(word)]
  if (parts.some(part => part.type === 'BraceExpansion')) return [withBraces(parts, scope, depth)]
  let expansions: Expansion[] = plain('')
  for (const part of parts)
    expansions = joinExpansions(expansions, expandPart(part, false, scope, depth), scope)
  // An unquoted empty expansion yields no word.
  const isList = /\$(?:@|\{[^}]*@)/.test(word.text)
  const isQuoted = !isList && parts.some(({ type }) => /Quoted|Locale/.test(type))
  return expansions.map(expansion =>
    isQuoted
      ? expansion
      : expansion.filter(({ text }, at) => text !== '' || (at > 0 && at < expansion.length - 1)),
  )
}

/** All fields of all possible expansions. */
export const fieldsOf = (word: Word, scope: Scope, depth = 0): Field[] =>
  expansionsOf(word, scope, depth).flat()

/** The values of a word where it isn't split: assignments, redirections, here-strings. */
export const flatText = (word: Word, scope: Scope, depth = 0): string[] => {
  const expansions = expansionsOf(word, scope, depth).map(expansion =>
    expansion.map(({ text }) => text).join(' '),
  )
  return [...new Set(expansions.length > 0 ? expansions : [''])]
}

/** The text of a here-document. */
export const bodyText = (
  text: string,
  parts: readonly WordPart[] | undefined,
  scope: Scope,
): string => {
  if (!parts) return text
  return parts
    .map(part => {
      const expansions = expandPart(part, true, scope, 0)
      return expansions[0]?.map(field => field.text).join(' ') ?? ''
    })
    .join('')
}
