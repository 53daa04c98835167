/**
 * A program on a pseudo-terminal, by script(1) of util-linux or BSD: Node cannot open one, and an addon that can is
 * native code for each platform.
 */
import { sentence, type Words } from '../../base/sentences.ts'
import { shellQuote } from '../../base/shell-quote.ts'
import { StringDecoder } from 'node:string_decoder'
import { pids, readProc } from '../../commands/own-processes/own-processes.ts'
import { findProgram } from '../../base/find-program.ts'
import {
  type Exit,
  killGroup,
  run,
  signalProcess,
  spawnGroup,
  waitForClose,
} from '../../base/process.ts'
import { unavailable } from '../../errors.ts'
import type { TerminalSize } from '../../schema/terminal.ts'

const START_TIMEOUT_MS = 5_000
const RESIZE_TIMEOUT_MS = 2_000
/** Between the hangup and SIGKILL, and the longest wait for the kernel after that. */
const KILL_AFTER_MS = 500

export type PseudoTerminalOptions = {
  /** Program and arguments. */
  command: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  size: TerminalSize
  onOutput: (text: string) => void
}

/**
 * Sets up the terminal, prints the process id and the terminal's name, and becomes the program. `sane` turns on the echo,
 * which script turns off when its own input is a pipe.
 */
const bootstrap = ({ command, env }: PseudoTerminalOptions, { cols, rows }: TerminalSize): string =>
  [
    `stty sane rows ${rows} cols ${cols}`,
    `printf '%s %s\\n' "$$" "$(tty)"`,
    // script runs this text with $SHELL, so that was /bin/sh until now.
    `SHELL=${shellQuote(env.SHELL ?? '/bin/sh')}`,
    `exec ${command.map(shellQuote).join(' ')}`,
  ].join('; ')

/**
 * Starts script so that the kernel ends it, and with it the terminal, when this process is killed: a program in the
 * foreground would run on. Without a setpriv that can do this (busybox, macOS), script is started alone.
 */
const START = `setpriv --pdeathsig KILL true 2>/dev/null && exec setpriv --pdeathsig KILL script "$@"
exec script "$@"`

const FIRST_LINE = /^(\d+) (\/dev\/\S+)\r*\n/

/** Why no terminal can be opened on this computer; null when one can. */
export const terminalProblem = (path: string | undefined): Words | null => {
  if (process.platform === 'win32')
    return 'The terminal is not available on Windows. Run the server in WSL to use it.'
  const has = (name: string) => findProgram(path ?? '', name) !== undefined
  if (!has('script')) return sentence('terminal.no_script')
  return has('stty') ? null : sentence('terminal.no_stty')
}

/** Processes of a session (setsid(2)), by field 6 of /proc/<pid>/stat (proc_pid_stat(5)). Empty where there is no /proc. */
const processesOf = (sessionId: number): number[] =>
  pids().filter(pid => {
    const stat = readProc(`${pid}/stat`) ?? ''
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended.
    return fields[0] !== 'Z' && Number(fields[3]) === sessionId
  })

/** The name of a process (proc_pid_comm(5)); nothing when it has ended. */
const processName = (pid: number): string[] => {
  const name = readProc(`${pid}/comm`)
  return name === undefined ? [] : [Buffer.from(name, 'latin1').toString().trim()]
}

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

const untilEmpty = async (sessionId: number): Promise<void> => {
  const deadline = performance.now() + KILL_AFTER_MS
  while (processesOf(sessionId).length > 0 && performance.now() < deadline) await pause(10)
}

type Started = {
  child: ReturnType<typeof spawnGroup<'pipe', 'pipe', 'pipe'>>
  closed: Promise<Exit>
}

/** Its process id and the name of the terminal, by the first line that it prints; the rest goes to `onOutput`. */
const firstLine = (
  { child, closed }: Started,
  decoder: StringDecoder,
  onOutput: (text: string) => void,
): Promise<{ pid: number; device: string }> => {
  const complaints: string[] = []
  child.stderr.on('data', (bytes: Buffer) => complaints.push(bytes.toString().slice(0, 500)))
  return new Promise((resolve, reject) => {
    let head = ''
    const fail = (reason: Words) => {
      clearTimeout(timer)
      killGroup(child, 'SIGKILL')
      reject(
        unavailable(`The terminal could not be opened: ${reason}`, {
          code: 'terminal_failed',
          values: { reason },
        }),
      )
    }
    const timer = setTimeout(fail, START_TIMEOUT_MS, sentence('terminal.no_start'))
    const onHead = (bytes: Buffer) => {
      head += decoder.write(bytes)
      const match = FIRST_LINE.exec(head)
      if (!match) return
      clearTimeout(timer)
      child.stdout.off('data', onHead)
      child.stdout.on('data', (more: Buffer) => onOutput(decoder.write(more)))
      const rest = head.slice(match[0].length)
      if (rest) onOutput(rest)
      resolve({ pid: Number(match[1]), device: match[2]! })
    }
    child.stdout.on('data', onHead)
    closed.then(
      () => fail((head + complaints.join('')).trim().slice(0, 300) || 'script ended at once'),
      (error: Error) => fail(error.message),
    )
  })
}

