/** Budgets of the profile: what turns may use before they ask, and what today has used. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { BudgetChanges, BudgetsOut, measures, scopes } from '../lib/turn-context/budget-settings.ts'

const Answer = z.object({
  budgets: BudgetsOut,
  /** Since midnight of the service's clock. */
  today: z.object({ tokens: z.number(), usd: z.number() }),
})

const show = (ctx: Ctx): z.output<typeof Answer> => {
  const midnight = new Date()
  midnight.setHours(0, 0, 0, 0)
  const spent = ctx.app.spentSince(ctx.home.name, midnight.getTime() / 1_000)
  return {
    budgets: ctx.home.settings().budgets,
    today: { tokens: spent.input_tokens + spent.output_tokens, usd: spent.estimated_cost },
  }
}

export const get = endpoint({
  summary: 'The budgets of turns, sessions and days, and what today has used',
  output: Answer,
  run: show,
})

export const save = endpoint({
  summary: 'Change budgets; null takes one away, what is absent stays',
  input: BudgetChanges,
  output: Answer,
  run: (ctx, changes) => {
    const edits = scopes.flatMap(scope =>
      measures.flatMap(measure => {
        const value = changes[scope]?.[measure]
        return value === undefined
          ? []
          : [[['budgets', scope, measure], value ?? undefined] as const]
      }),
    )
    if (edits.length > 0) ctx.home.config.editAll(edits)
    return show(ctx)
  },
})
