/** Walks a shell syntax tree in execution order and yields every program with its arguments, as far as they are known. */
import {
  type Assignment,
  type Command,
  type CompoundList,
  forEachChild,
  type Redirection,
  type Script,
  type Statement,
  type SyntaxNode,
} from 'unbash'
import { pipedText, PRINTS_ANYTHING, PRINTS_DATA, QUOTES, printed } from './printing.ts'
import { baseName, isForkBomb, runsEmptyVariable, setsVariables } from './tree.ts'
import {
  changeShell,
  knownFile,
  newShell,
  type ShellVisitor,
  type Shell,
  variableOf,
} from './state.ts'
import { DATA, HIDDEN_INDEX, parseShell, UNKNOWN } from './syntax.ts'
import type { ShellContext, Redirect, SimpleCommand } from './types.ts'
import {
  bodyText,
  type Field,
  fieldsOf,
  flatText,
  type Scope,
  type Value,
  expansionsOf,
} from './words.ts'

const MAX_STEPS = 60_000
const MAX_DEPTH = 12
const MAX_NESTING = 40
const MAX_WORDS = 400
const MAX_VALUE_CHARS = 20_000
const MAX_PIPELINE = 30
const MAX_COMBINATIONS = 12

class TooComplex extends Error {}

const spend = (shell: Shell, steps: number): void => {
  shell.left -= steps
  if (shell.left < 0) throw new TooComplex()
}

/** True if everything could be followed. */
export const readShell = (text: string, context: ShellContext, visitor: ShellVisitor): boolean => {
  const shell = newShell(context, MAX_STEPS, (text, positional) =>
    runText(text, shell, visitor, positional),
  )
  try {
    shell.run(text)
    return true
  } catch (error) {
    // Limits end the walk by throwing.
    if (!(error instanceof TooComplex || error instanceof RangeError)) throw error
    visitor.report('too complex')
    return false
  }
}

const runText = (text: string, shell: Shell, visitor: ShellVisitor, positional?: Value): void => {
  if (shell.depth >= MAX_DEPTH) throw new TooComplex()
  spend(shell, 20 + text.length / 100)
  const tree = parseShell(text)
  if (!tree) throw new TooComplex()
  if (tree.errors?.length) visitor.report('syntax')
  const before = shell.positional
  shell.depth++
  if (positional !== undefined) shell.positional = positional
  createWalk(shell, visitor).script(tree)
  shell.positional = before
  shell.depth--
}

