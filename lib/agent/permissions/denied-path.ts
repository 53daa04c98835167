/** Sentences about what a rule denies. Apart from check-call.ts, which imports the tools that use them. */
import type { Verdict } from './types.ts'
import type { Rules } from './rules.ts'

/** Why a rule denies a call. */
export const denial = ({ rule }: Verdict, { source }: Rules): string =>
  `Refused, and no approval can allow it: the rule "${rule}" of permissions.deny in ${source} forbids it. Do not try it another way.`

/** Why reading or writing this real path is denied; null when it is not. */
export const deniedPath = (
  rules: Rules | undefined,
  kind: 'read' | 'write',
  fullPath: string,
): string | null => {
  const access = { kind, path: fullPath, reach: 'file' as const }
  const verdict = rules?.decide({ tool: '', accesses: [access] })
  return rules && verdict?.list === 'deny' ? denial(verdict, rules) : null
}
