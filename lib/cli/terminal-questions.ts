/** Approvals and questions of the agent at a terminal, one at a time, and Enter to retry a failed call now. */
import { Unapproved } from '../base/unapproved.ts'
import type { RunsIn } from '../schema/command-place.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { Questions } from '../turns/questions.ts'
import type { Terminal } from './terminal.ts'

const CHOICES: Readonly<Record<string, ApprovalChoice>> = {
  o: 'once',
  s: 'session',
  a: 'always',
  d: 'deny',
}

const PLACES: Readonly<Record<RunsIn, string>> = {
  sandbox: 'in the sandbox',
  sandbox_network: 'in the sandbox, with network access',
  container: 'in the container',
  container_network: 'in the container, with network access',
  outside: 'OUTSIDE THE SANDBOX',
}

export type TerminalQuestions = {
  approve: Questions['approve']
  clarify: Questions['clarify']
  /** Calls `retryNow` on Enter, until `endRetryOffer` is called or a question is asked. Only at a terminal. */
  offerRetry: (retryNow: () => void) => void
  endRetryOffer: () => void
}

export type TerminalQuestionsOptions = {
  terminal: Terminal
  /** Writes a line of its own to standard error. */
  note: (line: string) => void
  /** Milliseconds to answer an approval; 0 means no limit. */
  approvalTimeoutMs: () => number
  /** Ctrl-C at a question stops the turn. */
  stop: () => void
}

export const createTerminalQuestions = ({
  terminal,
  note,
  approvalTimeoutMs,
  stop,
}: TerminalQuestionsOptions): TerminalQuestions => {
  let pending: Promise<unknown> = Promise.resolve()
  let offer: AbortController | null = null

  const endRetryOffer = (): void => {
    offer?.abort()
    offer = null
  }

  const oneAtATime = <T>(ask: () => Promise<T>): Promise<T> => {
    // Both read from the terminal.
    endRetryOffer()
    const answer = pending.then(ask, ask)
    pending = answer.catch(() => undefined)
    return answer
  }

  /** Null on Ctrl-C or end of input, undefined when the time is up or the question was withdrawn. */
  const askWithin = async (
    prompt: string,
    ms: number,
    withdrawn?: AbortSignal,
  ): Promise<string | null | undefined> => {
    const signals = [
      ...(ms > 0 ? [AbortSignal.timeout(ms)] : []),
      ...(withdrawn ? [withdrawn] : []),
    ]
    const over = signals.length > 0 ? AbortSignal.any(signals) : undefined
    const line = await terminal.ask(prompt, over)
    return line === null && over?.aborted ? undefined : line
  }

  return {
    offerRetry(retryNow) {
      if (!terminal.interactive || offer) return
      const open = new AbortController()
      void oneAtATime(async () => {
        if (open.signal.aborted) return
        const line = await terminal.ask('', open.signal)
        if (open.signal.aborted) return
        offer = null
        if (line === null) stop()
        else retryNow()
      })
      offer = open
    },
    endRetryOffer,

    approve: (
      { command, description, cwd, network, runs_in: place },
      _timeoutMs,
      { signal } = {},
    ) =>
      oneAtATime(async () => {
        if (!terminal.interactive) {
          note(`! Denied: approvals need an interactive terminal. ${description}\n  ${command}`)
          throw new Unapproved('noOne')
        }
        note(
          network
            ? `\n${description} It waits for the answer:\n\n  ${command}\n`
            : `\nThe agent wants to run${place ? ` ${PLACES[place]}` : ''}${cwd ? `${place ? ',' : ''} in ${cwd}` : ''}:\n\n  ${command}\n\n(${description})`,
        )
        for (;;) {
          const line = await askWithin(
            'Allow [o]nce, for this [s]ession, [a]lways, or [d]eny? ',
            approvalTimeoutMs(),
            signal,
          )
          if (signal?.aborted) {
            note('! No longer needed.')
            throw new Unapproved('withdrawn')
          }
          if (line === undefined) {
            note('! No answer in time. Denied.')
            throw new Unapproved('timeout')
          }
          if (line === null) {
            stop()
            return 'deny'
          }
          const choice = CHOICES[line.trim().slice(0, 1).toLowerCase()]
          if (choice) return choice
        }
      }),

    clarify: ({ question, choices_offered: choices }, timeoutMs, { signal } = {}) =>
      oneAtATime(async () => {
        if (!terminal.interactive) return null
        const list = choices.map((choice, index) => `  ${index + 1}. ${choice}`)
        note([`\n${question}`, ...list].join('\n'))
        const line = await askWithin('Your answer: ', timeoutMs, signal)
        if (line === undefined) return null
        if (line === null) {
          stop()
          return null
        }
        const text = line.trim()
        return choices[Number(text) - 1] ?? (text || null)
      }),
  }
}
