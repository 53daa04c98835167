/** Decides about a tool call by the rules of a profile: `deny` before `ask` before `allow`, whatever their order. */
import { realPath } from '../../store/path-within.ts'
import { matchesGlob } from '../glob.ts'
import type { ApprovalRequest } from '../tool-services.ts'
import { readCommand } from '../shell/read.ts'
import type { ReadCommand } from '../shell/types.ts'
import { commandAccesses } from './command-reach.ts'
import { coveringPatterns, startsMatch } from './command-pattern.ts'
import { compilePath, type PathPattern, type Place } from './path-pattern.ts'
import { parseRule, type Rule, ruleEntries } from './rule.ts'
import type { Access, RuledCall, RuleList, Rules, Verdict } from './types.ts'

export type RuleLists = Readonly<Record<RuleList, readonly Rule[]>>

/** Invalid entries are left out: `listProblem` names them, and a guard refuses everything until they are corrected. */
export const parseLists = (values: Readonly<Record<string, unknown>>): RuleLists => {
  const parse = (list: RuleList): Rule[] =>
    (ruleEntries(values[list]) ?? []).flatMap(entry => {
      const parsed = parseRule(entry)
      return parsed.ok ? [parsed.rule] : []
    })
  return { deny: parse('deny'), ask: parse('ask'), allow: parse('allow') }
}

/** True: it applies. Null: it may apply. */
type Match = boolean | null

const strongest = (found: readonly Match[]): Match =>
  found.includes(true) ? true : found.includes(null) ? null : false

/** A rule with its pattern compiled for one workspace. */
type Compiled = Rule & { path: PathPattern | null }

const compileRule = (rule: Rule, place: Place, isGuard: boolean): Compiled => {
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
  const { path, named, reach, isUnsure, skipsHidden } = access
  if (path === null) return null
  // Without a pattern, the rule is about every file.
  if (pattern === null) return isUnsure ? null : true
  const found =
    pattern.covers(path) || (named !== undefined && named !== path && pattern.covers(named))
      ? true
      : reach === 'file'
        ? false
        : pattern.isBelow(path, skipsHidden)
  return found === true && (isUnsure || (reach === 'into' && !pattern.covers(path))) ? null : found
}

type ReadAccess = { access: Access; read: ReadCommand | null }

const matchAccess = (rule: Compiled, { access, read }: ReadAccess): Match => {
  const { what } = rule
  if (what === null || what.kind !== access.kind) return false
  if (access.kind === 'read' || access.kind === 'write') return matchPath(rule, access)
  if (what.pattern === null) return true
  if (access.kind === 'command') return read && startsMatch(what.pattern, access.command, read)
  if (access.kind === 'host')
    return access.host === null ? null : coversHost(what.pattern, access.host, true)
  return access.kind === 'agent' && matchesGlob(what.pattern, access.name)
}

/** Adds what the commands of a call reach. */
const expand = (accesses: readonly Access[]): ReadAccess[] =>
  accesses.flatMap((access): ReadAccess[] => {
    if (access.kind !== 'command') return [{ access, read: null }]
    const read = readCommand(access.command)
    return [
      { access, read },
      ...commandAccesses(read, access.shell).map(each => ({ access: each, read: null })),
    ]
  })

/** A command that could not be followed may reach any file or host. */
const isOpaque = (accesses: readonly ReadAccess[]): boolean =>
  accesses.some(({ read }) => read !== null && !read.isFollowed)

const matchCall = (rule: Compiled, call: RuledCall, accesses: readonly ReadAccess[]): Match => {
  if (namesTool(rule, call)) return true
  const found = strongest(accesses.map(access => matchAccess(rule, access)))
  const mayReach = rule.what !== null && rule.what.kind !== 'agent' && isOpaque(accesses)
  return found === false && mayReach ? null : found
}

export type CreateRulesOptions = {
  lists: RuleLists
  workspace: string
  /** As in `Place`. */
  homes: readonly string[]
  source: string
}

/** The rules for one workspace. Patterns are compiled once. */
export const createRules = ({ lists, workspace, homes, source }: CreateRulesOptions): Rules => {
  const place: Place = { workspace: realPath(workspace), homes }
  const guards = (['deny', 'ask'] as const).map(list => ({
    list,
    rules: lists[list].map(rule => compileRule(rule, place, true)),
  }))
  const allow = lists.allow.map(rule => compileRule(rule, place, false))

  const decide = (call: RuledCall): Verdict | null => {
    if (guards.every(({ rules }) => rules.length === 0)) return null
    const accesses = expand(call.accesses)
    let unsure: Verdict | null = null
    for (const { list, rules } of guards)
      for (const rule of rules) {
        const found = matchCall(rule, call, accesses)
        if (found === true) return { list, rule: rule.text }
        if (found === null) unsure ??= { list: 'ask', rule: rule.text, isUnsure: true }
      }
    return unsure
  }

  /** Each of several files may be covered by another rule. */
  const coversAll = (
    accesses: readonly Access[],
    kind: 'write' | 'read' | 'host',
  ): string | null => {
    const wanted = accesses.filter(access => access.kind === kind)
    const rules = wanted.map(access =>
      allow.find(rule => {
        if (rule.what?.kind !== kind) return false
        if (access.kind === 'host')
          return access.host !== null && coversHost(rule.what.pattern ?? '', access.host, false)
        return matchPath(rule, access) === true
      }),
    )
    return wanted.length > 0 && rules.every(rule => rule !== undefined)
      ? (rules[0]?.text ?? null)
      : null
  }

  const coversCommands = (accesses: readonly Access[], ask: ApprovalRequest): string | null => {
    const rules = allow.filter(({ what }) => what?.kind === 'command')
    const patterns = rules.flatMap(({ what }) => what?.pattern ?? [])
    for (const access of accesses) {
      // The approval shows more than the command when an earlier one changed the environment.
      if (access.kind !== 'command' || access.command.trim() !== ask.command.trim()) continue
      const { command, shell } = access
      const used = coveringPatterns(patterns, command, readCommand(command), shell)
      if (used)
        return rules
          .flatMap(({ what, text }) => (used.includes(what?.pattern ?? '') ? [text] : []))
          .join(', ')
    }
    return null
  }

  return {
    source,
    decide,
    covers(call, ask) {
      if (allow.length === 0 || ask.isControl || ask.rule !== undefined) return null
      const named = allow.find(rule => namesTool(rule, call))
      if (named) return named.text
      const { accesses } = call
      if (accesses.some(({ kind }) => kind === 'command')) return coversCommands(accesses, ask)
      return (
        coversAll(accesses, 'write') ??
        (accesses.some(({ kind }) => kind === 'write')
          ? null
          : (coversAll(accesses, 'host') ?? coversAll(accesses, 'read')))
      )
    },
    isOffered: ({ name, server }) =>
      !lists.deny.some(rule =>
        namesTool(rule, { tool: name, accesses: [], ...(server !== undefined && { server }) }),
      ),
    hides(root) {
      const rules = guards.map(({ list, rules: all }) => ({
        list,
        rules: all.filter(({ what }) => what?.kind === 'read'),
      }))
      const match = (rule: Compiled, path: string) =>
        matchPath(rule, { kind: 'read', path, reach: 'file' }) === true
      // Approved for the directory: approved for what is in it.
      const hiding = rules.flatMap(({ list, rules: all }) =>
        list === 'deny' || root === undefined ? all : all.filter(rule => !match(rule, root)),
      )
      return hiding.length === 0 ? () => false : path => hiding.some(rule => match(rule, path))
    },
  }
}
