/** Reasoning of the profile: the effort, and whether it is shown. */
import { z } from 'zod'
import { offeredEfforts } from '../lib/agent/providers/offered-efforts.ts'
import { endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import {
  effortsFor,
  parseDisplay,
  parseEffort,
  readReasoning,
  saveEffort,
  saveShowReasoning,
} from '../lib/models/reasoning.ts'

const Reasoning = z.object({ show_reasoning: z.boolean(), reasoning_effort: z.string() })

export const get = endpoint({
  access: 'read',
  summary: 'The reasoning effort, whether reasoning is shown, and the efforts that a model knows',
  input: z.object({ model: z.string().max(500).optional() }),
  output: Reasoning.extend({ efforts: z.array(z.string()).optional() }),
  run(ctx, { model }) {
    if (model === undefined) return readReasoning(ctx.home)
    const { models } = ctx.app
    const efforts = effortsFor(
      () => models.endpoint(ctx.home, models.compatible(ctx.home, model || null).model),
      offeredEfforts,
    )
    return { ...readReasoning(ctx.home), efforts }
  },
})

export const set = endpoint({
  access: 'own',
  summary: 'Set the reasoning effort, or show or hide reasoning',
  input: z.object({ display: z.unknown().optional(), effort: z.unknown().optional() }),
  output: Reasoning,
  run(ctx, { display, effort }) {
    const isShown = display === undefined || display === null ? null : parseDisplay(display)
    const level = effort === undefined || effort === null ? null : parseEffort(effort)
    if (isShown === null && level === null)
      throw invalid("reasoning: must supply 'display' or 'effort'")
    if (isShown !== null) {
      saveShowReasoning(ctx.home, isShown)
      ctx.app.settings.save({ show_thinking: isShown })
    }
    if (level !== null) saveEffort(ctx.home, level)
    return readReasoning(ctx.home)
  },
})
