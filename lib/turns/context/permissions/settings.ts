/** The permission rules of a profile as the page shows and edits them, and what they would do to one command or path. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { decideCommand } from '../../../agent/permissions/decide.ts'
import { isAllowed } from '../../../agent/shell/labels.ts'
import type { ShellContext } from '../../../agent/shell/types.ts'
import type { CommandRunner } from '../../../agent/tool-services.ts'
import type { ApprovalRequest, Guards, OutsidePolicy } from '../../../agent/types.ts'
import { parseRule, ruleEntries } from '../../../agent/permissions/rule.ts'
import {
  type Access,
  RULE_LISTS,
  type RuledCall,
  type RuleList,
} from '../../../agent/permissions/types.ts'
import type { Rules } from '../../../agent/permissions/rules.ts'
import { asObject } from '../../../base/json.ts'
import { visibleText } from '../../../base/visible.ts'
import { conflict, invalid, missing } from '../../../errors.ts'
import { withCodes } from '../../../base/sentences.ts'
import { Sentences } from '../../../schema/sentence.ts'
import type { Home } from '../../../profiles/home.ts'
import { realPath } from '../../../store/path-within.ts'
import { rulesFor } from './home-rules.ts'

const RuleEntry = z.object({
  /** As written; JSON for what is no text. */
  rule: z.string(),
  /** Why it is not a rule; null when it is one. Everything is refused until it is corrected. */
  problem: z.string().nullable(),
  sentences: Sentences.optional(),
})

export const PermissionsOut = z.object({
  profile: z.string(),
  /** The file that contains the rules. */
  source: z.string(),
  lists: z.object({ deny: z.array(RuleEntry), ask: z.array(RuleEntry), allow: z.array(RuleEntry) }),
})

export const PermissionChange = z.object({
  list: z.enum(RULE_LISTS),
  /** The rule to remove or replace, as it was shown. */
  remove: z.string().max(5_000).optional(),
  add: z.string().trim().min(1).max(5_000).optional(),
})

const shownEntry = (entry: unknown): string =>
  typeof entry === 'string' ? entry.trim() : (JSON.stringify(entry) ?? '')

const sectionOf = (home: Home): Record<string, unknown> => {
  const { permissions } = home.values()
  return asObject(permissions)
}

const entriesOf = (home: Home, list: RuleList): readonly unknown[] => {
  const value = sectionOf(home)[list]
  return ruleEntries(value) ?? [value]
}

export const showPermissions = (home: Home): z.output<typeof PermissionsOut> => {
  const rows = (list: RuleList) =>
    entriesOf(home, list).map(entry => {
      const parsed = parseRule(entry)
      const problem = parsed.ok ? null : parsed.problem
      return withCodes({ rule: visibleText(shownEntry(entry)), problem })
    })
  const lists = { deny: rows('deny'), ask: rows('ask'), allow: rows('allow') }
  return { profile: home.name, source: home.configFile.path, lists }
}

/** Throws UserError for an invalid rule, and when the one to remove is not there any more. */
export const changePermissions = (
  home: Home,
  { list, remove, add }: z.output<typeof PermissionChange>,
): void => {
  const before = entriesOf(home, list)
  if (ruleEntries(sectionOf(home)[list]) === null)
    throw conflict(
      `permissions.${list} in ${home.configFile.path} is not a list. Correct it there.`,
      {
        code: 'setting_form',
        values: { key: `permissions.${list}`, file: home.configFile.path },
      },
    )
  const at = before.findIndex(entry => visibleText(shownEntry(entry)) === remove)
  if (remove !== undefined && at < 0)
    throw missing('This rule is not in the list any more.', { code: 'rule_not_found' })
  const parsed = add === undefined ? null : parseRule(add)
  if (parsed && !parsed.ok)
    throw invalid(parsed.problem, { code: 'rule_invalid', values: { problem: parsed.problem } })
  const isKnown = before.some((entry, index) => index !== at && shownEntry(entry) === add)
  const fresh = add === undefined || isKnown ? [] : [add]
  const after =
    at < 0 ? [...before, ...fresh] : [...before.slice(0, at), ...fresh, ...before.slice(at + 1)]
  home.configFile.edit(['permissions', list], after.length > 0 ? after : undefined)
}

