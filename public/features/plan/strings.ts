/** English text of plan mode. */
import { translator } from '../../strings/t.ts'

export const t = translator('plan', {
  'plan.on': 'Plan mode is on: the agent reads, but changes nothing until you approve its plan.',
  'plan.off': 'Turn off',
  'plan.count': '{done}/{total}',
  'plan.count.full': '{done} of {total} done:',
  'plan.complete': 'All done',
  'plan.open': 'Plan mode is on. The plan above waits for your answer.',
  'plan.title': 'Plan',
  'plan.text': 'Nothing has been changed yet. Approve the plan, and the agent carries it out.',
  'plan.approve': 'Approve plan',
  'plan.comment': 'What should change',
  'plan.comment.hint': 'What should change? (optional)',
  'plan.keep': 'Keep planning',
  'command.plan.on': 'Plan mode on. The agent changes nothing until you approve its plan.',
  'command.plan.off': 'Plan mode off',
})
