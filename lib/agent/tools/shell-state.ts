/**
 * What one command leaves to the next one of the chat: its directory and, with `terminal.persistent_shell`, its exported
 * variables. Every command still gets a shell of its own, so a stop or a kill leaves
 * nothing behind, and what applies to the next command is known before it is checked.
 */
import { shellQuote } from '../../base/shell-quote.ts'
import { join, relative } from 'node:path'
import { isInside, realPath } from '../../store/path-within.ts'
import type { CommandRunner } from '../tool-services.ts'
import type { CallScope, Memos, WireMessage } from '../types.ts'

type Variables = Readonly<Record<string, string>>

export type ShellState = {
  cwd: string
  /** Differences from the environment of the run. Null: unset. */
  changes: ReadonlyMap<string, string | null>
}

const MAX_CHARS = 64_000

/** What a shell sets for itself, and the names of this service and the host agent. Never kept, and not worth a note. */
const IGNORED = /^(?:_|SHLVL|PWD|OLDPWD|PS[0-4]|TERMINAL_CWD|(?:AGENT|HERMES)_\w*)$/

/**
 * Set by tools that select the version of a language. What they select is in PATH, which is checked, so an approval
 * shows them only where the command names them.
 */
const SELECTS_VERSION = /^(?:PATH|VIRTUAL_ENV(?:_PROMPT)?|CONDA_\w+|NVM_\w+|FNM_\w+|PYENV_\w+)$/

const reportTo = (target: string): string =>
  `trap ${shellQuote(`{ pwd -P; printf "\\0"; command -p env -0; } 2>/dev/null >${target}`)} EXIT`

/**
 * Runs `$1` in this shell, then writes the directory and the environment to descriptor 3, which the programs of the
 * command do not get. One line, because errors name the line.
 */
export const REPORTING_SHELL = `exec 2>&1; __command=$1; shift; ${reportTo('&3')}; eval "$__command" 3>&-`

/** For BASH_ENV of a shell that runs a command as its own text. Its programs get the value that it had before. */
export const reportingScript = (file: string, { BASH_ENV: own }: Variables): string =>
  `${own === undefined ? 'unset BASH_ENV' : `BASH_ENV=${shellQuote(own)}; . "$BASH_ENV"`}; ${reportTo(shellQuote(file))}`

/** Null: the command replaced the shell or its EXIT trap, so the state is unknown. */
const parseReport = (report: string): { cwd: string; env: Map<string, string> } | null => {
  const [cwd = '', ...lines] = report.split('\0')
  const env = new Map(
    lines.flatMap((line): [string, string][] => {
      const at = line.indexOf('=')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : []
    }),
  )
  return cwd.startsWith('/') && env.size > 0 ? { cwd: cwd.replace(/\n$/, ''), env } : null
}

/** Variables by which other programs run or load something, or look elsewhere for their settings. */
const LOADED =
  /^(?:(?:BASH|LD|DYLD|GIT|SSH|SUDO|NODE|NPM|npm|PIP|UV|JAVA|JDK|DOTNET|CORECLR|GEM|BUNDLE|COMPOSER|MAVEN|GRADLE|CARGO|LUA|PHP|DOCKER|KUBE|AWS|GCONV|MALLOC|TAR|RSYNC|RIPGREP|GLIBC|QT|GTK|GIO|XDG|AGENT|HERMES)(?:_\w*)?|(?:PYTHON|PERL|RUBY|LESS|RUSTC)\w*|GO(?:PROXY|FLAGS|ROOT|PATH|TOOLCHAIN|INSECURE|BIN)|MAKE(?:FLAGS|FILES)|RUSTFLAGS|KUBECONFIG|_JAVA_OPTIONS|ENV|IFS|CDPATH|PROMPT_COMMAND|PS[0124]|SHELL|SHELLOPTS|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|CLASSPATH|CC|CXX|AR|LDFLAGS|HTTPS?_PROXY|https?_proxy|ALL_PROXY|all_proxy|HOME|HISTFILE|INPUTRC|GDBINIT|VIMINIT|EXINIT|MYVIMRC|WGETRC|CURL_HOME|ZDOTDIR|OPENSSL_CONF|HOSTALIASES|TZDIR|TMPDIR|TERMINFO|LOCPATH|NLSPATH)$/
/** Ordinary settings with such a name. */
const HARMLESS =
  /^(?:NODE_ENV|RUST_LOG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|GOOS|GOARCH|AWS_REGION|AWS_PROFILE)$/
const TOOL_DIRECTORY =
  /^\/(?:usr(?:\/local)?|opt\/[\w.-]+)?\/?s?bin\/?$|\/(?:\.cargo|\.local|go|\.bun|\.deno|\.nvm\/versions\/node\/[^/]+|\.pyenv|\.rbenv|\.volta|\.asdf|(?:mini|ana)conda3(?:\/envs\/[\w.-]+)?|node_modules\/\.|\.?v?env|venv\w*)\/?(?:bin|Scripts|shims)\/?$/

/** Directories that PATH had before are as trusted as before, in any order. */
const isLoadedPath = (value: string, before: string): boolean => {
  const dirs = new Set(before.split(':'))
  const newDirs = value.split(':').filter(dir => !dirs.has(dir))
  return newDirs.some(dir => !TOOL_DIRECTORY.test(dir) || dir.includes('..'))
}

