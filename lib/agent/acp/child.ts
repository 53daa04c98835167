/** One agent's process: started with exactly the environment it is given, its complaints kept, stopped as a whole. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'

export type ChildOptions = {
  command: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** How long it may take to end when it is asked to. */
  graceMs: number
  /** One line of its standard error. */
  onComplaint: (line: string) => void
}

const TAIL_CHARS = 8_000
const LINE_CHARS = 500
const NOTICE_MS = 250

export type Child = ReturnType<typeof startChild>

export const startChild = ({ command, cwd, env, graceMs, onComplaint }: ChildOptions) => {
  const [file = '', ...args] = command
  // A process group of its own: what it starts is stopped with it, and a Ctrl-C meant for us does not reach it.
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const { stdin, stdout } = child as ChildProcess & { stdin: Writable; stdout: Readable }
  let tail = ''
  let isStopping = false

  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    const plain = stripVTControlCharacters(text)
    const lines = plain.split('\n').filter(line => line.trim() !== '')
    for (const line of lines.slice(-50)) onComplaint(line.slice(0, LINE_CHARS))
    tail = (tail + plain).slice(-TAIL_CHARS)
  })
  // A broken pipe is told of by the end of the process.
  stdin.on('error', () => undefined)
  stdout.on('error', () => undefined)

  /** How it ended, in words that follow its name. Never rejects. */
  const ended = new Promise<string>(resolve => {
    child.once('error', error =>
      resolve(
        (error as NodeJS.ErrnoException).code === 'ENOENT'
          ? `could not be started: ${file} was not found`
          : `could not be started: ${error.message}`,
      ),
    )
    child.once('exit', (code, signal) => {
      signalGroup(child, 'SIGKILL')
      const last = tail.trim().split('\n').at(-1)?.trim().slice(0, 200)
      const how = signal ? `was ended by ${signal}` : `ended with code ${code}`
      resolve(last ? `${how}: ${last}` : how)
    })
  })

  return {
    stdin,
    stdout,
    ended,
    /** How it ended, where it just did: a broken pipe is noticed before the end that broke it. */
    async lastWords(): Promise<string | null> {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<null>(resolve => {
        timer = setTimeout(() => resolve(null), NOTICE_MS)
      })
      const words = await Promise.race([ended, late])
      clearTimeout(timer)
      return words
    },
    isStopping: () => isStopping,
    /** Politely first; whatever is left of it after the grace is killed. */
    async stop(): Promise<void> {
      isStopping = true
      stdin.end()
      signalGroup(child, 'SIGTERM')
      const final = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs)
      await ended
      clearTimeout(final)
    },
  }
}

const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The whole group has ended already.
  }
}
