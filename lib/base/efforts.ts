/** How long a model thinks, in ascending order. What a model offers of them: `lib/agent/providers/offered-efforts.ts`. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const

export type Effort = (typeof EFFORTS)[number]

export const isEffort = (text: unknown): text is Effort => EFFORTS.some(effort => effort === text)
