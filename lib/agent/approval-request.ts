/** The question before something dangerous runs. */
import type { ApprovalChoice } from '../schema/question.ts'

/** What is asked of a person before something dangerous runs. Matching rules' labels, most severe first. */
export type ApprovalRequest = {
  command: string
  patternKeys: string[]
  description: string
  cwd: string
  /** Unified diff of the edit that is asked about. */
  diff?: string
  /** The answers on offer; all four when absent. */
  choices?: readonly ApprovalChoice[]
  /** It concerns what decides about the agent: no setting and no earlier answer stands for the person's own. */
  isControl?: true
}
