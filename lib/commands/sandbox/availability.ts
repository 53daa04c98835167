/** Whether a sandbox works on this computer, and if not, why and what to do. */
import { type Sentence, sentence, type Words } from '../../base/sentences.ts'
import { existsSync } from 'node:fs'
import { findProgram } from '../../base/find-program.ts'
import { run } from '../../base/process.ts'
import { readText } from '../../store/read-text.ts'
import { bubblewrapArguments } from './bubblewrap.ts'
import { seatbeltArguments } from './seatbelt.ts'
import { seccompFilter } from './seccomp.ts'

export type Availability =
  | {
      problem: null
      program: string
      /** Whether this bubblewrap has `--disable-userns`. */
      canDisableNamespaces: boolean
      /** The filter of system calls; null: there is none for this computer. */
      filter: Uint8Array | null
      /** Starts a program with a limit of processes, as the first words of a command line. */
      limiter: readonly string[]
    }
  | { problem: Sentence }

/** What a sandbox is made with: bubblewrap, or the program sandbox-exec of macOS. */
export type SandboxSystem = { kind: 'bubblewrap' } | { kind: 'seatbelt'; program: string }

/** Not searched on PATH: there could be another program with this name. */
export const sandboxSystem = (): SandboxSystem =>
  process.platform === 'darwin'
    ? { kind: 'seatbelt', program: '/usr/bin/sandbox-exec' }
    : { kind: 'bubblewrap' }

type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 10_000

const numberIn = (path: string): number | null => {
  const { text } = readText(path, { maxBytes: 100 })
  return text === undefined || text === null || text.trim() === '' ? null : Number(text.trim())
}

const isContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv')

/** What forbids a sandbox; null where the file does not exist. */
export type SandboxFacts = {
  /** kernel.apparmor_restrict_unprivileged_userns */
  appArmor: number | null
  /** kernel.unprivileged_userns_clone, of Debian's kernels. */
  canClone: number | null
  /** user.max_user_namespaces */
  maxNamespaces: number | null
  isContainer: boolean
  /** Started by systemd. */
  isUnit: boolean
}

const readFacts = (env: Environment): SandboxFacts => ({
  appArmor: numberIn('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
  canClone: numberIn('/proc/sys/kernel/unprivileged_userns_clone'),
  maxNamespaces: numberIn('/proc/sys/user/max_user_namespaces'),
  isContainer: isContainer(),
  isUnit: Boolean(env.INVOCATION_ID),
})

/** What the versions of bubblewrap say where namespaces are not allowed. */
const NO_NAMESPACES = /creat(?:e|ing) new namespace|setting up uid map|user namespaces/i

/** The causes in the order in which they are likely; the first that applies is named. */
export const causeOfComplaint = (complaint: string, facts: SandboxFacts): Words => {
  if (facts.appArmor === 1)
    return sentence('sandbox.app_armor', {
      command:
        'sudo apt install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict',
    })
  if (facts.canClone === 0)
    return sentence('sandbox.kernel_forbids', {
      command: 'sudo sysctl -w kernel.unprivileged_userns_clone=1',
    })
  if (facts.maxNamespaces === 0)
    return sentence('sandbox.kernel_none', {
      command: 'sudo sysctl -w user.max_user_namespaces=15000',
    })
  if (facts.isContainer)
    return sentence('sandbox.in_container', {
      reason: complaint,
      options:
        '--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined',
    })
  if (facts.isUnit) return sentence('sandbox.unit', { reason: complaint })
  if (NO_NAMESPACES.test(complaint)) return sentence('sandbox.namespaces', { reason: complaint })
  return complaint
}

/** Starts a program in the smallest sandbox that has every kind of separation. Never rejects. */
export const checkSandbox = (
  env: Environment,
  system: SandboxSystem = sandboxSystem(),
): Promise<Availability> =>
  system.kind === 'seatbelt' ? checkSeatbelt(system.program) : checkBubblewrap(env)

const checkSeatbelt = async (program: string): Promise<Availability> => {
  if (!existsSync(program)) return { problem: sentence('sandbox.no_program', { program }) }
  let complaint = ''
  try {
    const { code, stderr } = await run(
      program,
      [...seatbeltArguments({ mounts: [], hasNetwork: false }), '--', '/usr/bin/true'],
      { cwd: '/', env: {}, timeoutMs: TIMEOUT_MS, killsChildren: true },
    )
    if (code === 0)
      return { problem: null, program, canDisableNamespaces: false, filter: null, limiter: [] }
    complaint = stderr.trim().split('\n')[0] || `exit code ${code}`
  } catch (error) {
    complaint = error instanceof Error ? error.message : String(error)
  }
  const cause = /sandbox_apply: Operation not permitted/.test(complaint)
    ? sentence('sandbox.nested')
    : complaint
  return { problem: sentence('sandbox.sandbox_exec', { reason: cause }) }
}

/** Threads included. The kernel counts them for each sandbox, and not at all where the service runs as root. */
const MAX_PROCESSES = 4_096
/** Part of util-linux. Visible in every sandbox. */
const PRLIMIT = '/usr/bin/prlimit'

/** A limit below the present one; a higher one could not be set. */
const processLimiter = (): string[] => {
  const { text } = readText('/proc/self/limits', { maxBytes: 10_000 })
  const present = /^Max processes +\d+ +(\d+)/m.exec(text ?? '')?.[1]
  const isLower = present !== undefined && Number(present) <= MAX_PROCESSES
  return isLower || !existsSync(PRLIMIT) ? [] : [PRLIMIT, `--nproc=${MAX_PROCESSES}`, '--']
}

const checkBubblewrap = async (env: Environment): Promise<Availability> => {
  if (process.platform !== 'linux') return { problem: sentence('sandbox.system') }
  const path = env.PATH ?? '/usr/local/bin:/usr/bin:/bin'
  const program = findProgram(path, 'bwrap')
  if (!program) return { problem: sentence('sandbox.no_bwrap') }
  const limiter = processLimiter()
  const filter = seccompFilter()
  let complaint = ''
  for (const canDisableNamespaces of [true, false]) {
    const hasFilter = filter !== null
    const options = { mounts: [], cwd: '/', hasNetwork: false, canDisableNamespaces, hasFilter }
    try {
      const { code, stderr } = await run(
        program,
        [...bubblewrapArguments(options), '--', ...limiter, '/usr/bin/env', 'true'],
        {
          cwd: '/',
          env: { PATH: path },
          timeoutMs: TIMEOUT_MS,
          killsChildren: true,
          ...(filter && { filter }),
        },
      )
      if (code === 0) return { problem: null, program, canDisableNamespaces, filter, limiter }
      complaint = stderr.trim().split('\n')[0] ?? ''
    } catch (error) {
      complaint = error instanceof Error ? error.message : String(error)
    }
  }
  return {
    problem: sentence('sandbox.bwrap', { reason: causeOfComplaint(complaint, readFacts(env)) }),
  }
}