/** Values that arithmetic would run (`a[$(…)]`), and values that are not UTF-8, which would come back as others. */
const isUnsafe = (value: string): boolean =>
  /\w\[[\s\S]*(?:\$\(|`)/.test(value) || value.includes('\uFFFD')

const isKept = (name: string, value: string | null, before: string): boolean =>
  value !== null && isUnsafe(value)
    ? false
    : name === 'PATH'
      ? value !== null && !isLoadedPath(value, before)
      : !LOADED.test(name) || HARMLESS.test(name)

/** The name below the workspace that the user knows, which may be a symlink. */
const asSeenFrom = (workspace: string, cwd: string): string =>
  isInside(workspace, cwd) ? join(workspace, relative(realPath(workspace), realPath(cwd))) : cwd

/**
 * The state after a command. A variable that decides which programs run is kept only with a value that needs no approval:
 * the approval of `export LD_PRELOAD=…` is not one of all later commands. `dropped` are the names of the others. `own`: variables that every command gets anew.
 */
export const nextState = (
  before: ShellState,
  report: string,
  {
    env,
    workspace,
    keepsCwd,
    own = [],
  }: { env: Variables; workspace: string; keepsCwd: boolean; own?: readonly string[] | undefined },
): { state: ShellState; dropped: string[] } => {
  const after = parseReport(report)
  if (!after) return { state: before, dropped: [] }
  // Sorted: an approval remembers the text of `withAssignments`.
  const names = [...new Set([...Object.keys(env), ...after.env.keys()])]
    .filter(name => /^[A-Za-z_]\w*$/.test(name) && !IGNORED.test(name) && !own.includes(name))
    .sort()
  const changed = names.flatMap((name): [string, string | null][] => {
    const value = after.env.get(name) ?? null
    return value === (env[name] ?? null) ? [] : [[name, value]]
  })
  const isLasting = ([name, value]: [string, string | null]) => isKept(name, value, env[name] ?? '')
  const changes = changed.flatMap((entry): [string, string | null][] => {
    const [name] = entry
    const last = before.changes.get(name)
    return isLasting(entry) ? [entry] : last === undefined ? [] : [[name, last]]
  })
  const dropped = changed.filter(entry => !isLasting(entry)).map(([name]) => name)
  const chars = changes.reduce((sum, [name, value]) => sum + name.length + (value?.length ?? 0), 0)
  const fits = chars <= MAX_CHARS
  return {
    state: {
      cwd: keepsCwd ? asSeenFrom(workspace, after.cwd) : before.cwd,
      changes: fits ? new Map(changes) : before.changes,
    },
    dropped: fits ? dropped : ['all, because they are too long'],
  }
}

/** The environment of the next command. */
export const environmentAfter = (env: Variables, { changes }: ShellState): Variables =>
  Object.fromEntries(
    Object.entries({ ...env, ...Object.fromEntries(changes) }).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    ),
  )

const NAMES_VERSION = /(?:^|\W)(?:PATH|VIRTUAL_ENV|CONDA_|NVM_|FNM_|PYENV_)/

const assignment = ([name, value]: readonly [string, string | null]): string =>
  value === null ? `unset ${name}` : `export ${name}=${shellQuote(value)}`

/**
 * The command with the kept variables in front of it. Approvals show and remember this text: an approved `rm -r "$DIR"`
 * does not cover another DIR.
 */
export const withAssignments = (command: string, { changes }: ShellState): string => {
  const [hidden, visible] = [true, false].map(isHidden =>
    [...changes].filter(([name]) => SELECTS_VERSION.test(name) === isHidden).map(assignment),
  ) as [string[], string[]]
  const text = [...visible, command].join('\n')
  return NAMES_VERSION.test(text) ? [...hidden, text].join('\n') : text
}

/** The directory of the next command, as the file tools and the rules know it. */
export const directoryOf = (call: CallScope): string => {
  const { cwd } = shellStateOf(call)
  return call.turn.runner?.hostPath(cwd) ?? cwd
}

type SavedState = { workspace: string; state: ShellState }

/** The state of one chat, or of a subagent. Another workspace begins anew. */
export const shellStateOf = ({ memo, chatMemo, turn: { workspace } }: CallScope): ShellState => {
  const shell = (chatMemo ?? memo).get('shell') as SavedState | undefined
  return shell?.workspace === workspace ? shell.state : { cwd: workspace, changes: new Map() }
}

export const saveShellState = (memo: Memos['memo'], workspace: string, state: ShellState): void => {
  memo.set('shell', { workspace, state } satisfies SavedState)
}

/**
 * In a result of our own: those of external agents are plain output. In the output of a command, and in a result that was cut,
 * the quotation marks are escaped.
 */
const OWN_CWD = /^\{"output":"[\s\S]*"cwd":("(?:[^"\\\0-\x1f]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*")/

/**
 * After a restart of the service: the directory that the last command of the chat has told the model. One outside of the
 * workspace may be of an earlier workspace.
 */
export const restoreDirectory = (
  chatMemo: Map<string, unknown>,
  workspace: string,
  history: readonly WireMessage[],
  runner?: CommandRunner,
): void => {
  if (chatMemo.has('shell')) return
  const calls = new Set(
    history
      .flatMap(({ tool_calls: list = [] }) => list)
      .flatMap(({ id, function: { name } }) => (name === 'terminal' ? [id] : [])),
  )
  const cwds = history.flatMap(({ role, tool_call_id: id, content }) =>
    role === 'tool' && calls.has(id ?? '') ? (OWN_CWD.exec(String(content))?.[1] ?? []) : [],
  )
  // A result without it says nothing: the command was refused, or it went on in the background.
  const last = cwds.at(-1)
  const dir = last === undefined ? workspace : String(JSON.parse(last))
  if (dir === workspace || !isInside(workspace, runner?.hostPath(dir) ?? dir)) return
  saveShellState(chatMemo, workspace, { cwd: dir, changes: new Map() })
}
