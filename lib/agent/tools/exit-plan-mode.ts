/** Tool `exit_plan_mode`: presents a plan to the user, whose approval ends plan mode. */
import { z } from 'zod'
import { EXIT_PLAN_MODE, isPlanApproval, KEEP_PLANNING } from '../../base/plan-answers.ts'
import type { Tool } from '../types.ts'

const input = z.object({
  plan: z
    .string()
    .trim()
    .min(1)
    .max(100_000)
    .describe('The plan as Markdown: what will change, in which files, in which order.'),
})

const answerTo = (answer: string | null): { approved: boolean; [key: string]: unknown } => {
  if (answer === null)
    return {
      approved: false,
      message: 'No one can answer now. Plan mode stays on: end with the plan as your answer.',
    }
  if (isPlanApproval(answer))
    return {
      approved: true,
      message: 'The user approved the plan. Plan mode is off: carry it out now.',
    }
  if (answer === KEEP_PLANNING)
    return {
      approved: false,
      message:
        'The user wants to continue planning. Plan mode stays on: ask what to change, or end your turn.',
    }
  return {
    approved: false,
    feedback: answer,
    message: `Plan mode stays on. Revise the plan and present it again with ${EXIT_PLAN_MODE}.`,
  }
}

/** Named as in other agents, so that models know it. */
export const exitPlanMode: Tool<typeof input> = {
  name: EXIT_PLAN_MODE,
  summary:
    'Only while the newest user message is tagged [Mode: plan]: present your plan for approval, when it is complete and open questions are answered. Once it is approved, carry it out in the same turn. Not for answers to questions that need no changes.',
  input,
  kind: 'ask',
  preview: ({ plan }) => plan.split('\n').find(line => line.trim() !== '') ?? '',
  async run(ctx, { plan }) {
    const {
      callId,
      turn: { planMode },
    } = ctx
    if (!planMode?.isOn())
      return {
        content: JSON.stringify({
          approved: true,
          message: 'Plan mode is off. Carry out the plan.',
        }),
      }
    return { content: JSON.stringify(answerTo(await planMode.present(plan, callId))) }
  },
}
