/** An external agent's process: spawned with exactly the given environment, killed as a process group, its stderr logged. */
import { stripVTControlCharacters } from 'node:util'
import { crashReason } from './crash-reason.ts'
import { killGroup, spawnGroup, terminateGroup } from '../../base/process.ts'

export type AgentProcessOptions = {
  command: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Time between SIGTERM and SIGKILL, in milliseconds. */
  graceMs: number
  /** Called for each line of its stderr. */
  onStderrLine: (line: string) => void
}

const TAIL_CHARS = 8_000
const LINE_CHARS = 500
const NOTICE_MS = 500
const LAST_OUTPUT_MS = 200

export type AgentProcess = ReturnType<typeof spawnAgent>

export const spawnAgent = ({ command, cwd, env, graceMs, onStderrLine }: AgentProcessOptions) => {
  const [file = '', ...args] = command
  const child = spawnGroup(file, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const { stdin, stdout } = child
  let tail = ''
  let isStopping = false

  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const plain = stripVTControlCharacters(text)
    const lines = plain.split('\n').filter(line => line.trim() !== '')
    for (const line of lines.slice(-50)) onStderrLine(line.slice(0, LINE_CHARS))
    tail = (tail + plain).slice(-TAIL_CHARS)
  })
  // A broken pipe is reported as the end of the process.
  stdin.on('error', () => undefined)
  stdout.on('error', () => undefined)

  /** How it ended, as a predicate that follows its name. Never rejects. */
  const ended = new Promise<string>(resolve => {
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

  return {
    stdin,
    stdout,
    ended,
    /** How it ended, if it ends within NOTICE_MS: a broken pipe is noticed before the exit that caused it. */
    async exitReason(): Promise<string | null> {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<null>(resolve => {
        timer = setTimeout(() => resolve(null), NOTICE_MS)
      })
      const words = await Promise.race([ended, late])
      clearTimeout(timer)
      return words
    },
    isStopping: () => isStopping,
    /** Sends SIGTERM, then SIGKILL after the grace period. */
    async stop(): Promise<void> {
      isStopping = true
      stdin.end()
      const cancelKill = terminateGroup(child, graceMs)
      await ended
      cancelKill()
    },
  }
}
