/** The permission rules of a home for one workspace, read on each use so that a changed file takes effect immediately. */
import { shellQuote } from '../../../base/shell-quote.ts'
import { decideCommand } from '../../../agent/permissions/decide.ts'
import { readText } from '../../../store/read-text.ts'
import { join } from 'node:path'
import { reasonFor } from '../../../agent/permissions/check-call.ts'
import { denial } from '../../../agent/permissions/denied-path.ts'
import { Rules } from '../../../agent/permissions/rules.ts'
import { RULE_LISTS, type RuledCall } from '../../../agent/permissions/types.ts'
import { asObject } from '../../../base/json.ts'
import type { ProfileConfig } from '../../../profiles/config.ts'
import type { Guards } from '../../../agent/types.ts'
import type { Home } from '../../../profiles/home.ts'

type RulesHome = Home

/** `env`: the environment of the tools, whose HOME is `~` for them. */
export const rulesFor = (
  home: RulesHome,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Rules => {
  const homes = [...new Set([env.HOME ?? '', home.env().HOME ?? ''])].filter(dir => dir !== '')
  const values = () => asObject(home.values().permissions)
  return new Rules(home.configFile.path, { workspace, homes }, values)
}

/** For digests of what is sent to a model: other rules may show other tools and files. Empty without rules, as before them. */
export const rulesBasis = ({ permissions }: ProfileConfig): unknown[] =>
  RULE_LISTS.some(list => permissions[list] !== undefined) ? [permissions] : []

/** Why a call without a user to ask is refused; null when no rule applies. */
const refusalOf = (rules: Rules, call: RuledCall): string | null => {
  const verdict = rules.decide(call)
  if (verdict === null) return null
  return verdict.list === 'deny' ? denial(verdict, rules) : reasonFor(verdict)
}

/**
 * Why a page of this host is not fetched; null when it may be. `first`: the host of the address that was asked for: rules that
 * need an approval were applied to it before, and a redirection must not lead to another one that needs it.
 */
export const hostDenial = (
  home: RulesHome,
  tool: string,
  host: string,
  first: string,
): string | null => {
  const rules = rulesFor(home, home.dir, {})
  const call: RuledCall = { tool, accesses: [{ kind: 'host', host }] }
  const verdict = rules.decide(call)
  return verdict?.list === 'deny' || (verdict && host !== first) ? refusalOf(rules, call) : null
}

/** Why the script of a scheduled task does not run; null when it may. `mayApprove`: `approvals.cron_mode` answers for the user. */
export const scriptDenial = (
  home: RulesHome,
  script: string,
  mayApprove: boolean,
  guards?: Guards,
): string | null => {
  const dir = join(home.dir, 'scripts')
  const env = home.env()
  const rules = rulesFor(home, dir, env)
  const path = join(dir, script)
  // What a shell script contains is the command; of others only the name is known.
  const text = /\.(?:sh|bash)$/i.test(script) ? readText(path).text : null
  const command = text ?? shellQuote(path)
  const shell = { home: env.HOME ?? '', cwd: dir, workspace: dir, env }
  // Of the decision about commands only what no one could allow: changes of scripts are approved by a person.
  const decision = decideCommand(command, { guards, forbidden: [] }, shell)
  if (decision.kind === 'refuse') return decision.refusal.message
  const call: RuledCall = { tool: 'terminal', accesses: [{ kind: 'command', command, shell }] }
  return rules.decide(call)?.list === 'ask' && mayApprove ? null : refusalOf(rules, call)
}
