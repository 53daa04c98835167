/**
 * Runs git for the person who uses the page: it changes the index, branches and files, and reaches remotes with the
 * person's own credentials. Programs that the person's own configuration names run; those that the repository's
 * configuration names never do, and its hooks only after the person has said so.
 */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { type GitConfig, safePath } from '../base/git.ts'
import { conflict, invalid, unavailable, type UserError } from '../errors.ts'
import { redact } from '../base/redact/redact.ts'
import { readWhole } from '../store/read-text.ts'
import { blank, type GitOutput, hasRepository, startGit } from './git.ts'

const TIMEOUT_MS = 15_000
/** Of fetch, pull and push, and of hooks, which may run tests. */
const LONG_TIMEOUT_MS = 180_000
const MAX_BYTES = 16 * 1024 * 1024
/** Of a file beside the hooks. */
const MAX_HASHED_BYTES = 4 * 1024 * 1024

export type RunOptions = {
  input?: string | Uint8Array
  /** Also with these settings. */
  config?: GitConfig
  isLong?: boolean
  /** Local hooks run. */
  hasHooks?: boolean
  /** A remote is reached. */
  isRemote?: boolean
  /** The exit code is for the caller. */
  mayFail?: boolean
}

/** Hooks that an action would run. `id` changes with their contents. */
export type HookSet = { names: string[]; id: string }

