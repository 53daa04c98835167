/** The question before something dangerous runs. */
import type { ApprovalChoice } from '../schema/question.ts'

/** What is asked of a person before something dangerous runs. Matching rules' labels, most severe first. */
export type ApprovalAsk = {
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

/**
 * What the home itself forbids (`approvals.deny`, a terminal back end that is not ours, …), whatever a person, a session or
 * a mode allows. Each answers the sentence why, or null; asked at every use, because the file may change meanwhile.
 */
export type Guards = {
  /** Why no command at all may run. */
  commands: () => string | null
  /** Why this one may not. */
  command: (command: string, place: { home: string; cwd: string }) => string | null
  /** Why the file tools may not write at this real path. */
  write: (path: string) => string | null
  /** Why a tool may not be used at all. */
  tool: (name: string) => string | null
}
