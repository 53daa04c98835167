/** Runs git in a workspace to look, never to act: nothing that the repository's configuration names is executed. */
import { spawn } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { messageOf, unavailable } from '../errors.ts'

/** spec.md, Limits. */
const TIMEOUT_MS = 3_000

export type GitPlaces = {
  /** The search path and the home that git is started with. */
  path: string | undefined
  userHome: string
  xdgConfigHome?: string | undefined
  timeoutMs?: number
}

export type GitOutput = { text: string; code: number; isCut: boolean }
export type Git = (args: readonly string[], options?: { mostBytes?: number }) => Promise<GitOutput>

/** A relative entry would be read from the workspace: whoever put a `git` there would have it run. */
const safePath = (path = '/usr/local/bin:/usr/bin:/bin'): string =>
  path
    .split(delimiter)
    .filter(entry => isAbsolute(entry))
    .join(delimiter)

/** Configuration as git takes it from the environment; keys may hold any character. */
const configEnv = (pairs: readonly (readonly [key: string, value: string])[]) =>
  Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(pairs.length)],
    ...pairs.flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ]),
  ])

/** Programs that looking would start. */
const QUIET: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.quotePath', 'false'],
  ['core.untrackedCache', 'false'],
  ['diff.ignoreSubmodules', 'dirty'],
  ['status.submoduleSummary', 'false'],
]

/** Keys of the repository that name further programs: filters run even for a status. */
const toSilence = (names: string): (readonly [string, string])[] =>
  names
    .split('\0')
    .filter(name =>
      /^(?:filter\..*\.(?:clean|smudge|process|required)|diff\..*\.(?:command|textconv))$/s.test(
        name,
      ),
    )
    .map(name => [name, name.endsWith('.required') ? 'false' : ''] as const)

const environment = (root: string, { path, userHome, xdgConfigHome }: GitPlaces) => ({
  PATH: safePath(path),
  HOME: userHome,
  ...(xdgConfigHome ? { XDG_CONFIG_HOME: xdgConfigHome } : {}),
  LC_ALL: 'C.UTF-8',
  // The work tree is the workspace, whatever `core.worktree` says; no repository further up is meant.
  GIT_WORK_TREE: root,
  GIT_CEILING_DIRECTORIES: dirname(root),
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  // Missing objects are not fetched, by any protocol.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_PAGER: 'cat',
})

type Run = {
  root: string
  env: Record<string, string>
  args: readonly string[]
  mostBytes: number
  timeoutMs?: number | undefined
}

const run = ({ root, env, args, mostBytes, timeoutMs = TIMEOUT_MS }: Run): Promise<GitOutput> =>
  new Promise((resolve, reject) => {
    const child = spawn('git', ['--no-pager', ...args], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      windowsHide: true,
    })
    const chunks: Buffer[] = []
    const state = { size: 0, isCut: false, isLate: false }
    const timer = setTimeout(() => {
      state.isLate = true
      child.kill('SIGKILL')
      // A grandchild may hold the pipe open.
      child.stdout.destroy()
    }, timeoutMs)
    child.stdout.on('data', (chunk: Buffer) => {
      if (state.isCut) return
      chunks.push(chunk.subarray(0, mostBytes - state.size))
      state.size += chunk.length
      if (state.size <= mostBytes) return
      state.isCut = true
      child.kill('SIGKILL')
    })
    child.on('error', error => {
      clearTimeout(timer)
      reject(
        unavailable(`git could not be started: ${'code' in error ? error.code : messageOf(error)}`),
      )
    })
    child.on('close', code => {
      clearTimeout(timer)
      if (state.isLate) reject(unavailable('git did not answer within 3 seconds'))
      else resolve({ text: Buffer.concat(chunks).toString(), code: code ?? 1, isCut: state.isCut })
    })
  })

/** A repository begins in the workspace itself; one further up is not shown. */
const hasRepository = (root: string): boolean =>
  lstatSync(join(root, '.git'), { throwIfNoEntry: false }) !== undefined

/** Undefined where there is no repository; what only looks like one fails at the first question. */
export const openGit = async (root: string, places: GitPlaces): Promise<Git | undefined> => {
  if (!hasRepository(root)) return undefined
  const { timeoutMs } = places
  const start = (env: Record<string, string>, args: readonly string[], mostBytes: number) =>
    run({ root, env: { ...environment(root, places), ...env }, args, mostBytes, timeoutMs })
  const listing = ['config', '--null', '--name-only', '--list']
  const names = await start(configEnv(QUIET), listing, 1024 * 1024)
  // Damaged, somebody else's, or more configuration than anybody writes: nothing is run in it.
  if (names.code !== 0) return undefined
  const silent = configEnv([...QUIET, ...toSilence(names.text)])
  return (args, { mostBytes = 8 * 1024 * 1024 } = {}) => start(silent, args, mostBytes)
}
