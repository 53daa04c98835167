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

export class TerminalQuestions {
  readonly #terminal: Terminal
  /** Writes a line of its own to standard error. */
  readonly #note: (line: string) => void
  /** Milliseconds to answer an approval; 0 means no limit. */
  readonly #approvalTimeoutMs: () => number
  /** Ctrl-C at a question stops the turn. */
  readonly #stop: () => void
  #pending: Promise<unknown> = Promise.resolve()
  #offer: AbortController | null = null

  constructor(
    terminal: Terminal,
    note: (line: string) => void,
    approvalTimeoutMs: () => number,
    stop: () => void,
  ) {
    this.#terminal = terminal
    this.#note = note
    this.#approvalTimeoutMs = approvalTimeoutMs
    this.#stop = stop
  }

  endRetryOffer(): void {
    this.#offer?.abort()
    this.#offer = null
  }

  #oneAtATime<T>(ask: () => Promise<T>): Promise<T> {
    // Both read from the terminal.
    this.endRetryOffer()
    const answer = this.#pending.then(ask, ask)
    this.#pending = answer.catch(() => undefined)
    return answer
  }

  /** Null on Ctrl-C or end of input, undefined when the time is up or the question was withdrawn. */
  async #askWithin(
    prompt: string,
    ms: number,
    withdrawn?: AbortSignal,
  ): Promise<string | null | undefined> {
    const signals = [
      ...(ms > 0 ? [AbortSignal.timeout(ms)] : []),
      ...(withdrawn ? [withdrawn] : []),
    ]
    const over = signals.length > 0 ? AbortSignal.any(signals) : undefined
    const line = await this.#terminal.ask(prompt, over)
    return line === null && over?.aborted ? undefined : line
  }

  /** Calls `retryNow` on Enter, until `endRetryOffer` is called or a question is asked. Only at a terminal. */
  offerRetry(retryNow: () => void): void {
    if (!this.#terminal.interactive || this.#offer) return
    const open = new AbortController()
    void this.#oneAtATime(async () => {
      if (open.signal.aborted) return
      const line = await this.#terminal.ask('', open.signal)
      if (open.signal.aborted) return
      this.#offer = null
      if (line === null) this.#stop()
      else retryNow()
    })
    this.#offer = open
  }

  approve(
    { command, description, cwd, network, runs_in: place }: Parameters<Questions['approve']>[0],
    _timeoutMs: number,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<ApprovalChoice> {
    return this.#oneAtATime(async () => {
      if (!this.#terminal.interactive) {
        this.#note(`! Denied: approvals need an interactive terminal. ${description}\n  ${command}`)
        throw new Unapproved('noOne')
      }
      this.#note(
        network
          ? `\n${description} It waits for the answer:\n\n  ${command}\n`
          : `\nThe agent wants to run${place ? ` ${PLACES[place]}` : ''}${cwd ? `${place ? ',' : ''} in ${cwd}` : ''}:\n\n  ${command}\n\n(${description})`,
      )
      for (;;) {
        const line = await this.#askWithin(
          'Allow [o]nce, for this [s]ession, [a]lways, or [d]eny? ',
          this.#approvalTimeoutMs(),
          signal,
        )
        if (signal?.aborted) {
          this.#note('! No longer needed.')
          throw new Unapproved('withdrawn')
        }
        if (line === undefined) {
          this.#note('! No answer in time. Denied.')
          throw new Unapproved('timeout')
        }
        if (line === null) {
          this.#stop()
          return 'deny'
        }
        const choice = CHOICES[line.trim().slice(0, 1).toLowerCase()]
        if (choice) return choice
      }
    })
  }

  clarify(
    { question, choices_offered: choices }: Parameters<Questions['clarify']>[0],
    timeoutMs: number,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string | null> {
    return this.#oneAtATime(async () => {
      if (!this.#terminal.interactive) return null
      const list = choices.map((choice, index) => `  ${index + 1}. ${choice}`)
      this.#note([`\n${question}`, ...list].join('\n'))
      const line = await this.#askWithin('Your answer: ', timeoutMs, signal)
      if (line === undefined) return null
      if (line === null) {
        this.#stop()
        return null
      }
      const text = line.trim()
      return choices[Number(text) - 1] ?? (text || null)
    })
  }
}
