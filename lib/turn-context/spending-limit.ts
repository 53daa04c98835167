/**
 * Spending limits in tokens and money per turn, session and day (`budgets` in config.yaml). A model call beyond a limit
 * waits for the user: extend the limit once, lift it for this session, or end the turn. Subagents share the limits.
 */
import { Sentence, sentence } from '../base/sentences.ts'
import type { Clock } from '../base/clock.ts'
import { Unapproved } from '../base/unapproved.ts'
import type { Home } from '../profiles/home.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { Usage } from '../schema/usage.ts'
import type { Sessions } from '../sessions/types.ts'
import { type Budgets, type Measure, measures, type Scope, scopes } from './budget-settings.ts'
import { approvalTimeoutMs, type ApprovalPolicyOptions } from './approval-policy.ts'

export type Spent = Pick<Usage, 'input_tokens' | 'output_tokens' | 'estimated_cost'>

export type SpendingLimitOptions = {
  sessions: Pick<Sessions, 'append' | 'head' | 'require'>
  ask: ApprovalPolicyOptions['ask']
  /** Usage of the profile's finished and running turns since then, milliseconds since 1970. */
  spentSince: (profile: string, since: number) => Spent
  clock: Pick<Clock, 'now'>
}

type ReachedLimit = { scope: Scope; measure: Measure; used: number; limit: number }

/** Extensions in a session's record: the raised limit by key. */
type Extensions = Readonly<Record<string, { upTo: number; day?: string }>>

const amount = (measure: Measure, value: number): Sentence => {
  if (measure === 'usd') return sentence('amount.usd', { amount: value.toFixed(2) })
  const count = Math.round(value)
  const text = `${count.toLocaleString('en')} tokens`
  return new Sentence(text, { code: 'amount.tokens', values: { count } })
}

const usedUp = ({ scope, measure, used, limit }: ReachedLimit): Sentence =>
  sentence(`budget.${scope}`, { used: amount(measure, used), limit: amount(measure, limit) })

const keyOf = ({ scope, measure }: Pick<ReachedLimit, 'scope' | 'measure'>) => `${scope} ${measure}`

export const isBudgetKey = (key: string): boolean => key.startsWith('budget: ')

const amountOf = (measure: Measure, spent: Spent): number =>
  measure === 'usd' ? spent.estimated_cost : spent.input_tokens + spent.output_tokens

/** The local day of `now`, and when it began; milliseconds since 1970. */
export const localDay = (now: number): { since: number; name: string } => {
  const date = new Date(now)
  date.setHours(0, 0, 0, 0)
  return { since: date.getTime(), name: date.toDateString() }
}

/** What a limit applies to. Unattended turns cannot ask for more. */
export type SpendingScope = {
  sessionId: string
  home: Home
  turn: { readonly usage: Usage }
  unattended: unknown
}

export const createSpendingLimit = (
  { turn, sessionId, home, unattended }: SpendingScope,
  deps: SpendingLimitOptions,
): (() => Promise<Sentence | null>) => {
  const { sessions } = deps
  const ofTurn = new Map<string, number>()
  let ended: Sentence | null = null
  let asking: Promise<Sentence | null> | null = null

  const granted = (): Extensions =>
    (sessions.head(sessionId).meta.budget_granted as Extensions) ?? {}
  const lifted = (): string[] => {
    const { budget_lifted: list } = sessions.head(sessionId).meta
    return Array.isArray(list) ? list.map(String) : []
  }

  const used = (scope: Scope, measure: Measure, since: number): number => {
    if (scope === 'day') return amountOf(measure, deps.spentSince(home.name, since))
    const now = amountOf(measure, turn.usage)
    return scope === 'turn' ? now : now + amountOf(measure, sessions.require(sessionId))
  }

  const reached = (budgets: Budgets): ReachedLimit | null => {
    const day = localDay(deps.clock.now())
    for (const scope of scopes) {
      for (const measure of measures) {
        const limit = budgets[scope][measure]
        const key = keyOf({ scope, measure })
        if (limit === undefined || lifted().includes(key)) continue
        const grant = granted()[key]
        const isOf = scope !== 'day' || grant?.day === day.name
        const upTo = Math.max(limit, ofTurn.get(key) ?? 0, isOf ? (grant?.upTo ?? 0) : 0)
        const sum = used(scope, measure, day.since)
        if (sum >= upTo) return { scope, measure, used: sum, limit }
      }
    }
    return null
  }

  const applyChoice = (choice: ApprovalChoice, hit: ReachedLimit): void => {
    const key = keyOf(hit)
    if (choice !== 'once') {
      const list = [...new Set([...lifted(), key])]
      sessions.append(sessionId, [{ t: 'meta', patch: { budget_lifted: list } }])
      return
    }
    const upTo = hit.used + hit.limit
    if (hit.scope === 'turn') ofTurn.set(key, upTo)
    else {
      const day = hit.scope === 'day' ? { day: localDay(deps.clock.now()).name } : {}
      const budget_granted = { ...granted(), [key]: { upTo, ...day } }
      sessions.append(sessionId, [{ t: 'meta', patch: { budget_granted } }])
    }
  }

  const check = async (): Promise<Sentence | null> => {
    for (;;) {
      const hit = reached(home.settings().budgets)
      if (!hit) return null
      const why = usedUp(hit)
      const label = `budget: ${keyOf(hit)}`
      const choice = unattended
        ? 'deny'
        : await deps
            .ask(
              {
                session_id: sessionId,
                command: `Continue beyond ${amount(hit.measure, hit.limit)}`,
                pattern_key: label,
                pattern_keys: [label],
                description: why.text,
                needs_owner: true,
              },
              approvalTimeoutMs(home.settings()),
            )
            .catch((error: unknown) => {
              // The sentence on the budget says more than that no one answered.
              if (error instanceof Unapproved) return 'deny' as const
              throw error
            })
      if (choice === 'deny') {
        ended = why
        return why
      }
      applyChoice(choice, hit)
    }
  }

  // Parallel subagents wait for the same answer.
  return () => {
    if (ended !== null) return Promise.resolve(ended)
    asking ??= check().finally(() => {
      asking = null
    })
    return asking
  }
}
