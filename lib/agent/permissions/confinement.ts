/** What a sandbox makes of the assessment of a command: what it can reach, and for which reasons the user is still asked. */
import { type Assessment, type ShellContext, startedPrograms } from '../command-risk.ts'
import {
  CONTROL,
  ELSEWHERE,
  NETWORK,
  OUTSIDE,
  OWN_ADDRESS,
  UNCLEAR,
  UNCONFINED,
} from '../shell/labels.ts'
import type { CommandAccess, CommandRunner } from '../tool-services.ts'

/** How a command is to run. */
export type Confinement = {
  access: CommandAccess
  /** The Git directory may change. */
  changesGit: boolean
  /** Reasons to ask; none: it runs. */
  labels: string[]
  isControl: boolean
  /** It would have no effect outside, and seem to have one. The sentence says what to do. */
  refusal: string | null
}

/** Effects outside the workspace. Inside, they fail or change a private copy of no use. */
const LOST = new Set([
  CONTROL,
  OUTSIDE,
  'delete outside the workspace',
  'broad permission change',
  'write to a startup or login file',
])

/** Files of the workspace that are gone afterwards. A checkpoint brings them back, where there is one. */
const DESTRUCTIVE = new Set([
  'recursive delete',
  'recursive delete (long flag)',
  'delete in root path',
  'xargs with rm',
  'find -exec rm',
  'find -delete',
  'empty an existing file',
  'overwrite project env file',
  'SQL DROP',
  'SQL DELETE without WHERE',
  'SQL UPDATE without WHERE',
  'SQL TRUNCATE',
])

/** Asked about in every sandbox: what it discards is in no checkpoint, or what it reads goes to the model. */
const ALWAYS = new Set(['destructive git command', 'credential file read', 'fork bomb'])

/** Cannot harm anything that a sandbox with a network shows. */
const HARMLESS_WITH_NETWORK = new Set([
  ELSEWHERE,
  'kill all processes',
  'force kill processes',
  'end a process',
  'stop/disable system service',
  'start gateway outside systemd',
  'kill hermes/gateway process (self-termination)',
  'world/other-writable permissions',
  'recursive world/other-writable (long flag)',
  'recursive chown to root',
  'recursive chown to root (long flag)',
  'format filesystem',
  'write to block device',
  'disk copy',
  'scheduled command',
  'docker removal',
  'device or container access',
  'overwrite system config',
  'overwrite system file via tee',
  'overwrite system file via redirection',
  'copy/move file into /etc/',
  'in-place edit of system config',
  'in-place edit of system config (long flag)',
])

const remains = (
  label: string,
  given: { hasNetwork: boolean; canUndo: boolean; isShared: boolean },
): boolean => {
  if (ALWAYS.has(label)) return true
  if (DESTRUCTIVE.has(label)) return !given.canUndo
  if (LOST.has(label)) return given.isShared
  if (given.hasNetwork) return !HARMLESS_WITH_NETWORK.has(label)
  return false
}

/** The programs of a command with their arguments; null when it is not fully understood. */
type Commands = readonly (readonly string[])[] | null

/** Programs that always use the network, or do with these verbs. */
const NETWORK_VERBS: Readonly<Record<string, RegExp | true>> = {
  npm: /^(?:i|in|ins|install|add|ci|update|up|upgrade|publish|view|info|audit|outdated|search|login|create|init|exec|x)$/,
  pnpm: /^(?:i|install|add|update|up|dlx|create|publish|fetch|audit|outdated)$/,
  yarn: /^(?:install|add|up|upgrade|dlx|create|npm|info)$/,
  bun: /^(?:i|install|add|update|x|create)$/,
  npx: true,
  bunx: true,
  pip: /^(?:install|download|index|wheel)$/,
  pip3: /^(?:install|download|index|wheel)$/,
  uv: /^(?:add|sync|lock|pip|tool|python)$/,
  uvx: true,
  pipx: /^(?:install|upgrade|run|inject)$/,
  poetry: /^(?:install|add|update|lock|publish)$/,
  cargo: /^(?:install|add|fetch|update|publish|search)$/,
  go: /^(?:get|install)$/,
  gem: /^(?:install|update|push|fetch)$/,
  bundle: /^(?:install|update|add)$/,
  composer: /^(?:install|update|require|create-project)$/,
  git: /^(?:clone|fetch|pull|push|ls-remote)$/,
  gh: true,
  curl: true,
  wget: true,
  ssh: true,
  scp: true,
  sftp: true,
  ping: true,
  dig: true,
  nslookup: true,
  host: true,
}