export class PseudoTerminal {
  /** Its exit code; 128 plus the number of the signal that ended it. */
  readonly ended: Promise<number>
  readonly #child: Started['child']
  readonly #env: Readonly<Record<string, string>>
  readonly #pid: number
  readonly #device: string
  #isRunning = true
  /** One after the other: the last size wins. */
  #resizing: Promise<unknown> = Promise.resolve()

  /** Rejects when no terminal can be had. `onOutput` is called with whole characters. */
  static async open(options: PseudoTerminalOptions): Promise<PseudoTerminal> {
    const { cwd, env, size, onOutput } = options
    const text = bootstrap(options, size)
    const args =
      process.platform === 'linux'
        ? ['-q', '-e', '-f', '-c', text, '/dev/null']
        : ['-q', '/dev/null', '/bin/sh', '-c', text]
    const child = spawnGroup('/bin/sh', ['-c', START, 'sh', ...args], {
      cwd,
      env: { ...env, SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // EPIPE after the end: the exit code reports it.
    child.stdin.on('error', () => undefined)
    const started = { child, closed: waitForClose(child) }
    const decoder = new StringDecoder('utf8')
    const place = await firstLine(started, decoder, onOutput)
    return new PseudoTerminal(started, place, env, () => {
      const rest = decoder.end()
      if (rest) onOutput(rest)
    })
  }

  private constructor(
    { child, closed }: Started,
    { pid, device }: { pid: number; device: string },
    env: Readonly<Record<string, string>>,
    onEnd: () => void,
  ) {
    this.#child = child
    this.#env = env
    this.#pid = pid
    this.#device = device
    this.ended = closed.then(({ code, signal }) => {
      this.#isRunning = false
      onEnd()
      return code ?? (signal === 'SIGKILL' ? 137 : 129)
    })
  }

  write(text: string): void {
    this.#child.stdin.write(text)
  }

  /** Bytes that the program has not read yet. */
  unreadBytes(): number {
    return this.#child.stdin.writableLength
  }

  /** Names of what runs in it besides the program itself; null where that cannot be known (no /proc). */
  programs(): string[] | null {
    if (process.platform !== 'linux') return null
    const others = processesOf(this.#pid).filter(pid => pid !== this.#pid)
    return others.flatMap(processName)
  }

  /** The program waits when its output is not read. */
  setPaused(isPaused: boolean): void {
    if (isPaused) this.#child.stdout.pause()
    else this.#child.stdout.resume()
  }

  resize(size: TerminalSize): Promise<void> {
    const work = this.#resizing.then(() => this.#setSize(size))
    this.#resizing = work.catch(() => undefined)
    return work
  }

  async #setSize({ cols, rows }: TerminalSize): Promise<void> {
    // Another program may have this terminal by now.
    if (!this.#isRunning) return
    const file = process.platform === 'linux' ? '-F' : '-f'
    const args = [file, this.#device, 'rows', `${rows}`, 'cols', `${cols}`]
    const { code, stderr } = await run('stty', args, {
      cwd: '/',
      env: this.#env,
      timeoutMs: RESIZE_TIMEOUT_MS,
    })
    if (code !== 0 && this.#isRunning)
      throw unavailable(`The terminal could not be resized: ${stderr.trim()}`, {
        code: 'terminal_failed',
        values: { reason: stderr.trim() },
      })
  }

  /** Ends the program and everything it started in this terminal. */
  async kill(): Promise<void> {
    if (!this.#isRunning) return
    this.#child.stdout.resume()
    for (const pid of processesOf(this.#pid)) signalProcess(pid, 'SIGHUP')
    await untilEmpty(this.#pid)
    for (const pid of processesOf(this.#pid)) signalProcess(pid, 'SIGKILL')
    // Without /proc the kernel hangs up the terminal now that its other end is closed.
    killGroup(this.#child, 'SIGKILL')
    await Promise.all([this.ended, untilEmpty(this.#pid)])
  }
}
