/** One terminal as this page sees it: reads its output in order, and sends input exactly once. */
import { ApiError, type ApiCall } from '../../api.ts'

export type TerminalLink = 'live' | 'waiting' | 'exited' | 'gone'

export type TerminalClientOptions = {
  api: ApiCall
  sessionId: string
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

export const createTerminalClient = (options: TerminalClientOptions) => {
  const { api, write, onLink, wait } = options
  const one = {
    session_id: options.sessionId,
    terminal_id: options.terminalId,
    client: options.name,
  }
  let after = 0
  let isStopped = true
  let isCaughtUp = false
  let reading: AbortController | null = null
  let pending = ''
  let sent = 0
  let isSending = false

  /** False: the terminal is over. */
  const readOnce = async (signal: AbortSignal): Promise<boolean> => {
    const { text, next, reset, more, terminal } = await api(
      'POST /api/terminal/read',
      { ...one, after },
      { signal },
    )
    // Stopped, and perhaps started again: the next read repeats this output.
    if (signal.aborted) return true
    after = next
    if (text || reset) await write(text, reset)
    if (!more) isCaughtUp = true
    if (terminal.status === 'running' || more) {
      onLink('live', null)
      return true
    }
    onLink('exited', terminal.exit_code)
    return false
  }

  const read = async (signal: AbortSignal): Promise<void> => {
    let failures = 0
    while (!signal.aborted) {
      try {
        if (!(await readOnce(signal))) return
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (!isPassing(error)) {
          onLink('gone', null)
          return
        }
        onLink('waiting', null)
        await wait(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]!)
      }
    }
  }

  const send = async (): Promise<void> => {
    if (isSending) return
    isSending = true
    while (pending) {
      const data = takeInput(pending)
      pending = pending.slice(data.length)
      sent += 1
      for (let failures = 0; ; failures++) {
        try {
          await api('POST /api/terminal/input', { ...one, n: sent, data })
          break
        } catch (error) {
          if (!isPassing(error)) {
            // It has ended: what was typed has no receiver.
            pending = ''
            break
          }
          // The same number again: written once, whether or not the lost request arrived.
          await wait(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]!)
        }
      }
    }
    isSending = false
  }

  return {
    /** False while old output is shown again: programs that asked the terminal something in it need no second answer. */
    isCaughtUp: () => isCaughtUp,
    start(): void {
      if (!isStopped) return
      isStopped = false
      reading = new AbortController()
      void read(reading.signal)
    },
    stop(): void {
      isStopped = true
      reading?.abort()
    },
    type(data: string): void {
      pending += data
      void send()
    },
  }
}
