/** Tool: runs a shell command in the workspace, watched, bounded and stoppable as a whole. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { z } from 'zod'
import { assess, forbiddenIn } from '../danger.ts'
import type { Tool, ToolContext, ToolResult } from '../types.ts'
import { createOutput } from './output.ts'
import { toPlace } from './places.ts'

const MAX_TIMEOUT_S = 3_600
/** Between the polite and the final signal. */
const KILL_AFTER_MS = 250
/** How long pipes may stay open after the shell has ended, held by what it left in the background. */
const LINGER_MS = 100
/** A command that prints without end is slowed down to this, so that others are served. */
const BYTES_PER_SLICE = 1024 * 1024
const SLICE_MS = 50

const input = z.object({
  command: z.string().trim().min(1),
  timeout: z
    .number()
    .min(1)
    .default(180)
    .transform(seconds => Math.min(seconds, MAX_TIMEOUT_S))
    .describe('Seconds after which the command is stopped.'),
  workdir: z.string().optional().describe('Directory to run in; the workspace by default.'),
})

export const terminal: Tool<typeof input> = {
  name: 'terminal',
  summary:
    'Run a shell command (bash) in the workspace. Answers output (stdout and stderr together) and exit_code. There is no input: use flags that ask nothing. Start servers in the background with output redirected: cmd > log 2>&1 &. Prefer read_file, search_files and patch for files.',
  input,
  kind: 'execute',
  preview: ({ command }) => command,
  async run(ctx, { command, timeout, workdir }) {
    const cwd = workdir === undefined ? ctx.workspace : toPlace(ctx, workdir)
    if (!existsSync(cwd) || !statSync(cwd).isDirectory())
      throw new Error(`The directory ${cwd} does not exist.`)
    const here = { home: ctx.env.HOME ?? '', cwd }
    const { hardline, labels } = assess(command, here)
    if (hardline !== undefined)
      return blocked(
        `Refused, and no approval can allow it: ${hardline}.`,
        'The command was not run.',
      )
    const kept = forbiddenIn(command, here, ctx.forbidden)
    if (kept !== undefined)
      return blocked(
        `Access to ${kept} is denied: it may hold secrets or the state of this service.`,
        'The command was not run.',
      )
    if (labels.length > 0) {
      const choice = await ctx.approve({
        command,
        patternKeys: labels,
        description: labels.join('; '),
        cwd,
      })
      if (choice === 'deny')
        return blocked(
          `The user denied this command (${labels.join('; ')}).`,
          'Do not try the same by another way.',
        )
    }
    return runCommand(ctx, command, cwd, timeout * 1_000)
  },
}

const blocked = (error: string, hint: string): ToolResult => ({
  content: JSON.stringify({ status: 'blocked', output: '', exit_code: -1, error, hint }),
  isError: true,
})

/** Standard error goes where standard output goes, so that both keep their order. */
const TOGETHER = 'exec "$0" -c "$1" 2>&1'

const shellOf = (env: Readonly<Record<string, string>>): string =>
  (env.PATH ?? '/usr/bin:/bin').split(delimiter).some(dir => existsSync(join(dir, 'bash')))
    ? 'bash'
    : 'sh'

const runCommand = (
  ctx: ToolContext,
  command: string,
  cwd: string,
  timeoutMs: number,
): Promise<ToolResult> =>
  new Promise((resolve, reject) => {
    ctx.signal.throwIfAborted()
    const shell = shellOf(ctx.env)
    // A process group of its own: what it starts can be stopped with it.
    const child = spawn(shell, ['-c', TOGETHER, shell, command], {
      cwd,
      env: ctx.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const output = createOutput(ctx.output)
    let ended: 'timeout' | 'stopped' | null = null
    let final: NodeJS.Timeout | undefined

    const stop = (why: 'timeout' | 'stopped') => {
      if (ended) return
      ended = why
      killGroup(child, 'SIGTERM')
      final = setTimeout(() => killGroup(child, 'SIGKILL'), KILL_AFTER_MS)
    }
    const cancel = () => stop('stopped')
    const clock = setTimeout(() => stop('timeout'), timeoutMs)
    ctx.signal.addEventListener('abort', cancel, { once: true })
    const release = () => {
      clearTimeout(clock)
      clearTimeout(final)
      ctx.signal.removeEventListener('abort', cancel)
    }

    readSlowly(child, output.write)
    child.once('error', error => {
      release()
      output.end()
      reject(error)
    })
    child.once('exit', (code, signal) => {
      // The shell may be gone while its children ignore the polite signal.
      if (ended) killGroup(child, 'SIGKILL')
      const close = setTimeout(() => child.stdout?.destroy(), LINGER_MS)
      child.once('close', () => {
        clearTimeout(close)
        release()
        output.end()
        resolve(toResult(output.text(), code, signal, ended, timeoutMs))
      })
    })
  })

const readSlowly = (child: ChildProcess, write: (bytes: Buffer) => void): void => {
  const { stdout } = child
  let slice = 0
  stdout?.on('data', (bytes: Buffer) => {
    write(bytes)
    slice += bytes.length
    if (slice < BYTES_PER_SLICE) return
    slice = 0
    stdout.pause()
    setTimeout(() => stdout.resume(), SLICE_MS)
  })
}

const killGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The whole group has ended already.
  }
}

const toResult = (
  output: string,
  code: number | null,
  signal: NodeJS.Signals | null,
  ended: 'timeout' | 'stopped' | null,
  timeoutMs: number,
): ToolResult => {
  const error =
    ended === 'timeout'
      ? `Stopped after ${timeoutMs / 1_000} seconds.`
      : ended === 'stopped'
        ? 'Stopped by the user.'
        : signal
          ? `Ended by ${signal}.`
          : null
  const exit = ended === 'timeout' ? 124 : (code ?? 130)
  return { content: JSON.stringify({ output, exit_code: exit, error }), isError: exit !== 0 }
}
