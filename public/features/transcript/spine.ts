/** The marks beside steps: what runs, needs a person, or failed. Everything else has none. */
import { hasFailed } from '../tool-calls/outcome.ts'
import { messageText } from '../messages/message-text.ts'
import type { TranscriptRow, Step } from './rows.ts'

export type Mark = 'running' | 'waiting' | 'failed'

const stepFailed = (step: Step): boolean =>
  step.kind === 'tool' &&
  (step.result === null
    ? step.finished?.isError === true
    : hasFailed(messageText(step.result), step.result))

/** `isWaiting`: for a person, or before a failed call is repeated: a card says so. */
export const markOf = (row: TranscriptRow, isWaiting: boolean): Mark | null => {
  switch (row.kind) {
    case 'activity':
      if (row.live && !isWaiting) return 'running'
      return row.steps.some(stepFailed) ? 'failed' : null
    case 'step':
      if (stepFailed(row.step)) return 'failed'
      return row.step.kind === 'tool' && row.step.state === 'running' && !isWaiting
        ? 'running'
        : null
    case 'decision':
      return row.decision.reason === 'timeout' ? 'waiting' : null
    default:
      return null
  }
}

/** The message of a row key such as `m12`, `m12:a0/call` or `m14:0`. */
export const messageIdOf = (key: string): string => /^[^:]*/.exec(key)![0]
