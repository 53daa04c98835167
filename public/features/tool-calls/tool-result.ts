/** Whether a tool call failed or was refused, from the ends of its result: what a closed activity shows. */

/**
 * Who refused a call: the user, no one in time, a setting where no one can be asked, one of the user's hooks or rules,
 * plan mode, or the checks of the service.
 */
export type Refuser = 'user' | 'timeout' | 'policy' | 'hook' | 'rule' | 'plan' | 'checks'

/** The sentences of `lib/agent` for calls that did not run because someone decided so. */
export const REFUSALS: readonly [Refuser, RegExp][] = [
  ['user', /^The user denied/],
  ['timeout', /^Not approved: no one answered in time/],
  ['policy', /^Not approved: /],
  ['hook', /^A hook of the user blocked/],
  ['plan', /^Plan mode is on/],
  ['rule', /^Refused, and no approval can allow it: the rule /],
  ['checks', /^Refused, and no approval can allow it/],
]

export const isFailure = (text: string): boolean => /^(error|failed|traceback)\b/i.test(text)

/** Whether a result looks like a failure, without parsing it; used to count failures. A refused call has not failed. */
export const looksFailed = (content: string): boolean => {
  const head = content.slice(0, 120)
  const tail = content.slice(-400)
  if (looksRefused(head)) return false
  return (
    /"exit_code"\s*:\s*-?[1-9]/.test(tail) ||
    /^\s*\{\s*"(?:success"\s*:\s*false|error"\s*:\s*"[^"])/.test(head) ||
    isFailure(head)
  )
}

/** Who refused the call, without parsing its result; null when no one did. */
export const refuserIn = (content: string): Refuser | null => {
  const head = content.slice(0, 400)
  const isBlocked = /^\s*\{\s*"status"\s*:\s*"blocked"/.test(head)
  const said = /^\s*\{\s*(?:"(?:success|status)"[^{}]*?)?"error"\s*:\s*"(.*)$/s.exec(head)
  const known = REFUSALS.find(([, pattern]) => pattern.test(said?.[1] ?? ''))?.[0]
  return known ?? (isBlocked ? 'checks' : null)
}

export const looksRefused = (content: string): boolean => refuserIn(content) !== null
