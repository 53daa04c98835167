/** An external agent's process: spawned with exactly the given environment, killed as a process group, its stderr logged. */
import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { crashReason } from './crash-reason.ts'
import { systemClock, waitAtMost } from '../../base/clock.ts'
import { killGroup, spawnGroup, terminateGroup } from '../../base/process.ts'

const TAIL_CHARS = 8_000
const LINE_CHARS = 500
const NOTICE_MS = 500
const LAST_OUTPUT_MS = 200

export class AgentProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** How it ended, as a predicate that follows its name. Never rejects. */
  readonly ended: Promise<string>
  readonly #child: ChildProcess
  readonly #graceMs: number
  #isStopping = false

  /** `graceMs`: between SIGTERM and SIGKILL. `onStderrLine` is called for each line of its stderr. */
  constructor(
    command: readonly string[],
    cwd: string,
    env: Readonly<Record<string, string>>,
    graceMs: number,
    onStderrLine: (line: string) => void,
  ) {
    const [file = '', ...args] = command
    const child = spawnGroup(file, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    let tail = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      const plain = stripVTControlCharacters(text)
      const lines = plain.split('\n').filter(line => line.trim() !== '')
      for (const line of lines.slice(-50)) onStderrLine(line.slice(0, LINE_CHARS))
      tail = (tail + plain).slice(-TAIL_CHARS)
    })
    // A broken pipe is reported as the end of the process.
    child.stdin.on('error', () => undefined)
    child.stdout.on('error', () => undefined)
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.#child = child
    this.#graceMs = graceMs
    this.ended = new Promise(resolve => {
      child.once('error', error =>
        resolve(
          (error as NodeJS.ErrnoException).code === 'ENOENT'
            ? `could not be started: ${file} was not found`
            : `could not be started: ${error.message}`,
        ),
      )
      child.once('exit', (code, signal) => {
        killGroup(child, 'SIGKILL')
        const say = () => {
          clearTimeout(timer)
          // What it printed before a signal is not why it was sent.
          if (signal) return resolve(`was ended by ${signal}`)
          const reason = crashReason(tail).replace(/[\s.]+$/, '')
          resolve(`ended with code ${code}${reason === '' ? '' : `: ${reason}`}`)
        }
        // All that it printed, unless a program that has left its group keeps the pipe open.
        const timer = setTimeout(say, LAST_OUTPUT_MS)
        child.once('close', say)
      })
    })
  }

  /** How it ended, if it ends within NOTICE_MS: a broken pipe is noticed before the exit that caused it. */
  async exitReason(): Promise<string | null> {
    return (await waitAtMost(systemClock, NOTICE_MS, this.ended)) ?? null
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Sends SIGTERM, then SIGKILL after the grace period. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.stdin.end()
    const cancelKill = terminateGroup(this.#child, this.#graceMs)
    await this.ended
    cancelKill()
  }
}