const QUIET: GitConfig = [
  ['core.fsmonitor', 'false'],
  ['core.quotePath', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.editor', 'true'],
  ['advice.detachedHead', 'false'],
  ['commit.verbose', 'false'],
  ['commit.template', ''],
  // It would print between the commits.
  ['log.showSignature', 'false'],
  ['diff.external', ''],
  ['color.ui', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
]
/** So that which files a command changes can be computed before it runs. */
const PREDICTABLE: GitConfig = [
  ['merge.renames', 'true'],
  ['merge.directoryRenames', 'conflict'],
  ['merge.autoStash', 'false'],
]
const NO_HOOKS: GitConfig = [['core.hooksPath', '/dev/null']]

const FILTER = /^filter\..*\.(?:clean|smudge|process)$/s
const CONNECTION =
  /^(?:core\.(?:sshcommand|gitproxy|askpass)|credential\.(?:.*\.)?helper|remote\..*\.(?:uploadpack|receivepack|vcs)|url\..*\.(?:pushinsteadof|insteadof)|protocol\.(?:.*\.)?allow|(?:http|remote)\.(?:.*\.)?proxy|http\.(?:.*\.)?(?:sslverify|sslca.*|curloptresolve))$/s
/** Blanked where the repository sets them. */
const OTHER =
  /^(?:filter\..*\.required|diff\..*\.(?:command|textconv)|merge\..*\.driver|gpg\..*(?:program|command)|core\.alternaterefscommand)$/s

/** Names of settings in the repository's own files. */
const localNames = (listing: string): string[] => {
  const parts = listing.split('\0')
  const names: string[] = []
  for (let n = 0; n + 1 < parts.length; n += 2)
    if (parts[n] === 'local' || parts[n] === 'worktree') names.push(parts[n + 1]!)
  return names
}

/** Whether a command changes files of the working tree. */
const changesFiles = ([command = '', ...args]: readonly string[]): boolean => {
  if (command === 'apply') return !args.includes('--cached')
  if (command === 'stash') return !['list', 'drop', 'create'].includes(args[0] ?? '')
  if (command === 'worktree') return args[0] !== 'list'
  if (command === 'reset') return args.some(each => /^--(?:hard|merge|keep)$/.test(each))
  if (command === 'rm') return !args.includes('--cached')
  return /^(?:am|checkout|checkout-index|cherry-pick|clean|merge|mv|pull|read-tree|rebase|restore|revert|switch|submodule)$/.test(
    command,
  )
}

/** git replaces a link on the way to a file that it writes. */
const withLinks = (root: string, path: string): string[] => {
  const parts = path.split('/')
  const above = parts.slice(1).map((_, n) => parts.slice(0, n + 1).join('/'))
  const isLink = (place: string) =>
    lstatSync(join(root, place), { throwIfNoEntry: false })?.isSymbolicLink()
  const link = above.find(isLink)
  return link === undefined ? [path] : [link, path]
}

/** git's own words in one paragraph, without credentials in addresses. */
export const gitReason = (error: string): string => {
  const text = error
    .replace(/(\b[a-z+]+:\/\/)[^/@\s]*@/gi, '$1')
    .split('\n')
    .filter(line => !/^(?:hint|warning):|^\s*$/.test(line))
    .map(line => line.replace(/^(?:error|fatal): /, '').trim())
    .join(' ')
  return redact(text).slice(0, 600) || 'git gave no reason'
}

const toFailure = (error: string): UserError => {
  const reason = gitReason(error)
  if (
    /terminal prompts disabled|could not read (?:Username|Password)|Permission denied \(|Authentication failed|Host key verification failed/.test(
      error,
    )
  )
    return conflict(
      `The remote did not accept your sign-in: ${reason} Sign in with a credential helper or an SSH agent, or use the terminal.`,
      { code: 'git_sign_in', values: { reason } },
    )
  if (/tell me who you are|empty ident|unable to auto-detect email/i.test(error))
    return conflict(
      'Git does not know your name and email. Set user.name and user.email with git config, then try again.',
      { code: 'git_no_identity' },
    )
  return conflict(reason, { code: 'git_failed', values: { reason } })
}

const isExecutable = (path: string): boolean => {
  try {
    const stat = statSync(path)
    return stat.isFile() && (stat.mode & 0o111) !== 0
  } catch {
    return false
  }
}

/** Changes with the contents of a file. Reading a large one would block the service; its change time cannot be chosen. */
const fingerprint = (path: string): string | Buffer => {
  const { size, ino, ctimeNs } = statSync(path, { bigint: true })
  return size > MAX_HASHED_BYTES ? `${size} ${ino} ${ctimeNs}` : readWhole(path)
}

const hookSet = (dir: string, hookNames: readonly string[]): HookSet => {
  const names = hookNames.filter(name => isExecutable(join(dir, name)))
  if (names.length === 0) return { names, id: '' }
  const hash = createHash('sha256')
  // Hooks often run files beside them.
  for (const entry of readdirSync(dir, { withFileTypes: true }).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    // A link to a hook counts by what it leads to.
    if (!names.includes(entry.name) && (!entry.isFile() || entry.name.endsWith('.sample'))) continue
    hash
      .update(`${entry.name}\0`)
      .update(fingerprint(join(dir, entry.name)))
      .update('\0')
  }
  return { names, id: hash.digest('hex').slice(0, 32) }
}

const environment = (env: Readonly<Record<string, string>>): Record<string, string> => ({
  // Those of the service are of whatever started it.
  ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))),
  PATH: safePath(env.PATH),
  LC_ALL: 'C.UTF-8',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_EDITOR: 'true',
  GIT_MERGE_AUTOEDIT: 'no',
  // No window and no prompt: it would never be answered.
  GIT_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
})

const requireSuccess = (output: GitOutput): GitOutput => {
  if (output.code === 0) return output
  throw toFailure(`${output.error}\n${output.code === 1 ? output.text : ''}`)
}

const requireNoFiles = (args: readonly string[]): void => {
  if (changesFiles(args)) throw new Error(`git ${args[0]} changes files: it has to say which.`)
}

/** Throws when the person may not change one of these files of the working tree. */
export type RequireMayChange = (paths: readonly string[]) => void

export class PersonGit {
  readonly #root: string
  readonly #env: Readonly<Record<string, string>>
  readonly #requireMayChange: RequireMayChange | undefined
  /** Names of settings in the repository's own files. */
  #local: readonly string[] = []
  #blanked: GitConfig = []

  /**
   * `env`: that of the person's programs, with search path, HOME, and the socket of the SSH agent; no secrets of the service.
   * Without `requireMayChange` any file may be changed.
   */
  static async open(
    root: string,
    env: Readonly<Record<string, string>>,
    requireMayChange?: RequireMayChange,
  ): Promise<PersonGit> {
    if (!hasRepository(root))
      throw invalid('This workspace is not a Git repository.', { code: 'not_a_repository' })
    const git = new PersonGit(root, environment(env), requireMayChange)
    await git.#readSettings()
    return git
  }

