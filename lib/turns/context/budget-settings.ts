/** The `budgets` section of config.yaml and its request schema. */
import { z } from 'zod'

export const scopes = ['turn', 'session', 'day'] as const
export type Scope = (typeof scopes)[number]
export const measures = ['tokens', 'usd'] as const
export type Measure = (typeof measures)[number]

/** A change from the page: null removes a limit, absent leaves it unchanged. */
const BudgetChange = z.object({
  tokens: z.number().int().positive().max(1e12).nullable().optional(),
  usd: z.number().positive().max(1e9).nullable().optional(),
})
export const BudgetChanges = z.object({
  turn: BudgetChange.optional(),
  session: BudgetChange.optional(),
  day: BudgetChange.optional(),
  /** Model calls in one turn; null restores the default. */
  steps: z.number().int().positive().max(10_000).nullable().optional(),
})
export type BudgetChanges = z.infer<typeof BudgetChanges>

const LimitOut = z.object({ tokens: z.number().optional(), usd: z.number().optional() })
export const BudgetsOut = z.object({ turn: LimitOut, session: LimitOut, day: LimitOut })
