/** The tool that presents a plan, and the answers to one. Any other text is feedback, with which the agent continues to plan. */

export const EXIT_PLAN_MODE = 'exit_plan_mode'

export const APPROVE_PLAN = 'Approve'
export const KEEP_PLANNING = 'Keep planning'
export const PLAN_ANSWERS = [APPROVE_PLAN, KEEP_PLANNING] as const

export const isPlanApproval = (answer: string): boolean => answer.trim() === APPROVE_PLAN
