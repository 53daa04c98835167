/**
 * Reads the programs and words of a command. It decides nothing about safety: what a program does is not in the text
 * (docs/decisions/0007-one-decision.md).
 */
import {
  type Command,
  forEachChild,
  type Redirection,
  type SyntaxNode,
  type Word as Node,
  type WordPart,
} from 'unbash'
import { MAX_COMMAND_CHARS, normalizeCommand, parseShell } from './syntax.ts'
import { innerTexts, innerWords } from './inner.ts'
import type { CommandPart, ReadCommand, Redirect, Value, Word } from './types.ts'

/** `bash -c` in `bash -c` … */
const MAX_DEPTH = 4
/** What comes after them is not read. */
export const MAX_PARTS = 2_000

const UNREADABLE: ReadCommand = { parts: [], isPlain: false, isFollowed: false }

/** The parts of both readings of a text: as it is, and without what hides text from a reader. */
export const readCommand = (command: string): ReadCommand => {
  if (command.length > MAX_COMMAND_CHARS) return UNREADABLE
  const plain = normalizeCommand(command)
  const analysis = readText(plain, 0)
  if (plain === command) return analysis
  const raw = readText(command, 0)
  return {
    parts: [...raw.parts, ...analysis.parts],
    isPlain: false,
    isFollowed: raw.isFollowed && analysis.isFollowed,
  }
}

/** Nodes of a text that means the same whenever it runs. Who allows a command looks at its assignments. */
const PLAIN = new Set([
  'Script',
  'Statement',
  'AndOr',
  'Pipeline',
  'Command',
  'Word',
  'Literal',
  'SingleQuoted',
  'DoubleQuoted',
  'Glob',
  'Redirect',
  'FileDescriptor',
  'Assignment',
])

/** Variables that the text itself sets, to one known value: `p=push; git $p`. */
type Variables = ReadonlyMap<string, Value>

const variablesIn = (tree: SyntaxNode): Variables => {
  const values = new Map<string, Value>()
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Assignment') {
      const value = node.value.type === 'Word' && !node.append ? wordText(node.value, values) : null
      values.set(node.name, values.has(node.name) && values.get(node.name) !== value ? null : value)
    }
    if (node.type === 'For' || node.type === 'Select') values.set(node.name.value, null)
    forEachChild(node, visit)
  }
  visit(tree)
  return values
}

const readText = (text: string, depth: number): ReadCommand => {
  const tree = parseShell(text)
  if (!tree) return UNREADABLE
  const variables = variablesIn(tree)
  const parts: CommandPart[] = []
  /** What reads the output of another program. */
  const piped = new Set<SyntaxNode>()
  let isPlain = tree.errors === undefined || tree.errors.length === 0
  let isFollowed = isPlain
  const add = (part: CommandPart): void => {
    if (parts.length >= MAX_PARTS || part.program === null) isFollowed = false
    if (parts.length >= MAX_PARTS) return
    parts.push(part)
    for (const words of innerWords(part)) add({ ...fromWords(words), isInner: true })
    for (const { text: inner, isCertain } of innerTexts(part)) {
      const nested = inner === null || depth >= MAX_DEPTH ? UNREADABLE : readText(inner, depth + 1)
      if (isCertain) isFollowed &&= nested.isFollowed
      for (const each of nested.parts)
        if (parts.length < MAX_PARTS) parts.push({ ...each, isInner: true })
    }
  }
  const visit = (node: SyntaxNode): void => {
    if (!PLAIN.has(node.type)) isPlain = false
    if (node.type === 'Function') isFollowed = false
    if (node.type === 'Statement' && node.background) isPlain = false
    if (node.type === 'Redirect' && !isQuiet(node, variables)) isPlain = false
    if (node.type === 'Pipeline') for (const each of node.commands.slice(1)) piped.add(each)
    if (node.type === 'Command')
      add({ ...toPart(node, variables), ...(piped.has(node) && { isPiped: true as const }) })
    // A redirection of a loop or group belongs to no program, but it reads or writes a file all the same.
    if (node.type === 'Redirected') add({ ...EMPTY, ...redirectsOf(node.redirects, variables) })
    forEachChild(node, visit)
  }
  visit(tree)
  return { parts, isPlain: isPlain && parts.every(({ program }) => program !== null), isFollowed }
}

const EMPTY = { program: '', name: '', words: [], redirects: [], assigns: [], inputs: [] }

