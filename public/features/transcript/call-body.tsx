/** The body of a tool card that shows more than arguments and a result: subagents, and a presented plan. */
import type { ToolStep } from './rows.ts'
import { Subagents } from './subagents.tsx'
import { PresentedPlan } from '../approvals/plan-card.tsx'

export const CallBody = ({ step }: { step: ToolStep }) =>
  step.name === 'delegate_task' ? (
    <Subagents step={step} />
  ) : (
    <PresentedPlan id={step.tid} argsText={step.argsText} />
  )
