/** Runs the script of a job, a file in `<home>/scripts`, and returns its output. */
import { accessSync, constants, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { toSeconds } from '../base/clock.ts'
import type { CheckTarget, CommandRunner } from '../agent/tool-services.ts'
import { type Exit, killGroup, spawnGroup, waitForClose } from '../base/process.ts'
import { forbidden, invalid, messageOf } from '../errors.ts'
import { resolveInside } from '../store/path-within.ts'

export type ScriptResult = { output: string /** Null when it ended well. */; error: string | null }

const TIMEOUT_MS = 120_000
/** Longer output is truncated to its head and tail. */
const MAX_CHARS = 30_000
const TAIL_CHARS = 2_000

const INTERPRETERS: Readonly<Record<string, readonly string[]>> = {
  '.py': ['python3'],
  '.sh': ['bash'],
  '.bash': ['bash'],
  '.js': [process.execPath],
  '.mjs': [process.execPath],
}

/** The real path of a script. Throws UserError for a path outside `scripts` or that is not a file. */
export const findScript = (home: string, name: string): string => {
  const root = join(home, 'scripts')
  const refusal = invalid(`The script must be a file in ${root}.`, {
    code: 'script_place',
    values: { folder: root },
  })
  if (!name.trim() || name.includes('\0')) throw refusal
  try {
    const path = resolveInside(root, name)
    if (statSync(path).isFile()) return path
  } catch {
    // Outside, missing or unreadable: one error for all, so that it reveals nothing.
  }
  throw refusal
}

const commandOf = (path: string): readonly string[] => {
  const interpreter = INTERPRETERS[extname(path).toLowerCase()]
  if (interpreter) return [...interpreter, path]
  try {
    accessSync(path, constants.X_OK)
  } catch {
    // Unknown extension and not executable.
    throw invalid("Can't run this script: it isn't a .py, .sh or .js file and isn't executable.", {
      code: 'script_type',
    })
  }
  return [path]
}

const clip = (text: string): string =>
  text.length <= MAX_CHARS
    ? text
    : `${text.slice(0, MAX_CHARS - TAIL_CHARS)}\n[… cut …]\n${text.slice(-TAIL_CHARS)}`

/** Collects the head and the tail of a stream, bounded in size. */
const collector = () => {
  let [head, tail] = ['', '']
  return {
    add(chunk: string): void {
      const space = MAX_CHARS - head.length
      head += chunk.slice(0, Math.max(0, space))
      tail = (tail + chunk.slice(Math.max(0, space))).slice(-TAIL_CHARS)
    },
    text: () => clip(tail ? `${head}\n[…]\n${tail}` : head),
  }
}

const denyTarget: CheckTarget = async ({ host }) =>
  `${host} was not allowed: a script of a scheduled task cannot ask. sandbox.network in config.yaml can name it.`

/** Never rejects, except with the UserError for a script that may not or cannot run at all. */
export const runScript = async (options: {
  home: string
  name: string
  env: Readonly<Record<string, string>>
  signal: AbortSignal
  timeoutMs?: number
  runner?: CommandRunner
}): Promise<ScriptResult> => {
  const path = findScript(options.home, options.name)
  const [file = '', ...args] = commandOf(path)
  const { env, signal, timeoutMs = TIMEOUT_MS, runner } = options
  const cwd = join(options.home, 'scripts')
  const problem = (await runner?.problem()) ?? null
  if (problem !== null)
    throw forbidden(problem, { code: 'sandbox_unavailable', values: { reason: problem } })
  const program = { file, args }
  // No one is asked: the script has the network only where the configuration gives it to every command.
  const access = runner?.network === true ? 'network' : 'confined'
  const placed = runner
    ? await runner.place({ program, cwd, env, access, readable: [cwd], onTarget: denyTarget })
    : { ...program, cwd, env }
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawnGroup(placed.file, placed.args, { ...placed, stdio })
  const [output, errors] = [collector(), collector()]
  child.stdout.setEncoding('utf8').on('data', output.add)
  child.stderr.setEncoding('utf8').on('data', errors.add)
  let stopped: string | null = null
  const stop = (reason: string) => {
    stopped ??= reason
    killGroup(child, 'SIGKILL')
  }
  const timer = setTimeout(
    stop,
    timeoutMs,
    `The script was stopped after ${toSeconds(timeoutMs)} s.`,
  )
  const onAbort = () => stop('The server stopped while the script was running.')
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    // Background children would hold the pipes open.
    const exit = await waitForClose(child, () => killGroup(child, 'SIGKILL'))
    const failure = exit.code === 0 ? null : endOf(exit, errors.text())
    return { output: output.text(), error: stopped ?? failure }
  } catch (error) {
    return { output: output.text(), error: `The script could not be started: ${messageOf(error)}` }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

const endOf = ({ code, signal }: Exit, complaint: string): string => {
  const details = complaint.trim().slice(-TAIL_CHARS)
  return `The script ended with ${signal ?? `exit code ${code}`}.${details ? `\n${details}` : ''}`
}