/** A script of an interpreter, whose literals may be paths and hosts. */
export const scriptAsCommand = (code: string): ReadCommand => {
  const words = [{ value: code, isGlob: false }]
  return {
    parts: [{ ...EMPTY, program: 'python3', name: 'python3', words }],
    isPlain: false,
    isFollowed: true,
  }
}

/** Also on other systems, where a program may be found in another case. */
const baseName = (program: Value): string =>
  program === null ? '' : program.slice(program.lastIndexOf('/') + 1).toLowerCase()

const fromWords = ([first, ...words]: readonly Word[]): CommandPart => {
  const program = first?.value ?? null
  return { ...EMPTY, program, name: baseName(program), words }
}

const toPart = (command: Command, variables: Variables): CommandPart => {
  const assigns: [string, Value][] = []
  const words: Word[] = []
  for (const each of [...command.prefix, ...command.args])
    if (each.type === 'Assignment')
      assigns.push([each.name, each.value.type === 'Word' ? wordText(each.value, variables) : null])
    else if (each.type === 'Word')
      words.push({ ...valueAndText(each, variables), isGlob: isGlob(each) })
  const program = command.name ? wordText(command.name, variables) : ''
  return {
    program: command.name && isGlob(command.name) ? null : program,
    name: baseName(program),
    words,
    assigns,
    ...redirectsOf(command.redirects, variables),
  }
}

const redirectsOf = (
  all: readonly Redirection[],
  variables: Variables,
): { redirects: Redirect[]; inputs: Value[] } => {
  const redirects: Redirect[] = []
  const inputs: Value[] = []
  for (const each of all)
    if (each.type === 'Redirect') redirects.push(toRedirect(each, variables))
    else if (each.type === 'HereString')
      inputs.push(each.target ? wordText(each.target, variables) : null)
    else
      inputs.push(each.body.parts?.some(({ type }) => type !== 'Literal') ? null : each.body.text)
  return { redirects, inputs }
}

const valueAndText = (node: Node, variables: Variables): { value: Value; raw?: string } => {
  const value = wordText(node, variables)
  return { value, ...(value === null && { raw: node.text }) }
}

const toRedirect = (
  { operator: op, target }: Extract<Redirection, { type: 'Redirect' }>,
  variables: Variables,
): Redirect => {
  const { value = null, raw } = target ? valueAndText(target, variables) : {}
  return { op, target: value, ...(raw !== undefined && { raw }) }
}

/** Hides output, or joins the two kinds: `2>/dev/null`, `2>&1`. */
const isQuiet = (
  { operator, target }: Extract<Redirection, { type: 'Redirect' }>,
  variables: Variables,
): boolean => {
  const to = target ? wordText(target, variables) : null
  return (operator === '>' || operator === '&>') && to === '/dev/null'
    ? true
    : operator === '>&' && to !== null && /^[12]$/.test(to)
}

const wordParts = (node: Node): readonly WordPart[] => node.parts ?? []

const isGlob = (node: Node): boolean =>
  wordParts(node).some(
    ({ type }) => type === 'Glob' || type === 'ExtendedGlob' || type === 'BraceExpansion',
  ) ||
  (node.parts === undefined && /^[^'"\\]*[*?[]/.test(node.text))

const KNOWN = new Set([
  'Literal',
  'SingleQuoted',
  'AnsiCQuoted',
  'Glob',
  'ExtendedGlob',
  'BraceExpansion',
])

/** A tilde stays one; the value of a wildcard is its pattern. */
const wordText = (node: Node, variables: Variables): Value => {
  let text = ''
  for (const part of wordParts(node)) {
    const value = partText(part, variables)
    if (value === null) return null
    text += value
  }
  return node.parts === undefined || text === '' ? node.value : text
}

const partText = (part: WordPart, variables: Variables): Value => {
  if (part.type === 'DoubleQuoted' || part.type === 'LocaleString') {
    const inner = part.parts.map(each => partText(each, variables))
    return inner.includes(null) ? null : inner.join('')
  }
  if (part.type === 'SimpleExpansion') return variables.get(part.text.slice(1)) ?? null
  if (part.type === 'ParameterExpansion')
    return part.operation || part.prefix || part.index
      ? null
      : (variables.get(part.parameter) ?? null)
  if (!KNOWN.has(part.type)) return null
  return 'value' in part ? part.value : part.text
}
