/** Sandboxes with bubblewrap or Seatbelt: one runner for each turn, private directories for each session. */
import type { Sentence } from '../../base/sentences.ts'
import { failed } from '../../errors.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import type {
  CheckTarget,
  CommandRunner,
  PlacedProgram,
  Program,
} from '../../agent/tool-services.ts'
import { childrenOf } from '../own-processes/own-processes.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import {
  type Availability,
  checkSandbox,
  type SandboxSystem,
  sandboxSystem,
} from './availability.ts'
import { bubblewrapArguments, LOADER_VARIABLE } from './bubblewrap.ts'
import { MACOS_SYSTEM } from './macos.ts'
import { mountGit, nameGit, planGit } from './git-mounts.ts'
import { type Mount, type SandboxFiles, planMounts, reachOf, workspaceProblem } from './mounts.ts'
import {
  NETWORK_DIRECTORY,
  PROXY_VARIABLES,
  proxyVariables,
  SOCKET_NAME,
  withBridge,
} from './network-bridge.ts'
import type { NetworkAccess } from './network-opener.ts'
import { NetworkProxy } from './network-proxy.ts'
import { MountCheck } from './running-sandboxes.ts'
import { SandboxDirectories } from './own-directories.ts'
import { DROPPED_VARIABLES } from './special-paths.ts'
import { seatbeltArguments } from './seatbelt.ts'

/** bwrap has two processes of its own: the one that was started, and the first one inside (process 1). */
const DEPTH_OF_COMMAND = 2

/**
 * Signals every process inside. False when there is none yet, or for SIGKILL: killing bubblewrap ends everything inside
 * at once, because process 1 ends with it and the kernel ends the others with process 1.
 */
const signalInside = (bwrap: number, signal: NodeJS.Signals): boolean => {
  if (signal === 'SIGKILL') return false
  let level = [bwrap]
  for (let depth = 0; depth < DEPTH_OF_COMMAND; depth++) level = level.flatMap(childrenOf)
  if (level.length === 0) return false
  const open = [...level]
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    open.push(...childrenOf(pid))
    try {
      process.kill(pid, signal)
    } catch {
      // It has exited since.
    }
  }
  return true
}

/** `env` is that of the turn: variables that a command sets for later ones must not show them more of this computer. */
export type SandboxScope = Omit<SandboxFiles, 'ownHome' | 'ownTmp'> & {
  /** Whose private directories it uses: a session, or a scheduled task. */
  owner: string
  /** True: commands share the network of this computer. Otherwise they are asked about each host that no pattern names. */
  network: boolean | readonly string[]
}

const FAILURE_VALID_MS = 30_000

const GIT =
  'The Git directory can be changed only by a command that runs nothing but git; hooks, configuration, and operations of several steps, such as rebase, never.'
const ASK = 'Where a command needs more, set access; the user is asked.'
const PROXY_NOTE =
  'The network is reached through a proxy (HTTP_PROXY and the like are set), which asks the user about each new host while the command waits. What a denied host means is in the result.'
const NOTES = {
  bubblewrap: {
    files: `Commands run in a sandbox: they can change the workspace and /tmp only, and see neither your home directory nor other processes. ${GIT}`,
    proxy: `${PROXY_NOTE} Each command has a localhost of its own: start a server and what connects to it in the same command.`,
    ask: `${ASK} Processes started with & end with the command.`,
  },
  seatbelt: {
    files: `Commands run in a sandbox: they can change the workspace, $TMPDIR, and a private $HOME only, not /tmp, and cannot read other files of the user. Hard links are not possible. ${GIT}`,
    proxy: `${PROXY_NOTE} There is no localhost.`,
    ask: ASK,
  },
} as const

const READ_ONLY_NOTE =
  'Commands run in a sandbox: they can change only a private /tmp, and there is no network.'

const noteOf = (kind: SandboxSystem['kind'], network: SandboxScope['network']): string => {
  const { files, proxy, ask } = NOTES[kind]
  return [files, ...(network === true ? [] : [proxy]), ask].join(' ')
}

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

/** The network of one command: the proxy that it reaches from its sandbox, and what it needs for that. */
type CommandNetwork = {
  mounts: readonly Mount[]
  /** Variables for the command. */
  env: Readonly<Record<string, string>>
  /** How the program is started inside. */
  start: (program: Program) => Program
  /** On this computer's localhost, where the sandbox has no localhost of its own. */
  port: number | null
  close: () => void
}

