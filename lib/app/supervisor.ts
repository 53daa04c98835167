/**
 * Reports to systemd (sd_notify(3)): started, reloaded, stopping, and that the event loop runs. Node has no datagram sockets in
 * the file system, so systemd-notify(1) sends each report; it is part of systemd, and it waits until the report has arrived.
 */
import { oneLine, shorten } from '../base/shorten.ts'
import { run } from '../base/process.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../errors.ts'

const SEND_MS = 5_000
const MAX_STATUS_CHARS = 1_000

/** Milliseconds between two signs of life, half of what the unit allows; null without a watchdog for this process. */
const watchdogMs = (env: Readonly<Record<string, string>>): number | null => {
  const us = Number(env.WATCHDOG_USEC)
  const isOurs = env.WATCHDOG_PID === undefined || env.WATCHDOG_PID === String(process.pid)
  return isOurs && us > 0 ? us / 2_000 : null
}

/** Does nothing where NOTIFY_SOCKET is not set. A report that cannot be sent is logged once, and nothing else fails. */
export class Supervisor {
  readonly #env
  readonly #warn: (text: string) => void
  readonly #NOTIFY_SOCKET
  readonly #PATH
  #hasFailed = false
  readonly #send = async (...lines: string[]): Promise<void> => {
    if (this.#NOTIFY_SOCKET === '') return
    try {
      const options = {
        cwd: '/',
        env: { NOTIFY_SOCKET: this.#NOTIFY_SOCKET, PATH: this.#PATH },
        timeoutMs: SEND_MS,
      }
      const { code, stderr, stopped } = await run('systemd-notify', lines, options)
      if (code === 0) return
      throw new Error(stopped ? 'it did not end' : stderr.trim())
    } catch (error) {
      if (!this.#hasFailed)
        this.#warn(`systemd-notify cannot report to systemd: ${messageOf(error)}`)
      this.#hasFailed = true
    }
  }
  #beats: NodeJS.Timeout | undefined

  constructor(env: Config['env'], warn: (text: string) => void) {
    this.#env = env
    this.#warn = warn
    const { NOTIFY_SOCKET = '', PATH = '' } = env
    this.#NOTIFY_SOCKET = NOTIFY_SOCKET
    this.#PATH = PATH
  }

  /** The service answers. Begins the watchdog where the unit has one. */
  ready(status: string): Promise<void> {
    const everyMs = watchdogMs(this.#env)
    // A timer, so that a blocked event loop sends nothing.
    if (everyMs !== null) this.#beats ??= setInterval(this.#send, everyMs, 'WATCHDOG=1')
    return this.#send('READY=1', `STATUS=${shorten(oneLine(status), MAX_STATUS_CHARS)}`)
  }

  /** One line for `systemctl status`. */
  status(text: string): Promise<void> {
    return this.#send(`STATUS=${shorten(oneLine(text), MAX_STATUS_CHARS)}`)
  }

  stopping(): Promise<void> {
    clearInterval(this.#beats)
    return this.#send('STOPPING=1', 'STATUS=Shutting down')
  }
}

const LOOK_MS = 500

/**
 * The end of npm ends the service that `npm start` became: npm signals its shell, which exits without forwarding the signal.
 * `AGENT_WEBUI_PARENT` is the process that setup.mjs was started by. After an update the service is another program in the same
 * process, with the same parent; started by anyone else, it has another one and nothing is watched.
 */
export const watchParent = (
  { AGENT_WEBUI_PARENT: parent }: Readonly<Record<string, string>>,
  stop: () => void,
): NodeJS.Timeout | undefined =>
  parent === String(process.ppid)
    ? setInterval(() => parent === String(process.ppid) || stop(), LOOK_MS).unref()
    : undefined
