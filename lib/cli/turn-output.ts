/** Shows a turn on a terminal: the streamed answer on standard output, tools and notices as lines on standard error. */
import { toSeconds } from '../base/clock.ts'
import { formatDuration } from '../agent/failure.ts'
import type { AgentEvent } from '../agent/types.ts'
import { visibleName } from '../base/visible.ts'
import { redact } from '../base/redact/redact.ts'
import { createStreamMask } from '../turns/to-stream-event.ts'
import type { RetryReason } from '../schema/retry.ts'
import type { Terminal } from './terminal.ts'
import { createTerminalQuestions, type TerminalQuestions } from './terminal-questions.ts'

export type TurnOutput = TerminalQuestions & {
  event: (event: AgentEvent) => void
  warning: (message: string) => void
  /** Call at the end of the answer: the next line starts at the left. */
  endLine: () => void
}

export type TurnOutputOptions = {
  quiet: boolean
  /** Milliseconds to answer an approval; 0 means no limit. */
  approvalTimeoutMs: () => number
  /** Ctrl-C at a question stops the turn. */
  stop: () => void
  /** Ends the wait before a failed model call is repeated. */
  retryNow: () => void
}

const CAUSES: Readonly<Record<RetryReason, (provider: string) => string>> = {
  rate_limit: provider => `Rate limit at ${provider}`,
  overloaded: provider => `${provider} is overloaded`,
  server_error: provider => `${provider} had an error`,
  connection: provider => `The connection to ${provider} broke off`,
  unreachable: provider => `Couldn't reach ${provider}`,
  loading: provider => `${provider} is loading the model`,
  empty: provider => `${provider} returned an empty answer`,
  cut: () => 'The answer was cut off',
  error: provider => `${provider} reported an error`,
}

type RetryEvent = Extract<AgentEvent, { type: 'retry' }>

/** `Rate limit at OpenAI: Slow down. Retrying in 12 s, attempt 2 of 6.` */
export const describeRetry = (event: RetryEvent): string => {
  const { attempt, attempts, delayMs, reason = 'error', provider = 'The provider', owner } = event
  const subject = owner ? 'Subagent: ' : ''
  const words = `${event.message}`.trim().replace(/[.!…]+$/, '')
  const when = delayMs > 0 ? `in ${formatDuration(delayMs)}` : 'now'
  const count = attempts > attempt ? `, attempt ${attempt + 1} of ${attempts}` : ''
  return redact(`${subject}${CAUSES[reason](provider)}: ${words}. Retrying ${when}${count}.`)
}

const seconds = (ms: number): string => (ms < 950 ? '' : ` (${Math.round(toSeconds(ms))} s)`)

export const createTurnOutput = (
  terminal: Terminal,
  { quiet, approvalTimeoutMs, stop, retryNow }: TurnOutputOptions,
): TurnOutput => {
  let isAtLineStart = true
  /** Part of the current message is on the screen. */
  let hasStreamed = false

  const endLine = (): void => {
    if (!isAtLineStart) terminal.out('\n')
    isAtLineStart = true
  }
  const note = (line: string): void => {
    endLine()
    terminal.note(line)
  }

  const questions = createTerminalQuestions({ terminal, note, approvalTimeoutMs, stop })

  const show = (event: AgentEvent): void => {
    // The wait is over, unless another subagent's call waits.
    if (event.type !== 'retry' && !('owner' in event && event.owner)) questions.endRetryOffer()
    switch (event.type) {
      case 'token':
        // Text of parallel subagents would be interleaved.
        if (event.text === '' || event.owner) return
        terminal.out(event.text)
        hasStreamed = true
        isAtLineStart = event.text.endsWith('\n')
        return
      case 'message':
        // Text between two tool calls is a paragraph of its own.
        if (event.message.role === 'assistant') endLine()
        hasStreamed = false
        return
      case 'tool':
        if (!quiet)
          note(`· ${visibleName(redact(`${event.name} ${event.preview ?? ''}`.trimEnd()))}`)
        return
      case 'tool_complete':
        if (!quiet && event.isError) note(`  ${event.name} failed${seconds(event.durationMs)}`)
        return
      case 'retry': {
        const isOffered = terminal.interactive && event.delayMs > 0
        note(`! ${describeRetry(event)}${isOffered ? ' Press Enter to retry now.' : ''}`)
        if (isOffered) questions.offerRetry(retryNow)
        if (event.owner) return
        // Streamed text cannot be removed from the screen.
        if (hasStreamed) note('  The answer starts over:')
        hasStreamed = false
        return
      }
      case 'warning':
        note(`! ${redact(`${event.message}`)}`)
        return
      default:
        // Other events are shown by the page only.
        return
    }
  }

  const mask = createStreamMask()
  return {
    ...questions,
    endLine() {
      questions.endRetryOffer()
      mask.flush().forEach(show)
      endLine()
    },
    event: event => mask.push(event).forEach(show),
    warning: message => note(`! ${redact(message)}`),
  }
}
