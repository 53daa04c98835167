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
import { settingsOfSyntax } from './assignments.ts'
import { changeShell } from './change-shell.ts'
import { isLoadedSetting } from './environment.ts'
import { pipedText, substitutionValue } from './printing.ts'
import { baseName, isForkBomb, runsEmptyVariable, setsVariables } from './tree.ts'
import { knownFile, newShell, type ShellVisitor, type Shell, variableOf } from './state.ts'
import { HIDDEN_INDEX, parseShell, UNKNOWN } from './syntax.ts'
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
  new Walk(shell, visitor).script(tree)
  shell.positional = before
  shell.depth--
}

type Around = {
  background?: boolean
  seen?: ((simple: SimpleCommand) => void) | undefined
  from?: SimpleCommand[]
  redirects?: Redirect[]
  input?: string | null | undefined
}

/** The walk of one text. */
class Walk {
  readonly #shell: Shell
  readonly #visitor: ShellVisitor
  readonly #scope: Scope
  #nesting = 0
  #loops = 0

  constructor(shell: Shell, visitor: ShellVisitor) {
    this.#shell = shell
    this.#visitor = visitor
    this.#scope = {
      value: name => variableOf(name, shell),
      output: nested => this.#outputOf(nested),
      spend: steps => spend(shell, steps),
      reportUnclear: () => visitor.report('syntax'),
    }
  }

  /** The output of a substitution, if known; its commands are visited like all others. */
  #outputOf(nested: Script | undefined): Value {
    if (!nested) return null
    const { cwd } = this.#shell
    const seen: SimpleCommand[] = []
    spend(this.#shell, 2)
    const tree = nested as Script & { errors?: unknown[] }
    if (tree.errors?.length) this.#visitor.report('syntax')
    this.#nesting++
    if (this.#nesting > MAX_NESTING) throw new TooComplex()
    for (const statement of nested.commands)
      this.#visitStatement(statement, simple => seen.push(simple))
    this.#nesting--
    this.#shell.cwd = cwd
    return substitutionValue(seen, this.#shell)
  }

  script(tree: Script): void {
    const assigns = settingsOfSyntax(tree).filter(each => isLoadedSetting(...each))
    if (assigns.length > 0) this.#emit([], { assigns })
    for (const statement of tree.commands) this.#visitStatement(statement)
  }
  #visitStatement(
    { command, background }: Statement,
    seen?: (simple: SimpleCommand) => void,
  ): unknown {
    return this.#visitNode(command, { background: background === true, seen })
  }

  #visitTwice(body: SyntaxNode, run: () => void): void {
    // Variables set at the end of a loop body are used at its start in the next iteration.
    this.#loops++
    run()
    if (this.#loops <= 2 && setsVariables(body)) run()
    this.#loops--
  }

  #visitNode(tree: SyntaxNode, around: Around): unknown {
    spend(this.#shell, 1)
    const { seen } = around
    switch (tree.type) {
      case 'Command':
        return this.#visitCommand(tree, around)
      case 'Pipeline': {
        let from: SimpleCommand[] = []
        for (const each of tree.commands) {
          const gathered: SimpleCommand[] = []
          const { cwd } = this.#shell
          this.#visitNode(each, {
            ...around,
            from,
            seen: simple => {
              gathered.push(simple)
              seen?.(simple)
            },
          })
          if (tree.commands.length > 1) this.#shell.cwd = cwd
          from = [...from, ...gathered].slice(-MAX_PIPELINE)
        }
        return
      }
      case 'AndOr':
        for (const each of tree.commands) this.#visitNode(each, { ...around, from: [] })
        return
      case 'Redirected': {
        const { redirects, input } = this.#readRedirections(tree.redirects)
        const inside = { ...around, redirects: [...(around.redirects ?? []), ...redirects] }
        // The redirection of a group is checked once, as an empty command.
        if (redirects.length > 0) this.#emit([], { ...around, redirects, input: undefined })
        return this.#visitNode(tree.command, input === undefined ? inside : { ...inside, input })
      }
      case 'Subshell': {
        const { cwd } = this.#shell
        this.#visitBody(tree.body, around)
        this.#shell.cwd = cwd
        return
      }
      case 'BraceGroup':
        return this.#visitBody(tree.body, around)
      case 'If':
        this.#visitBody(tree.clause, around)
        this.#visitBody(tree.then, around)
        for (const { clause, then } of tree.elif) {
          this.#visitBody(clause, around)
          this.#visitBody(then, around)
        }
        if (tree.else) this.#visitBody(tree.else, around)
        return
      case 'For':
      case 'Select': {
        const name = tree.name.value
        const values = tree.wordlist
          ? tree.wordlist.flatMap(word => fieldsOf(word, this.#scope)).map(({ text }) => text)
          : this.#shell.positional
        this.#shell.vars.set(name, tree.type === 'Select' || values === null ? null : values)
        return this.#visitTwice(tree.body, () => this.#visitBody(tree.body, around))
      }
      case 'ArithmeticFor':
        this.#visitWords(tree)
        return this.#visitTwice(tree.body, () => this.#visitBody(tree.body, around))
      case 'While':
        return this.#visitTwice(tree, () => {
          this.#visitBody(tree.clause, around)
          this.#visitBody(tree.body, around)
        })
      case 'Case':
        fieldsOf(tree.word, this.#scope)
        for (const item of tree.items) {
          for (const word of item.pattern) fieldsOf(word, this.#scope)
          this.#visitBody(item.body, around)
        }
        return
      case 'Function': {
        const name = tree.name.value
        this.#shell.functions.set(name, tree.body)
        if (isForkBomb(name, tree.body)) this.#visitor.report('fork bomb')
        return this.#callFunction(null, () =>
          this.#visitNode(tree.body, { background: around.background ?? false }),
        )
      }
      case 'Coproc':
        return this.#visitNode(tree.body, { ...around, background: true })
      default:
        this.#visitWords(tree)
    }
  }

  #visitBody(body: CompoundList, { seen, from, input, background }: Around): void {
    for (const statement of body.commands)
      this.#visitNode(statement.command, {
        background: background === true || statement.background === true,
        seen,
        ...(from && { from }),
        ...(input !== undefined && { input }),
      })
  }

  #callFunction(positional: Value, run: () => void): void {
    const before = this.#shell.positional
    this.#shell.positional = positional
    this.#shell.depth++
    if (this.#shell.depth > MAX_DEPTH) throw new TooComplex()
    run()
    this.#shell.depth--
    this.#shell.positional = before
  }

  /** Words in tests and arithmetic: only their substitutions matter. */
  #visitWords(tree: SyntaxNode): void {
    forEachChild(tree, child => {
      if (child.type === 'Word') {
        if (fieldsOf(child, this.#scope).some(({ text }) => HIDDEN_INDEX.test(text)))
          this.#visitor.report('syntax')
      } else if (child.type === 'CommandExpansion' || child.type === 'ArithmeticCommandExpansion')
        this.#outputOf(child.script)
      else this.#visitWords(child)
    })
  }

  #assign({ name, value, append, index }: Assignment): [string, string][] {
    if (index) fieldsOf(index, this.#scope)
    const values =
      value.type === 'ArrayValue'
        ? value.elements.flatMap(word => fieldsOf(word, this.#scope)).map(({ text }) => text)
        : flatText(value, this.#scope)
    const before = this.#shell.vars.get(name)
    const all = append
      ? before
        ? [
            ...before.flatMap(old => values.map(more => old + more)),
            ...(value.type === 'ArrayValue' ? [...before, ...values] : []),
          ]
        : values
      : values
    this.#shell.vars.set(
      name,
      all.slice(0, MAX_WORDS).map(text => (text.length > MAX_VALUE_CHARS ? UNKNOWN : text)),
    )
    return values.map(text => [name, text])
  }

  #readRedirections(all: readonly Redirection[]): {
    redirects: Redirect[]
    input: string | null | undefined
  } {
    let input: string | null | undefined
    const redirects: Redirect[] = []
    for (const each of all) {
      if (each.type === 'HereDoc') {
        const { body } = each
        input = each.delimiter?.quoted ? body.text : bodyText(body.text, body.parts, this.#scope)
      } else if (each.type === 'HereString')
        input = each.target ? flatText(each.target, this.#scope).join('\n') : ''
      else {
        const targets = each.target ? flatText(each.target, this.#scope) : []
        for (const target of targets) redirects.push({ op: each.operator, target })
        if (each.operator === '<') input = knownFile(targets[0], this.#shell)
      }
    }
    return { redirects, input }
  }

  #visitCommand(tree: Command, around: Around): void {
    const assigns: [string, string][] = []
    const hasName = tree.name !== undefined
    for (const each of tree.prefix)
      if (each.type === 'Assignment') {
        const before = this.#shell.vars.get(each.name)
        assigns.push(...this.#assign(each))
        // Set for this command only: afterwards either value is possible.
        if (hasName && before)
          this.#shell.vars.set(each.name, [...before, ...(this.#shell.vars.get(each.name) ?? [])])
      }
    const own = this.#readRedirections(tree.redirects)
    const redirects = own.redirects
    const input = own.input === undefined ? around.input : own.input
    const ways = tree.name ? expansionsOf(tree.name, this.#scope) : []
    const heads = ways.length > 0 ? ways : [[]]
    const rest: Field[][] = tree.suffix.flatMap(each => {
      if (each.type === 'Assignment') {
        return [
          this.#assign(each).map(([name, value]) => ({ text: `${name}=${value}`, glob: false })),
        ]
      }
      return each.type === 'Word' ? [fieldsOf(each, this.#scope)] : []
    })
    if (runsEmptyVariable(tree, heads, rest)) this.#visitor.report('syntax')
    const second =
      tree.suffix[0]?.type === 'Word' ? expansionsOf(tree.suffix[0], this.#scope) : null
    const tail = rest.slice(1).flat()
    const seconds =
      second && second.length > 1 && second.length <= MAX_COMBINATIONS ? second : [rest[0] ?? []]
    for (const head of heads.slice(0, MAX_COMBINATIONS))
      for (const each of seconds)
        this.#emit([...head, ...each, ...tail].slice(0, MAX_WORDS), {
          ...around,
          redirects,
          input,
          assigns,
        })
    if (heads.length > MAX_COMBINATIONS) throw new TooComplex()
  }

  #emit(
    fields: readonly Field[],
    {
      from = [],
      redirects = [],
      input,
      background = false,
      seen,
      assigns = [],
    }: Around & { assigns?: [string, string][] },
  ): void {
    spend(this.#shell, 3 + fields.length / 4)
    const [head, ...rest] = fields
    const args = rest.map(({ text }) => text)
    const path = head?.text ?? ''
    const isOpenName = head !== undefined && (head.glob || /[\0\u0001]/.test(path))
    const name = isOpenName && !/^\[+$/.test(path) ? UNKNOWN : baseName(path)
    const fed = input === undefined && from.length > 0 ? pipedText(from, this.#shell) : input
    const simple: SimpleCommand = {
      name,
      path,
      args,
      redirects,
      input: fed,
      from,
      cwd: this.#shell.cwd,
      assigns,
      background,
      wraps: false,
    }
    const body = head && !path.includes('/') ? this.#shell.functions.get(path) : undefined
    if (body) {
      if (this.#shell.depth < 6)
        this.#callFunction(args, () =>
          this.#visitNode(body, { from, ...(fed !== undefined && { input: fed }) }),
        )
      if (redirects.length > 0 || assigns.length > 0)
        this.#visitProgram({ ...simple, name: ':', path: ':', args: [] }, seen)
      return
    }
    this.#visitProgram(simple, seen)
  }

  #visitProgram(simple: SimpleCommand, seen?: (simple: SimpleCommand) => void): void {
    seen?.(simple)
    this.#visitor.visit(simple, this.#shell)
    changeShell(simple, this.#shell, this.#visitor)
  }
}
