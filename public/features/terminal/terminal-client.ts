/** One terminal as this page sees it: reads its output in order, and sends input exactly once. */
import { ApiError, type ApiCall } from '../../api.ts'

export type TerminalLink = 'live' | 'waiting' | 'exited' | 'gone'

export type TerminalClientOptions = {
  api: ApiCall
  /** A chat that works in the folder: another one when this one was left. */
  session: () => string
  terminalId: string
  /** A name for this reader that no other page uses. */
  name: string
  /** Shows output; resolves when it is on the screen. With `reset` the screen is emptied first. */
  write: (text: string, reset: boolean) => Promise<void>
  onLink: (link: TerminalLink, exitCode: number | null) => void
  wait: (ms: number) => Promise<void>
}

const PAUSES_MS = [500, 1_000, 2_000, 5_000]
/** The server accepts 100,000 characters. */
const MAX_INPUT = 50_000

/** The server can't be reached, is busy, or a proxy answers for it. */
const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

/** The first part of a long input, without half of a character. */
const takeInput = (text: string): string => {
  if (text.length <= MAX_INPUT) return text
  const last = text.charCodeAt(MAX_INPUT - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? MAX_INPUT - 1 : MAX_INPUT)
}

export class TerminalClient {
  readonly #options: TerminalClientOptions
  readonly #one
  #after = 0
  #isStopped = true
  #isCaughtUp = false
  #reading: AbortController | null = null
  #pending = ''
  #sent = 0
  #isSending = false

  constructor(options: TerminalClientOptions) {
    this.#options = options
    this.#one = {
      terminal_id: options.terminalId,
      client: options.name,
    }
  }

  /** False while old output is shown again: programs that asked the terminal something in it need no second answer. */
  isCaughtUp(): boolean {
    return this.#isCaughtUp
  }

  start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#reading = new AbortController()
    void this.#read(this.#reading.signal)
  }

  stop(): void {
    this.#isStopped = true
    this.#reading?.abort()
  }

  type(data: string): void {
    this.#pending += data
    void this.#send()
  }

  /** False: the terminal is over. */
  async #readOnce(signal: AbortSignal): Promise<boolean> {
    const { api, session, write, onLink } = this.#options
    const { text, next, reset, more, terminal } = await api(
      'POST /api/terminal/read',
      { ...this.#one, session_id: session(), after: this.#after },
      { signal },
    )
    // Stopped, and perhaps started again: the next read repeats this output.
    if (signal.aborted) return true
    this.#after = next
    if (text || reset) await write(text, reset)
    if (!more) this.#isCaughtUp = true
    if (terminal.status === 'running' || more) {
      onLink('live', null)
      return true
    }
    onLink('exited', terminal.exit_code)
    return false
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { onLink, session, wait } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const id = session()
      try {
        if (!(await this.#readOnce(signal))) return
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        // The chat was deleted, or left its folder; another one is shown.
        if (id !== session()) continue
        if (!isPassing(error)) {
          onLink('gone', null)
          return
        }
        onLink('waiting', null)
        await wait(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]!)
      }
    }
  }

  async #send(): Promise<void> {
    const { api, session, wait } = this.#options
    if (this.#isSending) return
    this.#isSending = true
    while (this.#pending) {
      const data = takeInput(this.#pending)
      this.#pending = this.#pending.slice(data.length)
      this.#sent += 1
      for (let failures = 0; ; failures++) {
        const session_id = session()
        try {
          await api('POST /api/terminal/input', { ...this.#one, session_id, n: this.#sent, data })
          break
        } catch (error) {
          if (session_id !== session()) continue
          if (!isPassing(error)) {
            // It has ended: what was typed has no receiver.
            this.#pending = ''
            break
          }
          // The same number again: written once, whether or not the lost request arrived.
          await wait(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]!)
        }
      }
    }
    this.#isSending = false
  }
}
