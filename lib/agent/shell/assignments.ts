/** Every way in which bash sets a variable, besides `NAME=value` in front of a command. Source: the Bash Reference Manual. */
import { forEachChild, type SyntaxNode, type Word } from 'unbash'
import { ANY_VALUE, hasUnknown, UNKNOWN } from './syntax.ts'
import type { SimpleCommand } from './types.ts'

/** `value`: ANY_VALUE if it isn't known. `name`: UNKNOWN if it could be any. */
export type Setting = [name: string, value: string]

/** `NAME = …`, `NAME[0] += …`, `NAME++`, `--NAME` within arithmetic. */
const IN_ARITHMETIC =
  /(?<![\w$])([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/%&^|]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)/g
const ASSIGNS = /^(?:[-+*/%&^|]|<<|>>)?=$/
const COMPARES_NUMBERS = /^-(?:eq|ne|lt|le|gt|ge)$/

const inArithmetic = (text: string): Setting[] =>
  [...text.matchAll(IN_ARITHMETIC)].map(([, before, after]) => [before ?? after ?? '', '0'])

/** The index of an array element is arithmetic. */
const inIndexes = (text: string): Setting[] =>
  [...text.matchAll(/\w\[([^\]]*)\]/g)].flatMap(([, index = '']) => inArithmetic(index))

