/** Shows a turn on a terminal: the streamed answer on standard output, tools and notices as lines on standard error. */
import { toSeconds } from '../base/clock.ts'
import { formatDuration } from '../agent/failure.ts'
import type { AgentEvent } from '../agent/types.ts'
import { visibleName } from '../base/visible.ts'
import { redact } from '../base/redact/redact.ts'
import { StreamMask } from '../turns/to-stream-event.ts'
import type { RetryReason } from '../schema/retry.ts'
import type { Terminal } from './terminal.ts'
import { TerminalQuestions } from './terminal-questions.ts'

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

export class TurnOutput {
  readonly #terminal: Terminal
  readonly #quiet: boolean
  /** Ends the wait before a failed model call is repeated. */
  readonly #retryNow: () => void
  #isAtLineStart = true
  /** Part of the current message is on the screen. */
  #hasStreamed = false
  /** Asks on the same terminal, between two lines of the output. */
  readonly questions: TerminalQuestions
  readonly #mask = new StreamMask()

  constructor(
    terminal: Terminal,
    quiet: boolean,
    approvalTimeoutMs: () => number,
    stop: () => void,
    retryNow: () => void,
  ) {
    this.#terminal = terminal
    this.#quiet = quiet
    this.#retryNow = retryNow
    this.questions = new TerminalQuestions(
      terminal,
      line => this.#note(line),
      approvalTimeoutMs,
      stop,
    )
  }

  #endLine(): void {
    if (!this.#isAtLineStart) this.#terminal.out('\n')
    this.#isAtLineStart = true
  }

  #note(line: string): void {
    this.#endLine()
    this.#terminal.note(line)
  }

  #show(event: AgentEvent): void {
    // The wait is over, unless another subagent's call waits.
    if (event.type !== 'retry' && !('owner' in event && event.owner)) this.questions.endRetryOffer()
    switch (event.type) {
      case 'token':
        // Text of parallel subagents would be interleaved.
        if (event.text === '' || event.owner) return
        this.#terminal.out(event.text)
        this.#hasStreamed = true
        this.#isAtLineStart = event.text.endsWith('\n')
        return
      case 'message':
        // Text between two tool calls is a paragraph of its own.
        if (event.message.role === 'assistant') this.#endLine()
        this.#hasStreamed = false
        return
      case 'tool':
        if (!this.#quiet)
          this.#note(`· ${visibleName(redact(`${event.name} ${event.preview ?? ''}`.trimEnd()))}`)
        return
      case 'tool_complete':
        if (!this.#quiet && event.isError)
          this.#note(`  ${event.name} failed${seconds(event.durationMs)}`)
        return
      case 'retry': {
        const isOffered = this.#terminal.interactive && event.delayMs > 0
        this.#note(`! ${describeRetry(event)}${isOffered ? ' Press Enter to retry now.' : ''}`)
        if (isOffered) this.questions.offerRetry(this.#retryNow)
        if (event.owner) return
        // Streamed text cannot be removed from the screen.
        if (this.#hasStreamed) this.#note('  The answer starts over:')
        this.#hasStreamed = false
        return
      }
      case 'warning':
        this.#note(`! ${redact(`${event.message}`)}`)
        return
      default:
        // Other events are shown by the page only.
        return
    }
  }

  /** Call at the end of the answer: the next line starts at the left. */
  endLine(): void {
    this.questions.endRetryOffer()
    for (const masked of this.#mask.flush()) this.#show(masked)
    this.#endLine()
  }

  event(event: AgentEvent): void {
    for (const masked of this.#mask.push(event)) this.#show(masked)
  }

  warning(message: string): void {
    this.#note(`! ${redact(message)}`)
  }
}
