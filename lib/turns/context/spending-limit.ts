/**
 * Spending limits in tokens and money per turn, session and day (`budgets` in config.yaml). A model call beyond a limit
 * waits for the user: extend the limit once, lift it for this session, or end the turn. Subagents share the limits.
 */
import { Sentence, sentence } from '../../base/sentences.ts'
import type { Clock } from '../../base/clock.ts'
import { Unapproved } from '../../base/unapproved.ts'
import type { Home } from '../../profiles/home.ts'
import type { ApprovalChoice } from '../../schema/question.ts'
import type { Usage } from '../../schema/usage.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { type Measure, measures, type Scope, scopes } from './budget-settings.ts'
import type { Questions } from '../questions.ts'
import { approvalTimeoutMs } from './approver.ts'

export type Spent = Pick<Usage, 'input_tokens' | 'output_tokens' | 'estimated_cost'>

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

const keyOf = ({ scope, measure }: { scope: Scope; measure: Measure }) => `${scope} ${measure}`

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

/** Usage of profiles: finished turns and running ones. */
export class Spending {
  readonly #sessions: Sessions
  readonly #running: () => readonly { sessionId: string; usage: Usage }[]

  constructor(sessions: Sessions, running: () => readonly { sessionId: string; usage: Usage }[]) {
    this.#sessions = sessions
    this.#running = running
  }

  /** `start`: milliseconds since 1970. */
  since(profile: string, start: number): Spent {
    const ended = this.#sessions
      .usage(start)
      .buckets.filter(bucket => bucket.profile === profile)
      .map(({ cost, ...bucket }) => ({ ...bucket, estimated_cost: cost }))
    const open = this.#running()
      .filter(({ sessionId }) => this.#sessions.row(sessionId)?.profile === profile)
      .map(({ usage }) => usage)
    return [...ended, ...open].reduce<Spent>(
      (sum, one) => ({
        input_tokens: sum.input_tokens + one.input_tokens,
        output_tokens: sum.output_tokens + one.output_tokens,
        estimated_cost: sum.estimated_cost + one.estimated_cost,
      }),
      { input_tokens: 0, output_tokens: 0, estimated_cost: 0 },
    )
  }
}

/** The limits of one turn. */
export class SpendingLimit {
  readonly #scope: SpendingScope
  readonly #sessions: Sessions
  readonly #spending: Spending
  readonly #ask: Questions['approve']
  readonly #clock: Clock
  readonly #ofTurn = new Map<string, number>()
  #ended: Sentence | null = null
  #asking: Promise<Sentence | null> | null = null

  constructor(
    scope: SpendingScope,
    sessions: Sessions,
    spending: Spending,
    ask: Questions['approve'],
    clock: Clock,
  ) {
    this.#scope = scope
    this.#sessions = sessions
    this.#spending = spending
    this.#ask = ask
    this.#clock = clock
  }

  /** Called before each model call; resolves to the reason when the limit is reached. Parallel subagents wait for the same answer. */
  check(): Promise<Sentence | null> {
    if (this.#ended !== null) return Promise.resolve(this.#ended)
    this.#asking ??= this.#checkOnce().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #checkOnce(): Promise<Sentence | null> {
    for (;;) {
      const hit = this.#reached()
      if (!hit) return null
      const why = usedUp(hit)
      const choice = this.#scope.unattended ? 'deny' : await this.#askBeyond(hit, why)
      if (choice === 'deny') {
        this.#ended = why
        return why
      }
      this.#applyChoice(choice, hit)
    }
  }

  async #askBeyond(hit: ReachedLimit, why: Sentence): Promise<ApprovalChoice> {
    const label = `budget: ${keyOf(hit)}`
    try {
      return await this.#ask(
        {
          session_id: this.#scope.sessionId,
          command: `Continue beyond ${amount(hit.measure, hit.limit)}`,
          pattern_key: label,
          pattern_keys: [label],
          description: why.text,
          sentences: { description: why.coded },
          needs_owner: true,
        },
        approvalTimeoutMs(this.#scope.home.config()),
      )
    } catch (error) {
      // The sentence on the budget says more than that no one answered.
      if (error instanceof Unapproved) return 'deny'
      throw error
    }
  }

  #reached(): ReachedLimit | null {
    const { budgets } = this.#scope.home.config()
    const day = localDay(this.#clock.now())
    for (const scope of scopes) {
      for (const measure of measures) {
        const limit = budgets[scope][measure]
        const key = keyOf({ scope, measure })
        if (limit === undefined || this.#lifted().includes(key)) continue
        const grant = this.#granted()[key]
        const isOf = scope !== 'day' || grant?.day === day.name
        const upTo = Math.max(limit, this.#ofTurn.get(key) ?? 0, isOf ? (grant?.upTo ?? 0) : 0)
        const used = this.#used(scope, measure, day.since)
        if (used >= upTo) return { scope, measure, used, limit }
      }
    }
    return null
  }

  #used(scope: Scope, measure: Measure, since: number): number {
    const { home, sessionId, turn } = this.#scope
    if (scope === 'day') return amountOf(measure, this.#spending.since(home.name, since))
    const now = amountOf(measure, turn.usage)
    return scope === 'turn' ? now : now + amountOf(measure, this.#sessions.require(sessionId))
  }

  #applyChoice(choice: ApprovalChoice, hit: ReachedLimit): void {
    const { sessionId } = this.#scope
    const key = keyOf(hit)
    const upTo = hit.used + hit.limit
    if (choice === 'once' && hit.scope === 'turn') {
      this.#ofTurn.set(key, upTo)
      return
    }
    const day = hit.scope === 'day' ? { day: localDay(this.#clock.now()).name } : {}
    const patch =
      choice === 'once'
        ? { budget_granted: { ...this.#granted(), [key]: { upTo, ...day } } }
        : { budget_lifted: [...new Set([...this.#lifted(), key])] }
    this.#sessions.append(sessionId, [{ t: 'meta', patch }])
  }

  #granted(): Extensions {
    return (this.#sessions.head(this.#scope.sessionId).meta.budget_granted as Extensions) ?? {}
  }

  #lifted(): string[] {
    const { budget_lifted: list } = this.#sessions.head(this.#scope.sessionId).meta
    return Array.isArray(list) ? list.map(String) : []
  }
}
