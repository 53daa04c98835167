/** Budgets of the profile: how much turns may use before the agent asks, and today’s usage. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import {
  BudgetChanges,
  BudgetsOut,
  measures,
  scopes,
} from '../lib/turns/context/budget-settings.ts'
import { localDay } from '../lib/turns/context/spending-limit.ts'

const Answer = z.object({
  budgets: BudgetsOut,
  /** Since midnight in the server's time zone. */
  /** Model calls in one turn (`agent.max_turns`). */
  steps: z.number(),
  today: z.object({ tokens: z.number(), usd: z.number() }),
})

const show = (ctx: Ctx): z.output<typeof Answer> => {
  const { since } = localDay(ctx.app.clock.now())
  const spent = ctx.app.spending.since(ctx.home.name, since)
  return {
    budgets: ctx.home.config().budgets,
    steps: ctx.home.config().agent.max_turns,
    today: { tokens: spent.input_tokens + spent.output_tokens, usd: spent.estimated_cost },
  }
}

export const get = endpoint({
  access: 'own',
  summary: 'Budgets per turn, session and day, and today’s usage',
  output: Answer,
  run: show,
})

export const save = endpoint({
  access: 'own',
  summary: 'Change budgets; null removes one, absent ones stay',
  input: BudgetChanges,
  output: Answer,
  run: (ctx, changes) => {
    const edits: [string[], number | undefined][] = scopes.flatMap(scope =>
      measures.flatMap(measure => {
        const value = changes[scope]?.[measure]
        return value === undefined
          ? []
          : [[['budgets', scope, measure], value ?? undefined] satisfies [string[], unknown]]
      }),
    )
    if (changes.steps !== undefined)
      edits.push([['agent', 'max_turns'], changes.steps ?? undefined])
    if (edits.length > 0) ctx.home.configFile.editAll(edits)
    return show(ctx)
  },
})