/** On a socket in a directory of its own below `parent`, which the sandbox sees at another place. */
const listenInDirectory = async (proxy: NetworkProxy, parent: string): Promise<CommandNetwork> => {
  const dir = mkdtempSync(join(parent, 'p'))
  await proxy.listen({ path: join(dir, SOCKET_NAME) })
  return {
    mounts: [{ path: NETWORK_DIRECTORY, access: 'read', source: dir }],
    env: proxyVariables(),
    start: withBridge,
    port: null,
    close() {
      proxy.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** For sandboxes that share the localhost of this computer. */
const listenOnPort = async (proxy: NetworkProxy): Promise<CommandNetwork> => {
  const port = await proxy.listen({ host: '127.0.0.1', port: 0 })
  return {
    mounts: [],
    env: proxyVariables(port ?? 0),
    start: program => program,
    port,
    close: () => proxy.close(),
  }
}

export class Sandboxes {
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #system: SandboxSystem
  readonly #networkAccess: Partial<NetworkAccess>
  readonly #isSeatbelt: boolean
  readonly #directories: SandboxDirectories
  readonly #plan
  readonly #running = new MountCheck()
  readonly #networks = new Set<CommandNetwork>()
  /** Undefined: it is not known yet whether there is one. */
  #problem: Sentence | null | undefined
  #checked: { at: number; result: Promise<Availability> } | null = null

  constructor(
    env: Readonly<Record<string, string | undefined>>,
    system: SandboxSystem = sandboxSystem(),
    networkAccess: Partial<NetworkAccess> = {},
  ) {
    this.#env = env
    this.#system = system
    this.#networkAccess = networkAccess
    this.#isSeatbelt = system.kind === 'seatbelt'
    this.#directories = new SandboxDirectories(this.#isSeatbelt)
    this.#plan = this.#isSeatbelt ? { system: MACOS_SYSTEM } : {}
  }

  /** A success is valid for the life of the process, a failure for half a minute. */
  async availability(): Promise<Availability> {
    const isStale = (at: number) => performance.now() - at > FAILURE_VALID_MS
    if (this.#checked && (await this.#checked.result).problem !== null && isStale(this.#checked.at))
      this.#checked = null
    this.#checked ??= { at: performance.now(), result: checkSandbox(this.#env, this.#system) }
    const result = await this.#checked.result
    // For the life of the process: a sandbox that stops working refuses, and is not left instead.
    if (this.#problem !== null) this.#problem = result.problem
    return result
  }

  /** Null: the command shares the network of this computer, or has none. */
  async #openNetwork(
    { owner, env, network }: SandboxScope,
    onTarget: CheckTarget | undefined,
  ): Promise<CommandNetwork | null> {
    if (network === true || !onTarget) return null
    const allowed = network === false ? [] : network
    const proxy = new NetworkProxy({ allowed, onTarget, env, access: this.#networkAccess })
    const opened = this.#isSeatbelt
      ? await listenOnPort(proxy)
      : await listenInDirectory(proxy, this.#directories.of(owner, env.HOME).network)
    this.#networks.add(opened)
    const close = () => {
      opened.close()
      this.#networks.delete(opened)
    }
    return { ...opened, close }
  }

  #createRunner(scope: SandboxScope, isReadOnly: boolean): CommandRunner {
    const own = () => this.#directories.of(scope.owner, scope.env.HOME)
    const place = (): SandboxFiles => {
      const { root, home: ownHome, tmp: ownTmp } = own()
      // Where /tmp is visible, a command could replace the directories of the next one with symlinks.
      return { ...scope, hidden: [...scope.hidden, root], ownHome, ownTmp }
    }
    const problem = async (): Promise<Sentence | null> =>
      (await this.availability()).problem ?? workspaceProblem(scope)
    return {
      kind: this.#system.kind,
      problem,
      ...(isReadOnly
        ? { note: READ_ONLY_NOTE, network: false, isReadOnly }
        : {
            note: noteOf(this.#system.kind, scope.network),
            canLeave: true,
            network: scope.network === true,
            sharesFolders: scope.writable.length > 0,
            ...(!this.#isSeatbelt && { readOnly: () => this.#createRunner(scope, true) }),
          }),
      sets: ['TMPDIR', ...PROXY_VARIABLES],
      reach: path =>
        reachOf(planMounts(place(), { ...this.#plan, isReadOnly }), path, this.#plan.system),
      sharedDir: () => own().shared,
      hostPath: path =>
        !this.#isSeatbelt &&
        isInside('/tmp', path) &&
        !isInside(own().tmp, path) &&
        !isVisibleInTmp(scope, path)
          ? join(own().tmp, relative('/tmp', path))
          : path,
      place: async ({ program, cwd, env, access, changesGit, readable = [], onTarget }) => {
        const result = await this.availability()
        const why = result.problem ?? (await problem())
        if (result.problem !== null || why !== null) throw failed(why ?? '')
        const variables = withoutSockets(env)
        const hasNetwork = !isReadOnly && (access === 'network' || scope.network === true)
        const network = isReadOnly || hasNetwork ? null : await this.#openNetwork(scope, onTarget)
        // Node may be in a directory that is not shown otherwise.
        const more = [
          ...readable,
          ...(this.#isSeatbelt ? [XCODE] : network ? [process.execPath] : []),
        ]
        const here = place()
        const git = planGit(here)
        const mounts = planMounts(
          { ...here, readable: [...scope.readable, ...more] },
          { ...this.#plan, ...git, program: program.file, isReadOnly },
        )
        const placement = {
          program: network?.start(program) ?? program,
          cwd,
          hasNetwork,
          proxyPort: network?.port ?? null,
        }
        const { workspace } = scope
        const all = [...mounts, ...(network?.mounts ?? [])]
        const visible = this.#isSeatbelt ? all : this.#running.withoutReplaceable(all)
        const withGit = { ...git, mounts: visible, workspace, changesGit: changesGit === true }
        const gitPlace = isReadOnly
          ? { mounts: visible, env: {}, finish: async () => null }
          : this.#isSeatbelt
            ? nameGit(withGit)
            : mountGit(withGit, own().root)
        if (!this.#isSeatbelt) this.#running.starts(gitPlace.mounts)
        const planned = {
          ...placement,
          mounts: gitPlace.mounts,
          env: { ...variables, ...network?.env, ...gitPlace.env },
        }
        const placed = this.#isSeatbelt
          ? underSeatbelt(planned, result, here)
          : underBubblewrap(planned, result)
        const onEnd = () => {
          network?.close()
          return gitPlace.finish()
        }
        return { ...placed, onEnd }
      },
    }
  }

  runnerFor(scope: SandboxScope): CommandRunner {
    return this.#createRunner(scope, false)
  }

  /** Why none has worked here since the start; null: one has; undefined: that is not known yet. */
  problem(): Sentence | null | undefined {
    return this.#problem
  }

  /** The same without an earlier failure, for a person who has just installed what was missing. */
  recheck(): Promise<Availability> {
    this.#checked = null
    return this.availability()
  }

  close(): void {
    for (const network of this.#networks) network.close()
    this.#directories.close()
  }
}

type PlannedCommand = {
  program: Program
  cwd: string
  env: Readonly<Record<string, string>>
  mounts: readonly Mount[]
  hasNetwork: boolean
  /** The port of a proxy on the localhost of this computer. */
  proxyPort: number | null
}
type Available = Extract<Availability, { problem: null }>

const underBubblewrap = (
  { program, cwd, env, hasNetwork, mounts }: PlannedCommand,
  { program: bwrap, canDisableNamespaces, filter, limiter }: Available,
): PlacedProgram => {
  const [loaderVariables, ordinary] = splitVariables({ ...env, TMPDIR: '/tmp' })
  const options = {
    mounts,
    cwd: realPath(cwd),
    hasNetwork,
    canDisableNamespaces,
    hasFilter: filter !== null,
    loaderVariables,
  }
  return {
    file: bwrap,
    args: [...bubblewrapArguments(options), '--', ...limiter, program.file, ...program.args],
    cwd: '/',
    env: ordinary,
    onSignal: signalInside,
    ...(filter && { filter }),
  }
}

/** Where the selected Xcode is, which may have another name than usual. */
const XCODE = '/private/var/db/xcode_select_link'

/**
 * Nothing can be shown under another name, so variables lead to the private directories. sandbox-exec becomes the
 * program, so signals need no help. Variables of the dynamic loader are left out: sandbox-exec starts outside the sandbox,
 * and macOS removes them for programs of the system anyway.
 */
const underSeatbelt = (
  { program, cwd, env, hasNetwork, proxyPort, mounts }: PlannedCommand,
  { program: sandboxExec }: Available,
  { env: { HOME: home }, ownHome, ownTmp }: SandboxFiles,
): PlacedProgram => ({
  file: sandboxExec,
  args: [
    ...seatbeltArguments({ mounts, hasNetwork, proxyPort }),
    '--',
    program.file,
    ...program.args,
  ],
  cwd: realPath(cwd),
  env: {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('DYLD_'))),
    // A command before this one may have changed it.
    ...((env.HOME === undefined || env.HOME === home) && { HOME: ownHome }),
    TMPDIR: ownTmp,
  },
})

/** The workspace and other visible directories may be below /tmp. */
const isVisibleInTmp = ({ workspace, readable, writable }: SandboxScope, path: string): boolean =>
  [...(workspace === null ? [] : [workspace]), ...readable, ...writable].some(root =>
    isInside(root, path),
  )
