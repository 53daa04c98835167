/** Runs the script of a job, a file below `<home>/scripts` and nowhere else, and answers what it printed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { invalid } from '../errors.ts'
import { resolveInside } from '../store/path-within.ts'

export type ScriptResult = { output: string /** Null when it ended well. */; error: string | null }

const TIMEOUT_MS = 120_000
/** What a model is given of it: the beginning and the end. */
const MOST_CHARS = 30_000
const TAIL_CHARS = 2_000

const INTERPRETERS: Readonly<Record<string, readonly string[]>> = {
  '.py': ['python3'],
  '.sh': ['bash'],
  '.bash': ['bash'],
  '.js': [process.execPath],
  '.mjs': [process.execPath],
}

/** The real path of a script; a Refusal for what lies elsewhere or is no file. */
export const findScript = (home: string, name: string): string => {
  const root = join(home, 'scripts')
  const refusal = invalid(`The script must be a file in ${root}.`)
  if (!name.trim() || name.includes('\0')) throw refusal
  try {
    const path = resolveInside(root, name)
    if (statSync(path).isFile()) return path
  } catch {
    // Outside, absent or out of reach: one sentence for all of them.
  }
  throw refusal
}

const commandOf = (path: string): readonly string[] => {
  const interpreter = INTERPRETERS[extname(path).toLowerCase()]
  if (interpreter) return [...interpreter, path]
  try {
    accessSync(path, constants.X_OK)
  } catch {
    // A file without a known ending that nobody made executable.
    throw invalid('The script cannot be run: it is no .py, .sh or .js file and not executable.')
  }
  return [path]
}

const clip = (text: string): string =>
  text.length <= MOST_CHARS
    ? text
    : `${text.slice(0, MOST_CHARS - TAIL_CHARS)}\n[… cut …]\n${text.slice(-TAIL_CHARS)}`

const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** Collects text up to a bound, the end replacing what came in between. */
const collector = () => {
  let [head, tail] = ['', '']
  return {
    add(chunk: string): void {
      const room = MOST_CHARS - head.length
      head += chunk.slice(0, Math.max(0, room))
      tail = (tail + chunk.slice(Math.max(0, room))).slice(-TAIL_CHARS)
    },
    text: () => clip(tail ? `${head}\n[…]\n${tail}` : head),
  }
}

/** Never rejects but for a script that may not be run at all. */
export const runScript = (given: {
  home: string
  name: string
  env: Readonly<Record<string, string>>
  signal: AbortSignal
  timeoutMs?: number
}): Promise<ScriptResult> => {
  const path = findScript(given.home, given.name)
  const [command = '', ...args] = commandOf(path)
  const timeoutMs = given.timeoutMs ?? TIMEOUT_MS
  return new Promise(resolve => {
    // A group of its own: what it starts ends with it.
    const child = spawn(command, args, {
      cwd: join(given.home, 'scripts'),
      env: given.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [said, complained] = [collector(), collector()]
    child.stdout.setEncoding('utf8').on('data', said.add)
    child.stderr.setEncoding('utf8').on('data', complained.add)
    let why: string | null = null
    const stop = (reason: string) => {
      why ??= reason
      killGroup(child)
    }
    const timer = setTimeout(
      () => stop(`The script was stopped after ${timeoutMs / 1_000} s.`),
      timeoutMs,
    )
    const onAbort = () => stop('The service stopped while the script was running.')
    given.signal.addEventListener('abort', onAbort, { once: true })
    if (given.signal.aborted) onAbort()
    const end = (error: string | null) => {
      clearTimeout(timer)
      given.signal.removeEventListener('abort', onAbort)
      resolve({ output: said.text(), error })
    }
    child.once('error', error => end(`The script could not be started: ${error.message}`))
    child.once('exit', () => {
      // What it left running in the background must not hold the pipe open.
      killGroup(child)
    })
    child.once('close', (code, signal) => {
      const details = complained.text().trim().slice(-TAIL_CHARS)
      if (why) end(why)
      else if (code === 0) end(null)
      else
        end(
          `The script ended with ${signal ?? `exit code ${code}`}.${details ? `\n${details}` : ''}`,
        )
    })
  })
}