const LOCAL_URL = /^(?:https?:\/\/)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?:[:/]|$)/

const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1)

/** Whether one of its programs is known to need the network. Unknown programs are not: their failure says so. */
const needsNetwork = (commands: Commands): boolean =>
  (commands ?? []).some(([program = '', ...args]) => {
    const name = nameOf(program)
    const verbs = Object.hasOwn(NETWORK_VERBS, name) ? NETWORK_VERBS[name] : undefined
    if (verbs === undefined || args.includes('--offline')) return false
    const words = args.filter(word => !word.startsWith('-'))
    if (verbs !== true) return verbs.test(words[0] ?? '')
    if (name !== 'curl' && name !== 'wget') return true
    return !words.some(word => LOCAL_URL.test(word))
  })

const toPattern = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .split('*')
      .map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    's',
  )

/** Programs that a pattern need not name beside those that matter. */
const BESIDE = new Set([
  'cd',
  'echo',
  'pwd',
  'true',
  'ls',
  'cat',
  'head',
  'tail',
  'wc',
  'grep',
  'test',
  '[',
])

/** Whether the user's patterns name every program of the command. A pattern matches the words with one space between them. */
const isNamed = (commands: Commands, patterns: readonly string[]): boolean => {
  const named = (commands ?? []).filter(([program = '']) => !BESIDE.has(program))
  const all = patterns.flatMap(glob => [
    toPattern(glob),
    ...(glob.endsWith(' *') ? [toPattern(glob.slice(0, -2))] : []),
  ])
  return (
    named.length > 0 && named.every(words => all.some(pattern => pattern.test(words.join(' '))))
  )
}

