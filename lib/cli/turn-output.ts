/** How a turn looks on a terminal: its words as they come, a line for each tool, and its questions. */
import type { AgentEvent } from '../agent/types.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import { redact } from '../redact/redact.ts'
import { createStreamMask } from '../turns/mask-stream.ts'
import type { Questions } from '../turns/questions.ts'
import { visibleName } from '../base/visible.ts'
import type { Terminal } from './terminal.ts'

export type TurnOutput = {
  event: (event: AgentEvent) => void
  warning: (message: string) => void
  approve: Questions['approve']
  clarify: Questions['clarify']
  /** The answer is over: the next line begins at the left. */
  endLine: () => void
}

const CHOICES: Readonly<Record<string, ApprovalChoice>> = {
  o: 'once',
  s: 'session',
  a: 'always',
  d: 'deny',
}

const seconds = (ms: number): string => (ms < 950 ? '' : ` (${Math.round(ms / 1_000)} s)`)

export const createTurnOutput = (
  terminal: Terminal,
  given: {
    quiet: boolean
    /** How long a person has to allow something. */
    approvalMs: () => number
    /** Ctrl-C at a question means the turn. */
    stop: () => void
  },
): TurnOutput => {
  let atStart = true
  /** Part of the message that is being said is on the screen. */
  let spoken = false
  let questions: Promise<unknown> = Promise.resolve()

  const endLine = (): void => {
    if (!atStart) terminal.out('\n')
    atStart = true
  }
  const note = (line: string): void => {
    endLine()
    terminal.note(line)
  }

  /** One question at a time, whoever asks. */
  const alone = <T>(ask: () => Promise<T>): Promise<T> => {
    const answer = questions.then(ask, ask)
    questions = answer.catch(() => undefined)
    return answer
  }

  /** Null when the person wants to stop, undefined when the time is over. */
  const askWithin = async (prompt: string, ms: number): Promise<string | null | undefined> => {
    const limit = ms > 0 ? AbortSignal.timeout(ms) : undefined
    const line = await terminal.ask(prompt, limit)
    return line === null && limit?.aborted ? undefined : line
  }

  const masking = createStreamMask()
  const show = (event: AgentEvent): void => {
    switch (event.type) {
      case 'token':
        // Subagents at work side by side would speak in each other's words.
        if (event.text === '' || event.owner) return
        terminal.out(event.text)
        spoken = true
        atStart = event.text.endsWith('\n')
        return
      case 'message':
        // Words between two tools are a paragraph of their own.
        if (event.message.role === 'assistant') endLine()
        spoken = false
        return
      case 'tool':
        if (!given.quiet)
          note(`· ${visibleName(redact(`${event.name} ${event.preview ?? ''}`.trimEnd()))}`)
        return
      case 'tool_complete':
        if (!given.quiet && event.isError)
          note(`  ${event.name} failed${seconds(event.durationMs)}`)
        return
      case 'retry':
        if (event.owner) return
        note(`! ${redact(event.message)} Retrying in ${Math.ceil(event.delayMs / 1_000)} s.`)
        // What is on the screen stays there.
        if (spoken) note('  The answer starts over:')
        spoken = false
        return
      case 'warning':
        note(`! ${redact(event.message)}`)
        return
      default:
        // Everything else has its place on a page, not here.
        return
    }
  }

  return {
    endLine() {
      masking.flush().forEach(show)
      endLine()
    },
    event: event => masking.push(event).forEach(show),
    warning: message => note(`! ${redact(message)}`),

    approve: ask =>
      alone(async () => {
        const { command, description, cwd } = ask
        if (!terminal.interactive) {
          note(`! Denied, because nobody can be asked here: ${description}\n  ${command}`)
          return 'deny'
        }
        note(
          `\nThe agent wants to run this${cwd ? ` in ${cwd}` : ''}:\n\n  ${command}\n\n(${description})`,
        )
        for (;;) {
          const line = await askWithin(
            'Allow it [o]nce, for this [s]ession, [a]lways, or [d]eny? ',
            given.approvalMs(),
          )
          if (line === undefined) {
            note('! No answer came in time; it was denied.')
            return 'deny'
          }
          if (line === null) {
            given.stop()
            return 'deny'
          }
          const choice = CHOICES[line.trim().slice(0, 1).toLowerCase()]
          if (choice) return choice
        }
      }),

    clarify: (ask, timeoutMs) =>
      alone(async () => {
        if (!terminal.interactive) return null
        const { question, choices_offered: choices } = ask
        const listed = choices.map((choice, at) => `  ${at + 1}. ${choice}`)
        note([`\n${question}`, ...listed].join('\n'))
        const line = await askWithin('Your answer: ', timeoutMs)
        if (line === undefined) return null
        if (line === null) {
          given.stop()
          return null
        }
        const words = line.trim()
        return choices[Number(words) - 1] ?? (words || null)
      }),
  }
}
