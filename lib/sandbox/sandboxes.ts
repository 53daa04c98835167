/** Sandboxes with bubblewrap: one runner for each turn, private directories for each session. */
import { join, relative } from 'node:path'
import type { CommandRunner } from '../agent/tool-services.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { type Availability, checkBubblewrap } from './availability.ts'
import { bubblewrapArguments, LOADER_VARIABLE } from './bubblewrap.ts'
import { type Place, planMounts, reachOf, workspaceProblem } from './mounts.ts'
import { createOwnDirectories } from './own-directories.ts'
import { DROPPED_VARIABLES } from './places.ts'
import { signalInside } from './signal-children.ts'

/** `env` is that of the turn: variables that a command sets for later ones must not show them more of this computer. */
export type SandboxScope = Omit<Place, 'ownHome' | 'ownTmp'> & {
  /** Whose private directories it uses: a session, or a scheduled task. */
  owner: string
  /** Commands that have network access: all, none, or patterns. */
  network: boolean | readonly string[]
}

const FAILURE_VALID_MS = 30_000

const NOTE = `Commands run in a sandbox: they can change the workspace and /tmp only, and see neither your home directory nor other processes. The Git directory can be changed only by a command that runs nothing but git.`
const WITHOUT_NETWORK =
  'There is no network, and each command has a localhost of its own: start a server and what connects to it in the same command.'
const ASK =
  'Where a command needs more, set access; the user is asked. Processes started with & end with the command.'

const noteOf = (network: SandboxScope['network']): string =>
  [NOTE, ...(network === true ? [] : [WITHOUT_NETWORK]), ASK].join(' ')

const withoutSockets = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !DROPPED_VARIABLES.test(name)))

const splitVariables = (
  env: Readonly<Record<string, string>>,
): [loader: Record<string, string>, ordinary: Record<string, string>] => {
  const isOfLoader = ([name]: [string, string]) => LOADER_VARIABLE.test(name)
  const all = Object.entries(env)
  return [
    Object.fromEntries(all.filter(isOfLoader)),
    Object.fromEntries(all.filter(entry => !isOfLoader(entry))),
  ]
}

export type Sandboxes = ReturnType<typeof createSandboxes>

export const createSandboxes = (env: Readonly<Record<string, string | undefined>>) => {
  const directories = createOwnDirectories()
  let checked: { at: number; result: Promise<Availability> } | null = null

  /** A success is valid for the life of the process, a failure for half a minute. */
  const availability = async (): Promise<Availability> => {
    const isStale = (at: number) => performance.now() - at > FAILURE_VALID_MS
    if (checked && (await checked.result).problem !== null && isStale(checked.at)) checked = null
    checked ??= { at: performance.now(), result: checkBubblewrap(env) }
    return checked.result
  }

  const runnerFor = (scope: SandboxScope): CommandRunner => {
    const own = () => directories.of(scope.owner, scope.env.HOME)
    const place = (): Place => {
      const { home: ownHome, tmp: ownTmp } = own()
      return { ...scope, ownHome, ownTmp }
    }
    const problem = async (): Promise<string | null> =>
      (await availability()).problem ?? workspaceProblem(scope)
    return {
      kind: 'bubblewrap',
      problem,
      note: noteOf(scope.network),
      offers: scope.network === true ? ['unconfined'] : ['network', 'unconfined'],
      network: scope.network,
      sharesFolders: scope.writable.length > 0,
      reach: path => reachOf(planMounts(place()), path),
      sharedDir: () => own().shared,
      hostPath: path =>
        isInside('/tmp', path) && !isInside(own().tmp, path) && !isVisibleInTmp(scope, path)
          ? join(own().tmp, relative('/tmp', path))
          : path,
      async place({ program, cwd, env: given, access, changesGit, readable = [] }) {
        const found = await availability()
        const why = found.problem ?? (await problem())
        if (found.problem !== null || why !== null) throw new Error(why ?? '')
        const variables = { ...withoutSockets(given), TMPDIR: '/tmp' }
        const mounts = planMounts(
          { ...place(), readable: [...scope.readable, ...readable] },
          { changesGit, program: program.file },
        )
        const { canDisableNamespaces } = found
        const hasNetwork = access === 'network'
        const [loaderVariables, ordinary] = splitVariables(variables)
        const options = {
          mounts,
          cwd: realPath(cwd),
          hasNetwork,
          canDisableNamespaces,
          loaderVariables,
        }
        return {
          file: found.program,
          args: [...bubblewrapArguments(options), '--', program.file, ...program.args],
          cwd: '/',
          env: ordinary,
          onSignal: signalInside,
        }
      },
    }
  }

  return {
    runnerFor,
    availability,
    /** The same without an earlier failure, for a person who has just installed what was missing. */
    recheck(): Promise<Availability> {
      checked = null
      return availability()
    },
    close: () => directories.close(),
  }
}

/** The workspace and other visible directories may be below /tmp. */
const isVisibleInTmp = ({ workspace, readable, writable }: SandboxScope, path: string): boolean =>
  [...(workspace === null ? [] : [workspace]), ...readable, ...writable].some(root =>
    isInside(root, path),
  )
