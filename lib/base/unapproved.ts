/** Approvals that no one gave although no one denied them: too late, by a setting, or because what asked is gone. */
import { Refusal } from './refusal.ts'

/** `policy`: no person can be asked, and a setting denies. `withdrawn`: what asked is gone. */
export type UnapprovedReason = 'timeout' | 'policy' | 'withdrawn'

const END = 'Do not try it another way.'

const SENTENCES = {
  timeout: `Not approved: no one answered in time. ${END}`,
  task: `Not approved: a scheduled task cannot ask, and its settings do not allow this. ${END}`,
  token: `Not approved: the API token of this request denies everything that needs approval. ${END}`,
  noOne: `Not approved: there is no one to ask here. ${END}`,
  withdrawn: 'Not approved: what asked for it has ended.',
} as const

/** The message is for the model: it must not blame the user for a denial. */
export class Unapproved extends Refusal {
  override readonly name = 'Unapproved'
  readonly reason: UnapprovedReason

  constructor(cause: keyof typeof SENTENCES) {
    super(cause === 'timeout' ? 'timeout' : 'policy', SENTENCES[cause])
    this.reason = cause === 'timeout' || cause === 'withdrawn' ? cause : 'policy'
  }
}
