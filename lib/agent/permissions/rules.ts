/** Decides about a tool call by the rules of a profile: `deny` before `ask` before `allow`, whatever their order. */
import { realPath } from '../../store/path-within.ts'
import { matchesGlob } from '../glob.ts'
import type { ApprovalRequest } from '../tool-services.ts'
import { readCommand } from '../shell/read.ts'
import type { ReadCommand } from '../shell/types.ts'
import { commandAccesses } from './command-reach.ts'
import { coveringPatterns, startsMatch } from './command-pattern.ts'
import { compilePath, type PathPattern, type PatternBase } from './path-pattern.ts'
import { parseRule, type Rule, ruleEntries } from './rule.ts'
import { type Access, RULE_LISTS, type RuledCall, type RuleList, type Verdict } from './types.ts'

type Lists<T> = Readonly<Record<RuleList, readonly T[]>>

/** True: it applies. Null: it may apply. */
type Match = boolean | null

const strongest = (matches: readonly Match[]): Match =>
  matches.includes(true) ? true : matches.includes(null) ? null : false

/** A rule with its pattern compiled for one workspace. */
type Compiled = Rule & { path: PathPattern | null }

const compileRule = (rule: Rule, place: PatternBase, isGuard: boolean): Compiled => {
  const { what } = rule
  const isPath = what?.kind === 'read' || what?.kind === 'write'
  const path = isPath && what.pattern !== null ? compilePath(what.pattern, place, isGuard) : null
  return { ...rule, path }
}

/** The server is compared where it is known, because names of servers and tools run together in the name of a tool. */
const namesTool = ({ tools, server }: Rule, call: RuledCall): boolean =>
  tools.some(glob => matchesGlob(glob, call.tool)) &&
  (server === undefined ||
    call.server === undefined ||
    call.server.replace(/[^A-Za-z0-9_-]/g, '_').toLowerCase() === server)

const coversHost = (pattern: string, host: string, isGuard: boolean): boolean => {
  const domain = pattern
    .replace(/^domain:/i, '')
    .toLowerCase()
    .replace(/\.+$/, '')
  const name = host.toLowerCase().replace(/\.+$/, '')
  return matchesGlob(domain, name) || (isGuard && matchesGlob(`*.${domain}`, name))
}

const matchPath = ({ path: pattern }: Compiled, access: Access): Match => {
  if (access.kind !== 'read' && access.kind !== 'write') return false
  const { path, alias, reach, isUnsure, skipsHidden } = access
  if (path === null) return null
  // Without a pattern, the rule is about every file.
  if (pattern === null) return isUnsure ? null : true
  const match =
    pattern.covers(path) || (alias !== undefined && alias !== path && pattern.covers(alias))
      ? true
      : reach === 'file'
        ? false
        : pattern.isBelow(path, skipsHidden)
  return match === true && (isUnsure || (reach === 'into' && !pattern.covers(path))) ? null : match
}

type ReadAccess = { access: Access; analysis: ReadCommand | null }

const matchAccess = (rule: Compiled, { access, analysis }: ReadAccess): Match => {
  const { what } = rule
  if (what === null || what.kind !== access.kind) return false
  if (access.kind === 'read' || access.kind === 'write') return matchPath(rule, access)
  if (what.pattern === null) return true
  if (access.kind === 'command')
    return analysis && startsMatch(what.pattern, access.command, analysis)
  if (access.kind === 'host')
    return access.host === null ? null : coversHost(what.pattern, access.host, true)
  return access.kind === 'agent' && matchesGlob(what.pattern, access.name)
}

/** Adds what the commands of a call reach. */
const expand = (accesses: readonly Access[]): ReadAccess[] =>
  accesses.flatMap((access): ReadAccess[] => {
    if (access.kind !== 'command') return [{ access, analysis: null }]
    const analysis = readCommand(access.command)
    return [
      { access, analysis },
      ...commandAccesses(analysis, access.shell).map(each => ({ access: each, analysis: null })),
    ]
  })

/** A command that could not be followed may reach any file or host. */
const isOpaque = (accesses: readonly ReadAccess[]): boolean =>
  accesses.some(({ analysis }) => analysis !== null && !analysis.isFollowed)

const matchCall = (rule: Compiled, call: RuledCall, accesses: readonly ReadAccess[]): Match => {
  if (namesTool(rule, call)) return true
  const match = strongest(accesses.map(access => matchAccess(rule, access)))
  const mayReach = rule.what !== null && rule.what.kind !== 'agent' && isOpaque(accesses)
  return match === false && mayReach ? null : match
}

const parsed = (values: Readonly<Record<string, unknown>>, list: RuleList): Rule[] =>
  (ruleEntries(values[list]) ?? []).flatMap(entry => {
    const result = parseRule(entry)
    return result.ok ? [result.rule] : []
  })

/** The rules of a list that deny or ask. Invalid entries are left out. */
export const guardingRules = (values: Readonly<Record<string, unknown>>): Rule[] => [
  ...parsed(values, 'deny'),
  ...parsed(values, 'ask'),
]

