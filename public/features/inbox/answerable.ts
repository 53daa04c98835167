/** Which approvals can be answered outside their chat. */
import type { Question } from '../../../lib/schema/question.ts'
import { may, type Route } from '../../parts/may.ts'

const MAX_COMMAND_CHARS = 300

/** Only those that a short view shows whole, that run in no other place, that are no budget, and that the person may answer. */
export const isAnswerable = (
  question: Question,
  {
    allows = may,
    maxChars = MAX_COMMAND_CHARS,
    showsChange = false,
  }: { allows?: (route: Route) => boolean; maxChars?: number; showsChange?: boolean } = {},
): boolean =>
  question.kind === 'approval' &&
  allows('POST /api/approval/respond') &&
  (!question.needs_owner || allows('POST /api/permissions')) &&
  (showsChange || !question.diff) &&
  question.runs_in !== 'outside' &&
  !question.pattern_key.startsWith('budget: ') &&
  question.command.length + (question.diff?.length ?? 0) <= maxChars &&
  (question.choices?.includes('once') ?? true)