const IS_EXPRESSION =
  /^([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:[-+*/%&^|]|<<|>>)?=\s*(\w+(?:[-+*%|&^]\w+)*)$|^(?:\+\+|--)?([A-Za-z_]\w*)(?:\+\+|--)$/

/** Arithmetic evaluates the value of a variable, too: `x='PATH=1'; echo $((x))`. */
const inValue = (value: string): Setting[] =>
  value.length > 1_000
    ? []
    : value.split(/[,()?:]/).flatMap((part): Setting[] => {
        const match = IS_EXPRESSION.exec(part.trim())
        return match ? [[match[1] ?? match[3] ?? '', match[2] ?? '0']] : []
      })

const literal = ({ parts, value }: Word): string =>
  !parts || parts.every(part => /^(?:Literal|SingleQuoted)$/.test(part.type)) ? value : ANY_VALUE

const ofNode = (node: SyntaxNode): Setting[] => {
  switch (node.type) {
    case 'For':
    case 'Select': {
      const values =
        node.type === 'For' ? (node.wordlist?.map(literal) ?? [ANY_VALUE]) : [ANY_VALUE]
      return values.flatMap(value => [[node.name.value, value] as Setting, ...inValue(value)])
    }
    case 'Coproc':
      return node.name ? [[node.name.value, ANY_VALUE]] : []
    case 'FileDescriptorVariable':
      return [[node.name, ANY_VALUE]]
    case 'Assignment':
      return node.index ? inArithmetic(node.index.text) : []
    case 'ParameterExpansion': {
      const { operation, index, prefix, parameter } = node
      const own = index ? inArithmetic(index.text) : []
      if (operation?.type === 'Slice')
        own.push(...inArithmetic(`${operation.offset.text},${operation.length?.text ?? ''}`))
      if (operation?.type === 'Default' && operation.operator.endsWith('='))
        own.push([prefix === '!' ? UNKNOWN : parameter, literal(operation.operand)])
      return own
    }
    case 'ArithmeticExpansion':
      return node.expression ? [] : inArithmetic(node.text)
    case 'ArithmeticCommand':
      return node.expression ? [] : inArithmetic(node.body)
    case 'ArithmeticBinary':
      return ASSIGNS.test(node.operator) ? [ofOperand(node.left)] : []
    case 'ArithmeticUnary':
      return /^(?:\+\+|--)$/.test(node.operator) ? [ofOperand(node.operand)] : []
    case 'ArithmeticWord':
      return inIndexes(node.value)
    case 'TestBinary':
      return COMPARES_NUMBERS.test(node.operator)
        ? inArithmetic(`${node.left.value},${node.right.value}`)
        : []
    case 'TestUnary':
      return node.operator === '-v' ? inIndexes(node.operand.value) : []
    default:
      return []
  }
}

const ofOperand = (node: SyntaxNode): Setting =>
  node.type === 'ArithmeticWord' && !node.parts
    ? [node.value.replace(/\[[\s\S]*/, ''), '0']
    : [UNKNOWN, '0']

/** What syntax sets: loops, expansions, arithmetic, redirections to a new descriptor. Nested substitutions included. */
export const settingsOfSyntax = (tree: SyntaxNode): Setting[] => {
  const found: Setting[] = []
  const look = (node: SyntaxNode): void => {
    found.push(...ofNode(node))
    forEachChild(node, look)
  }
  look(tree)
  return found
}

/** The builtin that `command` and `builtin` run, or the command itself. */
export const asBuiltin = <T extends Pick<SimpleCommand, 'name' | 'args'>>(simple: T): T => {
  const { name, args } = simple
  if (!/^(?:command|builtin)$/.test(name) || /^-\w*[vV]/.test(args[0] ?? '')) return simple
  const at = args.findIndex(arg => !arg.startsWith('-'))
  return at < 0 ? simple : asBuiltin({ ...simple, name: args[at] ?? '', args: args.slice(at + 1) })
}

/** Short options of builtins that take a value, and those of them whose value is the name of a variable. */
const OPTIONS: Readonly<Record<string, { values: string; names: string }>> = {
  read: { values: 'adinNptu', names: 'a' },
  mapfile: { values: 'dnOsuCc', names: '' },
  readarray: { values: 'dnOsuCc', names: '' },
  printf: { values: 'v', names: 'v' },
  wait: { values: 'p', names: 'p' },
  getopts: { values: '', names: '' },
}

/** Names of variables that a builtin sets to values which its arguments don't show; UNKNOWN for a name that isn't known. */
export const namesSetBy = (simple: Pick<SimpleCommand, 'name' | 'args'>): string[] => {
  const { name, args } = asBuiltin(simple)
  const options = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined
  if (!options) return []
  const found: string[] = []
  let at = 0
  for (; /^-./.test(args[at] ?? '') && args[at] !== '--'; at++) {
    const letters = (args[at] ?? '').slice(1)
    const option = [...letters].findIndex(letter => options.values.includes(letter))
    if (option < 0) continue
    const value = letters.slice(option + 1) || (args[++at] ?? '')
    if (options.names.includes(letters[option] ?? '')) found.push(value)
  }
  const rest = args.slice(args[at] === '--' ? at + 1 : at)
  // `%n` sets the variable that an argument names.
  if (name === 'printf' && /%[^A-Za-z%]*[hlLjzt]*n/.test(rest[0] ?? ''))
    found.push(...rest.slice(1))
  if (name === 'getopts') found.push(...rest.slice(1, 2))
  else if (!/^(?:printf|wait)$/.test(name)) found.push(...rest)
  return found.map(each => (hasUnknown(each) ? UNKNOWN : each.replace(/\[[\s\S]*/, '')))
}

const ASSIGNMENT = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=([\s\S]*)$/

/** `declare "$text"`: the text may contain any name. */
const ofDeclaration = (arg: string): Setting[] => {
  const found = ASSIGNMENT.exec(arg)
  if (found) return [[found[1] ?? '', found[2] ?? '']]
  return hasUnknown(arg.split('=')[0] ?? '') ? [[UNKNOWN, ANY_VALUE]] : []
}

/** Without PATH, bash looks for programs in the working directory. A new local variable has no value. */
const unsetsPath = (name: string, args: readonly string[]): boolean =>
  args.includes('PATH') &&
  (name === 'unset' ||
    (/^(?:local|declare|typeset)$/.test(name) && !args.some(arg => /^-\w*[pfFg]/.test(arg))))

/** What one command sets: its own assignments, and those of builtins. */
export const settingsOf = (simple: SimpleCommand): Setting[] => {
  const { name, args } = asBuiltin(simple)
  const declared = /^(?:export|declare|typeset|local|readonly|env|setenv)$/.test(name)
    ? args.flatMap(name === 'env' ? arg => ofDeclaration(arg).slice(0, 1) : ofDeclaration)
    : []
  const own = [...simple.assigns, ...declared]
  return [
    ...own,
    ...own.flatMap(([, value]) => inValue(value)),
    ...namesSetBy({ name, args }).map((each): Setting => [each, ANY_VALUE]),
    ...(name === 'let' ? args.flatMap(inArithmetic) : []),
    ...(Object.hasOwn(OPTIONS, name) || /^(?:unset|test|\[)$/.test(name)
      ? args.flatMap(inIndexes)
      : []),
    ...(unsetsPath(name, args) ? [['PATH', ''] as Setting] : []),
    // With `set -k`, a word such as `PATH=x` after the program is an assignment, too.
    ...(name === 'set' && args.some(arg => /^-\w*k|^keyword$/.test(arg))
      ? [[UNKNOWN, ANY_VALUE] as Setting]
      : []),
  ]
}
