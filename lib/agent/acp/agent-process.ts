/** One agent's process: started with exactly the environment it is given, its complaints kept, stopped as a whole. */
import { stripVTControlCharacters } from 'node:util'
import { killGroup, spawnGroup, terminateGroup } from '../../base/process.ts'

export type AgentProcessOptions = {
  command: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** How long it may take to end when it is asked to. */
  graceMs: number
  /** One line of its standard error. */
  onStderrLine: (line: string) => void
}

const TAIL_CHARS = 8_000
const LINE_CHARS = 500
const NOTICE_MS = 250

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
      killGroup(child, 'SIGKILL')
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
    /** Politely first; whatever is left of it after the grace is killed. */
    async stop(): Promise<void> {
      isStopping = true
      stdin.end()
      const cancelKill = terminateGroup(child, graceMs)
      await ended
      cancelKill()
    },
  }
}
