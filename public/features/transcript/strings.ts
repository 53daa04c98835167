/** English text of subagents; loaded with their view. */
import { translator } from '../../strings/t.ts'
import { enTranscript } from '../../strings/transcript-strings.ts'
import { enSteps } from '../tool-calls/step-strings.ts'

export const t = translator(
  'transcript',
  {
    ...enTranscript,
    ...enSteps,
    'sub.calls': { one: '{count} step', other: '{count} steps' },
    'sub.running': 'Running',
    'sub.completed': 'Done',
    'sub.failed': 'Failed',
    'sub.interrupted': 'Stopped',
    'step.running': 'Running',
    'step.ok': 'Done',
    'step.error': 'Failed',
    'step.unfinished': 'Stopped',
  },
  'tool-calls.step',
  'messages',
)
