/** Which approvals can be answered on the first page. */
import type { Question } from '../../../lib/schema/question.ts'
import { may } from '../../parts/may.ts'

const MAX_COMMAND_CHARS = 300

/** Only those that the first page shows whole: no change to read, nothing outside the sandbox, no budget, and the person may answer. */
export const isAnswerable = (question: Question): boolean =>
  question.kind === 'approval' &&
  may('POST /api/approval/respond') &&
  (!question.needs_owner || may('POST /api/permissions')) &&
  !question.diff &&
  question.runs_in !== 'outside' &&
  !question.pattern_key.startsWith('budget: ') &&
  question.command.length <= MAX_COMMAND_CHARS &&
  (question.choices?.includes('once') ?? true)
