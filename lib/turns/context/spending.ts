/** Usage of a profile since a point in time: finished turns plus running ones. */
import type { Usage } from '../../schema/usage.ts'
import type { Sessions } from '../../sessions/types.ts'
import type { Spent } from './spending-limit.ts'

export type SpentSinceOptions = {
  sessions: Pick<Sessions, 'usage' | 'row'>
  running: () => readonly { sessionId: string; usage: Usage }[]
}

/** `since`: milliseconds since 1970. */
export const createSpentSince =
  ({ sessions, running }: SpentSinceOptions) =>
  (profile: string, since: number): Spent => {
    const ended = sessions
      .usage(since)
      .buckets.filter(bucket => bucket.profile === profile)
      .map(({ input_tokens, output_tokens, cost }) => ({
        input_tokens,
        output_tokens,
        estimated_cost: cost,
      }))
    const open = running()
      .filter(({ sessionId }) => sessions.row(sessionId)?.profile === profile)
      .map(({ usage }) => usage)
    return [...ended, ...open].reduce<Spent>(
      (sum, one) => ({
        input_tokens: sum.input_tokens + one.input_tokens,
        output_tokens: sum.output_tokens + one.output_tokens,
        estimated_cost: sum.estimated_cost + one.estimated_cost,
      }),
      { input_tokens: 0, output_tokens: 0, estimated_cost: 0 },
    )
  }
