/**
 * Parses one permission rule: `tool` or `tool(what)`, as in `edit(src/**)`. Names of tools of widely used agents
 * (`Bash`, `Read`, `WebFetch`, `mcp__server__tool`) are accepted, so that rules can be typed from memory.
 */
import { type Sentence, sentence, type Words } from '../../base/sentences.ts'
import { matchesGlob } from '../glob.ts'
import { TOOLS, type ToolInfo } from '../../base/tools.ts'

export type RuleKind = NonNullable<ToolInfo['reach']>

export type Rule = {
  /** As written. */
  text: string
  /** Globs of tool names, in lower case, that the rule covers whatever they reach; empty when it has a pattern. */
  tools: readonly string[]
  /** Null for a rule about tools only; `pattern` null: everything of this kind. */
  what: { kind: RuleKind; pattern: string | null } | null
  /** The MCP server, normalized as in tool names, when the rule names one. */
  server?: string
}

type Name = { tools: readonly string[]; kind: RuleKind | null }

/** Groups: a rule with a pattern covers everything of its kind, whichever tool reaches it. */
const group = (kind: RuleKind, ...more: string[]): Name => ({
  kind,
  tools: [...TOOLS.flatMap(({ name, reach }) => (reach === kind ? [name] : [])), ...more],
})
const READ = group('read')
const EDIT = group('write')
const BASH = group('command')
const WEB = group('host', 'web_search')

/** Names in lower case. */
const NAMES: Readonly<Record<string, Name>> = {
  ...Object.fromEntries(
    TOOLS.flatMap(({ name, common = [], reach = null }) =>
      [name, ...common].map(each => [each.toLowerCase(), { tools: [name], kind: reach }]),
    ),
  ),
  read: READ,
  edit: EDIT,
  write: EDIT,
  multiedit: EDIT,
  notebookedit: EDIT,
  bash: BASH,
  shell: BASH,
  web: WEB,
}

const isTool = (glob: string): boolean => TOOLS.some(({ name }) => matchesGlob(glob, name))

const MAX_RULE_CHARS = 2_000

export type ParsedRule = { ok: true; rule: Rule } | { ok: false; problem: Sentence }

const problem = (reason: Sentence): ParsedRule => ({ ok: false, problem: reason })

/** `*` in the rules of an MCP server: all its tools. */
const mcpRule = (text: string, name: string): ParsedRule => {
  const [, server = '', tool = '*'] = /^mcp__([\s\S]+?)(?:__([\s\S]+))?$/i.exec(name) ?? []
  const safe = server.replace(/[^A-Za-z0-9_-]/g, '_').toLowerCase()
  return {
    ok: true,
    rule: { text, tools: [`mcp_${safe}_${tool.toLowerCase()}`], what: null, server: safe },
  }
}

const patternProblem = (kind: RuleKind, pattern: string): Sentence | null => {
  if (kind === 'host' && !/^domain:[^\s:/]+$/i.test(pattern)) return sentence('rule.domain')
  if ((kind === 'read' || kind === 'write') && (pattern.match(/\{/g)?.length ?? 0) > 4)
    return sentence('rule.groups')
  return null
}

/** Parses a rule. The problem is a sentence for the user. */
export const parseRule = (value: unknown): ParsedRule => {
  if (typeof value !== 'string') return problem(sentence('rule.no_text'))
  const text = value.trim()
  if (text.length > MAX_RULE_CHARS) return problem(sentence('rule.too_long'))
  const [, name = '', inner] = /^([^\s()]+)\s*(?:\(([\s\S]*)\))?$/.exec(text) ?? []
  if (name === '') return problem(sentence('rule.form'))
  if (/\p{C}/u.test(text)) return problem(sentence('rule.invisible'))
  const pattern = inner?.trim()
  if (pattern === '') return problem(sentence('rule.empty'))
  const isAll = pattern === undefined || pattern === '*' || pattern === '**'
  if (/^mcp__/i.test(name)) return isAll ? mcpRule(text, name) : problem(sentence('rule.mcp'))
  const key = name.toLowerCase()
  const group = Object.hasOwn(NAMES, key) ? NAMES[key] : undefined
  if (group === undefined) {
    if (!key.startsWith('mcp_') && !isTool(key))
      return problem(sentence('rule.no_tool', { tool: name.slice(0, 80) }))
    if (!isAll) return problem(sentence('rule.no_pattern', { tool: name.slice(0, 80) }))
    return { ok: true, rule: { text, tools: [key], what: null } }
  }
  const { tools, kind } = group
  if (isAll) {
    const isGroup = tools.length > 1
    const what = isGroup && kind !== null ? { kind, pattern: null } : null
    return { ok: true, rule: { text, tools, what } }
  }
  if (kind === null) return problem(sentence('rule.no_pattern', { tool: name }))
  const wrong = patternProblem(kind, pattern)
  return wrong === null
    ? { ok: true, rule: { text, tools: [], what: { kind, pattern } } }
    : problem(wrong)
}

/** The entries of a list, in the forms YAML allows; one text is a list of one. Null: not a list. */
export const ruleEntries = (value: unknown): readonly unknown[] | null =>
  value === undefined || value === null || value === ''
    ? []
    : Array.isArray(value)
      ? value
      : typeof value === 'string'
        ? [value]
        : null

/** The first entry that is not a rule, with the reason; null when all are. */
export const listProblem = (value: unknown): Words | null => {
  const entries = ruleEntries(value)
  if (entries === null) return sentence('rule.no_list')
  for (const entry of entries) {
    const parsed = parseRule(entry)
    if (!parsed.ok) {
      const text = typeof entry === 'string' ? entry : JSON.stringify(entry)
      return `“${String(text).slice(0, 120)}”: ${parsed.problem}`
    }
  }
  return null
}