/** It names a file inside a Git directory, as in `echo x > .git/config`. */
const NAMES_GIT_DIRECTORY = /(?:^|[\s'"=(/])\.git(?:[\s'"/);|&]|$)/
/** Subcommands of Git that run other programs. */
const GIT_RUNS_PROGRAMS =
  /\bgit\b[^;|&]*\s(?:rebase\b[^;|&]*\s(?:-x|--exec)|bisect\s+run|submodule\s+foreach|filter-branch|difftool|mergetool|daemon|instaweb)/
const OF_GIT = new Set([
  'destructive git command',
  'publish to others',
  'send data to another machine',
])

const isGitOnly = (commands: NonNullable<Commands>): boolean =>
  commands.some(([program]) => program === 'git') &&
  commands.every(([program = '']) => program === 'git' || BESIDE.has(program))

/** It runs Git and harmless programs only, so that no other program can change the Git directory. */
const runsOnlyGit = (command: string, commands: Commands, labels: readonly string[]): boolean =>
  isGitOnly(commands ?? []) &&
  labels.every(label => OF_GIT.has(label)) &&
  !NAMES_GIT_DIRECTORY.test(command) &&
  !GIT_RUNS_PROGRAMS.test(command)

export type ConfineOptions = {
  runner: CommandRunner | undefined
  wanted?: CommandAccess
  /** The workspace can be brought back to its state before the command. */
  canUndo: boolean
  /** Absent for a script, whose programs are not known. */
  shell?: ShellContext
}

const programsOf = (command: string, shell: ShellContext): string[][] =>
  startedPrograms(command, shell)
    .filter(({ wraps }) => !wraps)
    .map(({ name, args }) => [name, ...args])

/**
 * How a command runs that the guards allow. `wanted` is what the model asked for. Without a runner it runs directly, with
 * all reasons to ask.
 */
export const confine = (
  command: string,
  assessment: Assessment,
  { runner, wanted, canUndo, shell }: ConfineOptions,
): Confinement => {
  const { labels, isControl = false } = assessment
  const direct = { changesGit: true, isControl, refusal: null }
  if (!runner) return { ...direct, access: 'unconfined', labels }
  if (wanted === 'unconfined' && !runner.isReadOnly)
    return { ...direct, access: 'unconfined', labels: [UNCONFINED, ...labels] }
  if (runner.isReadOnly) return confineReading(labels, runner)
  const commands = shell && assessment.isClear ? programsOf(command, shell) : null
  const changesGit = runsOnlyGit(command, commands, labels)
  const isShared = runner.sharesFolders === true
  const keepsNothing = !isShared && runner.hasOwnSystem !== true
  const lost = keepsNothing ? labels.find(label => LOST.has(label)) : undefined
  const common = { changesGit, refusal: lost === undefined ? null : lostSentence(lost, runner) }
  const isNamedByUser = Array.isArray(runner.network) && isNamed(commands, runner.network)
  const hasNetwork =
    runner.network === true || isNamedByUser || wanted === 'network' || needsNetwork(commands)
  const kept = labels.filter(label => remains(label, { hasNetwork, canUndo, isShared }))
  // The user's pattern answers for what the command does in the network.
  if (isNamedByUser)
    return {
      ...common,
      access: 'network',
      labels: kept.filter(
        label =>
          ALWAYS.has(label) || DESTRUCTIVE.has(label) || LOST.has(label) || label === OWN_ADDRESS,
      ),
      isControl: labels.includes(OWN_ADDRESS) && isControl,
    }
  if (!hasNetwork) return { ...common, access: 'confined', labels: kept, isControl: false }
  const isGiven = runner.network === true
  return {
    ...common,
    access: 'network',
    labels: isGiven ? kept : [NETWORK, ...kept],
    // With a network, text that is not understood could be a request to this service.
    isControl:
      isControl &&
      kept.some(label => label === OWN_ADDRESS || label === UNCLEAR || label === CONTROL),
  }
}

/** Nothing can change, so only what it reads may need the user. */
const confineReading = (labels: readonly string[], runner: CommandRunner): Confinement => {
  const lost = labels.find(label => LOST.has(label))
  return {
    access: 'confined',
    changesGit: false,
    labels: labels.filter(label => label === 'credential file read' || label === 'fork bomb'),
    isControl: false,
    refusal: lost === undefined ? null : lostSentence(lost, runner),
  }
}

const lostSentence = (label: string, { offers }: CommandRunner): string =>
  `Not run: it changes something outside the workspace (${label}), which the sandbox does not allow.${offers.includes('unconfined') ? ' Where the task needs it, repeat it with access "unconfined"; the user is asked.' : ''}`

const NO_NETWORK =
  /Could not resolve (?:host|proxy)|Temporary failure in name resolution|Name or service not known|getaddrinfo|ENOTFOUND|EAI_AGAIN|Network is unreachable|ENETUNREACH|no such host|Failed to establish a new connection|NameResolutionError|dns error/i
const NO_WRITE = /Read-only file system|EROFS|could not lock config file|Device or resource busy/i
/** Operations of Git that write down programs to run, and its configuration. */
const NO_GIT =
  /rebase-(?:merge|apply)|\bBISECT_|\.git\/(?:worktrees|modules|info|lfs)\b|could not lock config file|unable to write upstream branch configuration/

/** What the model should know about the failure of a confined command; null: nothing about the sandbox. */
export const failureHint = (
  output: string,
  access: CommandAccess,
  { offers, isReadOnly }: Pick<CommandRunner, 'offers' | 'isReadOnly'>,
): string | null => {
  if (isReadOnly)
    return NO_WRITE.test(output) || NO_NETWORK.test(output)
      ? 'Plan mode is on: commands can change only /tmp, and there is no network.'
      : null
  if (access === 'confined' && offers.includes('network') && NO_NETWORK.test(output))
    return 'The sandbox has no network. Where the command needs one, repeat it with access "network"; the user is asked.'
  if (access !== 'unconfined' && NO_GIT.test(output))
    return `In the sandbox Git can add, commit, branch, merge, stash, reset, and fetch. Its configuration and hooks, rebase, bisect, worktrees, submodules, and LFS need access "unconfined"${offers.includes('unconfined') ? '; the user is asked' : ', which is not offered here'}. A branch without tracking can be made with --no-track.`
  if (access !== 'unconfined' && NO_WRITE.test(output))
    return `In the sandbox only the workspace and /tmp can be changed, .git only by commands that run nothing but git.${offers.includes('unconfined') ? ' Where the task needs more, repeat the command with access "unconfined"; the user is asked.' : ''}`
  return null
}