export const PermissionCheck = z.object({
  kind: z.enum(['command', 'read', 'edit', 'url', 'tool']),
  value: z.string().trim().min(1).max(10_000),
  /** The session whose workspace applies; absent: the default workspace. */
  session_id: z.string().optional(),
})

export const PermissionOutcome = z.object({
  /**
   * `deny`, `ask`, `allow`: a rule decides. `unsure`: asked, because the rule may apply. `refused` and `approval` are for what
   * the service refuses or asks about anyway, `free` for the rest.
   */
  outcome: z.enum(['deny', 'ask', 'unsure', 'allow', 'refused', 'approval', 'free']),
  /** What decides: the rule, or the key of config.yaml. For `refused` a sentence. */
  rule: z.string().nullable(),
  /** Labels of the risks of a command. */
  reasons: z.array(z.string()),
})

const callFor = (
  { kind, value }: z.output<typeof PermissionCheck>,
  shell: ShellContext,
): RuledCall => {
  const path = () =>
    realPath(
      resolve(
        shell.cwd,
        value.replace(/^~(?=\/|$)/, () => shell.home),
      ),
    )
  const of = (tool: string, access: Access): RuledCall => ({ tool, accesses: [access] })
  switch (kind) {
    case 'command':
      return of('terminal', { kind: 'command', command: value, shell })
    case 'read':
      return of('read_file', { kind: 'read', path: path(), reach: 'file' })
    case 'edit':
      return of('write_file', { kind: 'write', path: path(), reach: 'file' })
    case 'url': {
      const address = value.includes('://') ? value : `https://${value}`
      const host = URL.parse(address)?.hostname ?? null
      return of('web_extract', { kind: 'host', host })
    }
    case 'tool':
      return { tool: value, accesses: [] }
  }
}

/** What would happen to a call, without running it, and what decides that. */
export const checkPermission = (
  home: Home,
  check: z.output<typeof PermissionCheck>,
  { workspace, controlPaths, guards, runner, outsideSandbox, isRemembered }: CheckPlace,
): z.output<typeof PermissionOutcome> => {
  const env = home.childEnv()
  const shell = { home: env.HOME ?? '', cwd: workspace, workspace, env, controlPaths }
  const rules: Rules = rulesFor(home, workspace, env)
  const { approvals, command_allowlist: allowlist } = home.config()
  const call = callFor(check, shell)
  const verdict = rules.decide(call)
  const outside = approvals.outside_sandbox ?? outsideSandbox
  const decision =
    check.kind === 'command'
      ? decideCommand(check.value, { guards, runner, outside, forbidden: [], canUndo: true }, shell)
      : null
  const question = decision?.kind === 'run' ? decision.ask : null
  const reasons = [...(question?.labels ?? [])]
  const because = (
    outcome: z.output<typeof PermissionOutcome>['outcome'],
    rule: string | null,
  ) => ({
    outcome,
    rule,
    reasons,
  })
  if (verdict?.list === 'deny') return because('deny', verdict.rule)
  if (decision?.kind === 'refuse') return because('refused', decision.refusal.message)
  if (verdict) return because(verdict.isUnsure ? 'unsure' : 'ask', verdict.rule)
  if (reasons.length === 0) {
    const place = runner ? `sandbox.enabled, terminal.backend: ${runner.kind}` : null
    return because('free', check.kind === 'command' ? place : null)
  }
  const ask = { command: check.value, patternKeys: reasons, description: '', cwd: workspace }
  const lines = question?.lines && { lines: question.lines }
  if (question?.isControl) return because('approval', null)
  const covering = rules.covers(call, { ...ask, ...lines })
  if (covering !== null) return because('allow', covering)
  if (approvals.mode === 'off') return because('allow', 'approvals.mode: off')
  if (reasons.every(label => isAllowed(label, allowlist)))
    return because('allow', 'command_allowlist')
  return isRemembered({ ...ask, ...lines })
    ? because('allow', 'an answer that was given before')
    : because('approval', runner ? null : `approvals.outside_sandbox: ${outside}`)
}

type CheckPlace = {
  workspace: string
  controlPaths: readonly string[]
  guards: Guards
  runner: CommandRunner | undefined
  /** Where the profile says nothing. */
  outsideSandbox: OutsidePolicy
  /** An answer for this profile covers it. */
  isRemembered: (ask: ApprovalRequest) => boolean
}
