/** Shows a turn on a terminal: the streamed answer on standard output, tools and notices as lines on standard error. */
import type { AgentEvent } from '../agent/types.ts'
import { visibleName } from '../base/visible.ts'
import { redact } from '../redact/redact.ts'
import { createStreamMask } from '../turns/mask-stream.ts'
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
}

const seconds = (ms: number): string => (ms < 950 ? '' : ` (${Math.round(ms / 1_000)} s)`)

export const createTurnOutput = (
  terminal: Terminal,
  { quiet, approvalTimeoutMs, stop }: TurnOutputOptions,
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

  const show = (event: AgentEvent): void => {
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
      case 'retry':
        if (event.owner) return
        note(`! ${redact(event.message)} Retrying in ${Math.ceil(event.delayMs / 1_000)} s.`)
        // Streamed text cannot be removed from the screen.
        if (hasStreamed) note('  The answer starts over:')
        hasStreamed = false
        return
      case 'warning':
        note(`! ${redact(event.message)}`)
        return
      default:
        // Other events are shown by the page only.
        return
    }
  }

  const mask = createStreamMask()
  return {
    ...createTerminalQuestions({ terminal, note, approvalTimeoutMs, stop }),
    endLine() {
      mask.flush().forEach(show)
      endLine()
    },
    event: event => mask.push(event).forEach(show),
    warning: message => note(`! ${redact(message)}`),
  }
}