const createWalk = (shell: Shell, visitor: ShellVisitor) => {
  let nesting = 0
  let loops = 0

  const scope: Scope = {
    value: name => variableOf(name, shell),
    output: nested => outputOf(nested),
    spend: steps => spend(shell, steps),
  }

  /** The output of a substitution, if known; its commands are visited like all others. */
  const outputOf = (nested: Script | undefined): Value => {
    if (!nested) return null
    const { cwd } = shell
    const seen: SimpleCommand[] = []
    spend(shell, 2)
    const tree = nested as Script & { errors?: unknown[] }
    if (tree.errors?.length) visitor.report('syntax')
    nesting++
    if (nesting > MAX_NESTING) throw new TooComplex()
    for (const statement of nested.commands) statementIn(statement, simple => seen.push(simple))
    nesting--
    shell.cwd = cwd
    const [only] = seen
    // `$(<file)`
    if (!only) return null
    if (seen.length === 1) {
      const said = printed(only, shell)
      if (said !== undefined) return [said.replace(/\n+$/, '')]
    }
    if (seen.some(({ name }) => QUOTES.has(name))) shell.hasQuoted = true
    if (seen.some(({ name }) => name === UNKNOWN)) return null
    const last = seen.at(-1)
    if (!last) return null
    if (last.name === 'mktemp') return [`/tmp/${DATA}`]
    if (
      seen.some(({ name }) => PRINTS_ANYTHING.has(name)) &&
      seen.length > 1 &&
      seen.some(({ name }) => /^(?:curl|wget|nc|base64|base32|xxd|openssl|gpg|rev|tr)$/.test(name))
    )
      return null
    return seen.every(
      ({ name }) =>
        PRINTS_DATA.has(name) ||
        /^(?:echo|printf|basename|dirname|pwd|cd|true|:|\[|test)$/.test(name),
    )
      ? [DATA]
      : null
  }

  const script = (tree: Script): void => {
    for (const statement of tree.commands) statementIn(statement)
  }
  const statementIn = (
    { command, background }: Statement,
    seen?: (simple: SimpleCommand) => void,
  ): unknown => node(command, { background: background === true, seen })

  type Around = {
    background?: boolean
    seen?: ((simple: SimpleCommand) => void) | undefined
    from?: SimpleCommand[]
    redirects?: Redirect[]
    input?: string | null | undefined
  }

  const twice = (body: SyntaxNode, run: () => void): void => {
    // Variables set at the end of a loop body are used at its start in the next iteration.
    loops++
    run()
    if (loops <= 2 && setsVariables(body)) run()
    loops--
  }

  const node = (tree: SyntaxNode, around: Around): unknown => {
    spend(shell, 1)
    const { seen } = around
    switch (tree.type) {
      case 'Command':
        return command(tree, around)
      case 'Pipeline': {
        let from: SimpleCommand[] = []
        for (const each of tree.commands) {
          const gathered: SimpleCommand[] = []
          const { cwd } = shell
          node(each, {
            ...around,
            from,
            seen: simple => {
              gathered.push(simple)
              seen?.(simple)
            },
          })
          if (tree.commands.length > 1) shell.cwd = cwd
          from = [...from, ...gathered].slice(-MAX_PIPELINE)
        }
        return
      }
      case 'AndOr':
        for (const each of tree.commands) node(each, { ...around, from: [] })
        return
      case 'Redirected': {
        const { redirects, input } = redirections(tree.redirects)
        const inside = { ...around, redirects: [...(around.redirects ?? []), ...redirects] }
        // The redirection of a group is checked once, as an empty command.
        if (redirects.length > 0) emit([], { ...around, redirects, input: undefined })
        return node(tree.command, input === undefined ? inside : { ...inside, input })
      }
      case 'Subshell': {
        const { cwd } = shell
        bodyOf(tree.body, around)
        shell.cwd = cwd
        return
      }
      case 'BraceGroup':
        return bodyOf(tree.body, around)
      case 'If':
        bodyOf(tree.clause, around)
        bodyOf(tree.then, around)
        for (const { clause, then } of tree.elif) {
          bodyOf(clause, around)
          bodyOf(then, around)
        }
        if (tree.else) bodyOf(tree.else, around)
        return
      case 'For':
      case 'Select': {
        const name = tree.name.value
        const values = tree.wordlist
          ? tree.wordlist.flatMap(word => fieldsOf(word, scope)).map(({ text }) => text)
          : shell.positional
        shell.vars.set(name, tree.type === 'Select' || values === null ? null : values)
        return twice(tree.body, () => bodyOf(tree.body, around))
      }
      case 'ArithmeticFor':
        others(tree)
        return twice(tree.body, () => bodyOf(tree.body, around))
      case 'While':
        return twice(tree, () => {
          bodyOf(tree.clause, around)
          bodyOf(tree.body, around)
        })
      case 'Case':
        fieldsOf(tree.word, scope)
        for (const item of tree.items) {
          for (const word of item.pattern) fieldsOf(word, scope)
          bodyOf(item.body, around)
        }
        return
      case 'Function': {
        const name = tree.name.value
        shell.functions.set(name, tree.body)
        if (isForkBomb(name, tree.body)) visitor.report('fork bomb')
        return inFunction(null, () => node(tree.body, { background: around.background ?? false }))
      }
      case 'Coproc':
        return node(tree.body, { ...around, background: true })
      default:
        others(tree)
    }
  }

  const bodyOf = (body: CompoundList, { seen, from, input, background }: Around): void => {
    for (const statement of body.commands)
      node(statement.command, {
        background: background === true || statement.background === true,
        seen,
        ...(from && { from }),
        ...(input !== undefined && { input }),
      })
  }

  const inFunction = (positional: Value, run: () => void): void => {
    const before = shell.positional
    shell.positional = positional
    shell.depth++
    if (shell.depth > MAX_DEPTH) throw new TooComplex()
    run()
    shell.depth--
    shell.positional = before
  }

  /** Words in tests and arithmetic: only their substitutions matter. */
  const others = (tree: SyntaxNode): void =>
    forEachChild(tree, child => {
      if (child.type === 'Word') {
        if (fieldsOf(child, scope).some(({ text }) => HIDDEN_INDEX.test(text)))
          visitor.report('syntax')
      } else if (child.type === 'CommandExpansion' || child.type === 'ArithmeticCommandExpansion')
        outputOf(child.script)
      else others(child)
    })

  const assign = ({ name, value, append, index }: Assignment): [string, string][] => {
    if (index) fieldsOf(index, scope)
    const values =
      value.type === 'ArrayValue'
        ? value.elements.flatMap(word => fieldsOf(word, scope)).map(({ text }) => text)
        : flatText(value, scope)
    const before = shell.vars.get(name)
    const all = append
      ? before
        ? [
            ...before.flatMap(old => values.map(more => old + more)),
            ...(value.type === 'ArrayValue' ? [...before, ...values] : []),
          ]
        : values
      : values
    shell.vars.set(
      name,
      all.slice(0, MAX_WORDS).map(text => (text.length > MAX_VALUE_CHARS ? UNKNOWN : text)),
    )
    return values.map(text => [name, text])
  }

  const redirections = (
    all: readonly Redirection[],
  ): { redirects: Redirect[]; input: string | null | undefined } => {
    let input: string | null | undefined
    const redirects: Redirect[] = []
    for (const each of all) {
      if (each.type === 'HereDoc') {
        const { body } = each
        input = each.delimiter?.quoted ? body.text : bodyText(body.text, body.parts, scope)
      } else if (each.type === 'HereString')
        input = each.target ? flatText(each.target, scope).join('\n') : ''
      else {
        const targets = each.target ? flatText(each.target, scope) : []
        for (const target of targets) redirects.push({ op: each.operator, target })
        if (each.operator === '<') input = knownFile(targets[0], shell)
      }
    }
    return { redirects, input }
  }

  const command = (tree: Command, around: Around): void => {
    const assigns: [string, string][] = []
    const hasName = tree.name !== undefined
    for (const each of tree.prefix)
      if (each.type === 'Assignment') {
        const before = shell.vars.get(each.name)
        assigns.push(...assign(each))
        // Set for this command only: afterwards either value is possible.
        if (hasName && before)
          shell.vars.set(each.name, [...before, ...(shell.vars.get(each.name) ?? [])])
      }
    const own = redirections(tree.redirects)
    const redirects = own.redirects
    const input = own.input === undefined ? around.input : own.input
    const ways = tree.name ? expansionsOf(tree.name, scope) : []
    const heads = ways.length > 0 ? ways : [[]]
    const rest: Field[][] = tree.suffix.flatMap(each => {
      if (each.type === 'Assignment') {
        return [assign(each).map(([name, value]) => ({ text: `${name}=${value}`, glob: false }))]
      }
      return each.type === 'Word' ? [fieldsOf(each, scope)] : []
    })
    if (runsEmptyVariable(tree, heads, rest)) visitor.report('syntax')
    const second = tree.suffix[0]?.type === 'Word' ? expansionsOf(tree.suffix[0], scope) : null
    const tail = rest.slice(1).flat()
    const seconds =
      second && second.length > 1 && second.length <= MAX_COMBINATIONS ? second : [rest[0] ?? []]
    for (const head of heads.slice(0, MAX_COMBINATIONS))
      for (const each of seconds)
        emit([...head, ...each, ...tail].slice(0, MAX_WORDS), {
          ...around,
          redirects,
          input,
          assigns,
        })
    if (heads.length > MAX_COMBINATIONS) throw new TooComplex()
  }

  const emit = (
    fields: readonly Field[],
    {
      from = [],
      redirects = [],
      input,
      background = false,
      seen,
      assigns = [],
    }: Around & { assigns?: [string, string][] },
  ): void => {
    spend(shell, 3 + fields.length / 4)
    const [head, ...rest] = fields
    const args = rest.map(({ text }) => text)
    const path = head?.text ?? ''
    const isOpenName = head !== undefined && (head.glob || /[\0\u0001]/.test(path))
    const name = isOpenName && !/^\[+$/.test(path) ? UNKNOWN : baseName(path)
    const fed = input === undefined && from.length > 0 ? pipedText(from, shell) : input
    const simple: SimpleCommand = {
      name,
      path,
      args,
      redirects,
      input: fed,
      from,
      cwd: shell.cwd,
      assigns,
      background,
      wraps: false,
    }
    const body = head && !path.includes('/') ? shell.functions.get(path) : undefined
    if (body) {
      if (shell.depth < 6)
        inFunction(args, () => node(body, { from, ...(fed !== undefined && { input: fed }) }))
      if (redirects.length > 0 || assigns.length > 0)
        visit({ ...simple, name: ':', path: ':', args: [] }, seen)
      return
    }
    visit(simple, seen)
  }

  const visit = (simple: SimpleCommand, seen?: (simple: SimpleCommand) => void): void => {
    seen?.(simple)
    visitor.visit(simple, shell)
    changeShell(simple, shell, visitor)
  }

  return { script }
}
