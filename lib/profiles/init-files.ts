/**
 * The environment that shell init files set (`terminal.shell_init_files`, `terminal.auto_source_bashrc`). They are sourced
 * once, and again when one of them changes; commands get the variables. Aliases and functions are not kept.
 */
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { type Clock, toSeconds } from '../base/clock.ts'
import { run, type RunResult } from '../base/process.ts'
import { messageOf } from '../errors.ts'

type Variables = Readonly<Record<string, string>>

/** Null: the files unset it. */
export type VariableChanges = Readonly<Record<string, string | null>>

export type InitFileSettings = {
  shell_init_files: readonly string[]
  auto_source_bashrc: boolean
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1024 * 1024
/** Time after which a failure is tried again although no file has changed: the system may have been busy. */
const RETRY_AFTER_MS = 10 * 60_000

/** In this order, because the first two have no test for an interactive shell. */
const USUAL = ['~/.profile', '~/.bash_profile', '~/.bashrc']

/**
 * Never taken from init files: who the user is, what a shell sets for itself, and what this service and the host agent
 * set for their children. Names of secrets are removed later, as from every environment.
 */
const KEPT =
  /^(?:_|SHLVL|PWD|OLDPWD|HOME|USER|LOGNAME|PS[0-4]|PROMPT_COMMAND|BASH_ENV|ENV|TERMINAL_CWD|(?:AGENT|HERMES)_\w*)$/

/** Absolute paths of the configured files, existing or not. `~` is the user's home directory. */
export const initFilePaths = (
  { shell_init_files: files, auto_source_bashrc: isAuto }: InitFileSettings,
  home: string | undefined,
): string[] => {
  const root = home || homedir()
  return (files.length > 0 ? files : isAuto ? USUAL : []).map(file =>
    resolve(root, file.replace(/^~(?=\/|$)/, root)),
  )
}

/** Null: no such file. */
const stampOf = (path: string): string | null => {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${ino}:${size}:${mtimeMs}`
  } catch {
    // Missing or not accessible: skipped, as a login shell does. `doctor` reports it.
    return null
  }
}

/**
 * Writes, NUL-terminated, the name of each file before it is sourced, then an empty name and the environment. A file may
 * end the shell, change its options, or print: its output is dropped.
 */
const SCRIPT = `exec 3>&1 1>/dev/null
for __init_file in "$@"; do
  printf '%s\\0' "$__init_file" >&3
  . "$__init_file" 3>&-
  set +eu
done
printf '\\0' >&3
command -p env -0 >&3`

type Sourced = { changes: VariableChanges; problem: string | null }

const NOTHING: Sourced = { changes: {}, problem: null }

const toVariables = (lines: readonly string[]): Map<string, string> =>
  new Map(
    lines.flatMap((line): [string, string][] => {
      const at = line.indexOf('=')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : []
    }),
  )

const difference = (before: Variables, after: ReadonlyMap<string, string>): VariableChanges => {
  const isOurs = (name: string) => /^[A-Za-z_]\w*$/.test(name) && !KEPT.test(name)
  const set = [...after].filter(([name, value]) => isOurs(name) && before[name] !== value)
  const unset = Object.keys(before).filter(name => isOurs(name) && !after.has(name))
  return Object.fromEntries([...set, ...unset.map(name => [name, null] as const)])
}

const failure = (reason: string): Sourced => ({
  changes: {},
  problem: `The shell init files were not applied: ${reason}. Fix or remove the file in terminal.shell_init_files.`,
})

const toSourced = ({ code, stdout, stderr, stopped }: RunResult, env: Variables): Sourced => {
  // The text after the last NUL is incomplete.
  const parts = stdout.toString('utf8').split('\0').slice(0, -1)
  const end = parts.indexOf('')
  const current = parts.at(end < 0 ? -1 : end - 1) ?? 'bash'
  if (stopped === 'timeout') return failure(`${current} takes more than ${toSeconds(TIMEOUT_MS)} s`)
  if (stopped === 'limit') return failure('the environment is too large')
  if (end < 0) return failure(`${current} ends the shell (exit code ${code ?? 'unknown'})`)
  const after = toVariables(parts.slice(end + 1))
  if (code !== 0 || after.size === 0) return failure(`env failed: ${stderr.slice(0, 200).trim()}`)
  const error = stderr.split('\n').find(line => /: line \d+: .*syntax error/.test(line))
  const problem = error === undefined ? null : `Part of a shell init file was skipped: ${error}`
  return { changes: difference(env, after), problem }
}

const source = async (files: readonly string[], env: Variables): Promise<Sourced> => {
  if (files.length === 0) return NOTHING
  const args = ['--noprofile', '--norc', '-c', SCRIPT, 'bash', ...files]
  const options = { env, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, killsChildren: true }
  try {
    return toSourced(await run('bash', args, { cwd: env.HOME || '/', ...options }), env)
  } catch (error) {
    return failure(messageOf(error))
  }
}

/** Sources init files for one home and remembers what they changed. */
export class InitFiles {
  readonly #clock: Clock
  #last: { key: string; at: number; result: Promise<Sourced> } | undefined
  #changes: VariableChanges = {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Of the last `refresh`. */
  changes(): VariableChanges {
    return this.#changes
  }

  /** Sources the files if they, or `env`, have changed. Resolves to what is wrong with them, or null. */
  async refresh(files: readonly string[], env: Variables): Promise<string | null> {
    const stamped = files.flatMap(path => {
      const stamp = stampOf(path)
      return stamp === null ? [] : [{ path, stamp }]
    })
    const key = JSON.stringify([stamped, env])
    const now = this.#clock.monotonic()
    if (
      this.#last?.key !== key ||
      ((await this.#last.result).problem !== null && now - this.#last.at > RETRY_AFTER_MS)
    )
      this.#last = {
        key,
        at: now,
        result: source(
          stamped.map(({ path }) => path),
          env,
        ),
      }
    const { result } = this.#last
    const sourced = await result
    if (this.#last.result === result) ({ changes: this.#changes } = sourced)
    return sourced.problem
  }
}