/** The rules of a profile for one workspace. They are read on each use, because the file may change. */
export class Rules {
  /** Where the rules are, for sentences: the path of config.yaml. */
  readonly source: string
  readonly #place: PatternBase
  readonly #values: () => Readonly<Record<string, unknown>>
  #compiled: { key: string; lists: Lists<Compiled> } | undefined

  /** `values`: the lists as they are written. Invalid entries are left out: `listProblem` names them, and a guard refuses everything until they are corrected. */
  constructor(
    source: string,
    { workspace, homes }: PatternBase,
    values: () => Readonly<Record<string, unknown>>,
  ) {
    this.source = source
    this.#place = { workspace: realPath(workspace), homes }
    this.#values = values
  }

  /** The strictest verdict; null when no `deny` or `ask` rule applies. */
  decide(call: RuledCall): Verdict | null {
    const { deny, ask } = this.#lists()
    if (deny.length + ask.length === 0) return null
    const accesses = expand(call.accesses)
    let unsure: Verdict | null = null
    for (const [list, rules] of [
      ['deny', deny],
      ['ask', ask],
    ] as const)
      for (const rule of rules) {
        const match = matchCall(rule, call, accesses)
        if (match === true) return { list, rule: rule.text }
        if (match === null) unsure ??= { list: 'ask', rule: rule.text, isUnsure: true }
      }
    return unsure
  }

  /** The `allow` rule that answers this approval; null when the user must be asked. Never for control files. */
  covers(call: RuledCall, ask: ApprovalRequest): string | null {
    const { allow } = this.#lists()
    if (allow.length === 0 || ask.isControl || ask.rule !== undefined) return null
    const toolRule = allow.find(rule => namesTool(rule, call))
    if (toolRule) return toolRule.text
    const { accesses } = call
    const has = (kind: Access['kind']) => accesses.some(access => access.kind === kind)
    if (has('command')) return coversCommands(allow, accesses, ask)
    const kinds = has('write') ? (['write'] as const) : (['host', 'read'] as const)
    return kinds.map(kind => coversAll(allow, accesses, kind)).find(rule => rule !== null) ?? null
  }

  /**
   * Whether a listing of `root` leaves out a file: reading it is denied, or needs an approval that the root did not need.
   * Without a root, no approval was asked for.
   */
  hides(root?: string): (fullPath: string) => boolean {
    const { deny, ask } = this.#lists()
    const match = (rule: Compiled, path: string) =>
      matchPath(rule, { kind: 'read', path, reach: 'file' }) === true
    // Approved for the directory: approved for what is in it.
    const asking = root === undefined ? ask : ask.filter(rule => !match(rule, root))
    const hiding = [...deny, ...asking].filter(({ what }) => what?.kind === 'read')
    return path => hiding.some(rule => match(rule, path))
  }

  /** False for a tool that a rule denies with any arguments. */
  isOffered({ name, server }: { name: string; server?: string }): boolean {
    const call = { tool: name, accesses: [], ...(server !== undefined && { server }) }
    return !this.#lists().deny.some(rule => namesTool(rule, call))
  }

  #lists(): Lists<Compiled> {
    const values = this.#values()
    const key = JSON.stringify(RULE_LISTS.map(list => values[list] ?? null))
    const compile = (list: RuleList): Compiled[] =>
      parsed(values, list).map(rule => compileRule(rule, this.#place, list !== 'allow'))
    if (this.#compiled?.key !== key)
      this.#compiled = {
        key,
        lists: { deny: compile('deny'), ask: compile('ask'), allow: compile('allow') },
      }
    return this.#compiled.lists
  }
}

/** Each of several files may be covered by another rule. */
const coversAll = (
  allow: readonly Compiled[],
  accesses: readonly Access[],
  kind: 'write' | 'read' | 'host',
): string | null => {
  const targets = accesses.filter(access => access.kind === kind)
  const rules = targets.map(access =>
    allow.find(rule => {
      if (rule.what?.kind !== kind) return false
      if (access.kind === 'host')
        return access.host !== null && coversHost(rule.what.pattern ?? '', access.host, false)
      return matchPath(rule, access) === true
    }),
  )
  return targets.length > 0 && rules.every(rule => rule !== undefined)
    ? (rules[0]?.text ?? null)
    : null
}

const coversCommands = (
  allow: readonly Compiled[],
  accesses: readonly Access[],
  ask: ApprovalRequest,
): string | null => {
  const rules = allow.filter(({ what }) => what?.kind === 'command')
  const patterns = rules.flatMap(({ what }) => what?.pattern ?? [])
  for (const access of accesses) {
    // The approval shows more than the command when an earlier one changed the environment.
    if (access.kind !== 'command' || access.command.trim() !== ask.command.trim()) continue
    const { command, shell } = access
    const matches = coveringPatterns(patterns, command, readCommand(command), shell)
    if (matches)
      return rules
        .flatMap(({ what, text }) => (matches.includes(what?.pattern ?? '') ? [text] : []))
        .join(', ')
  }
  return null
}
