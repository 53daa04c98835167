/** The answers to a presented plan. Any other text is feedback, with which the agent continues to plan. */

export const APPROVE_PLAN = 'Approve'
export const KEEP_PLANNING = 'Keep planning'
export const PLAN_ANSWERS = [APPROVE_PLAN, KEEP_PLANNING] as const

export const isPlanApproval = (answer: string): boolean => answer.trim() === APPROVE_PLAN