  private constructor(
    root: string,
    env: Readonly<Record<string, string>>,
    requireMayChange: RequireMayChange | undefined,
  ) {
    this.#root = root
    this.#env = env
    this.#requireMayChange = requireMayChange
  }

  async #readSettings(): Promise<void> {
    const listed = await this.#start(
      ['config', '--null', '--name-only', '--show-scope', '--list'],
      [...QUIET, ...NO_HOOKS],
    )
    if (listed.code !== 0)
      throw unavailable(`Git cannot use this repository: ${gitReason(listed.error)}`, {
        code: 'git_unreadable',
        values: { reason: gitReason(listed.error) },
      })
    this.#local = localNames(listed.text)
    this.#blanked = blank(this.#local.filter(name => OTHER.test(name) || FILTER.test(name)))
  }

  async #start(
    args: readonly string[],
    config: GitConfig,
    { input, isLong, isRemote }: RunOptions = {},
    ssh = '',
  ): Promise<GitOutput> {
    const output = await startGit(this.#root, args, {
      env: {
        ...this.#env,
        ...(isRemote
          ? { GIT_SSH_COMMAND: ssh }
          : { GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1' }),
      },
      config,
      timeoutMs: isLong || isRemote ? LONG_TIMEOUT_MS : TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      input,
    })
    if (output.isCut)
      throw unavailable(`git ${args[0]} printed more than 16 MB.`, { code: 'git_read_failed' })
    return output
  }

  /** A command of the person's own configuration decides how to connect; without a passphrase prompt. */
  async #sshCommand(): Promise<string> {
    const own = await this.#start(['config', '--global', 'core.sshCommand'], QUIET)
    return `${own.text.trim() || 'ssh'} -oBatchMode=yes`
  }

  async #attempt(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    return this.#start(
      args,
      [
        ...QUIET,
        ...(this.#requireMayChange ? PREDICTABLE : []),
        ...this.#blanked,
        ...(options.hasHooks ? [] : NO_HOOKS),
        ...(options.config ?? []),
      ],
      options,
      options.isRemote ? await this.#sshCommand() : '',
    )
  }

  /** The exit code is for the caller. */
  async try(args: readonly string[], options?: RunOptions): Promise<GitOutput> {
    requireNoFiles(args)
    return this.#attempt(args, options)
  }

  /** Rejects with git's own words when it fails. */
  async run(args: readonly string[], options?: RunOptions): Promise<GitOutput> {
    requireNoFiles(args)
    return requireSuccess(await this.#attempt(args, options))
  }

  /**
   * Runs a command that changes files of the working tree, once the person may change all of `paths`. They are relative to
   * the tree, and computed only for a person who may not change every file.
   */
  async write(
    args: readonly string[],
    paths: () => Promise<readonly string[]>,
    options?: RunOptions,
  ): Promise<GitOutput> {
    if (this.#requireMayChange)
      this.#requireMayChange((await paths()).flatMap(path => withLinks(this.#root, path)))
    const output = await this.#attempt(args, options)
    return options?.mayFail ? output : requireSuccess(output)
  }

  #refuse(pattern: RegExp, what: string): void {
    const name = this.#local.find(each => pattern.test(each))
    if (name)
      throw conflict(
        `This repository’s own configuration sets ${name}, which ${what}. Use the terminal, where Git follows it.`,
        { code: 'git_needs_terminal', values: { name } },
      )
  }

  /** Throws when files would pass through filters that the repository's configuration names: contents would be wrong without them. */
  requireOwnFilters(): void {
    this.#refuse(FILTER, 'changes file contents')
  }

  /** Throws when the repository's configuration decides which programs, proxies and certificates a connection uses. */
  requireOwnConnection(): void {
    this.#refuse(CONNECTION, 'decides how Git connects')
  }

  async hooks(names: readonly string[]): Promise<HookSet> {
    // With the hooks' own setting: husky and others set core.hooksPath.
    const { text } = await this.#start(['rev-parse', '--git-path', 'hooks'], QUIET)
    const dir = text.trim()
    return hookSet(isAbsolute(dir) ? dir : resolve(this.#root, dir), names)
  }
}
