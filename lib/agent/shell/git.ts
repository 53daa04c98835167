/** Git commands that lose work, run other programs, or affect more than the repository. */
import { UNCLEAR } from './labels.ts'
import { hasUnknown } from './syntax.ts'
import type { Runs } from './interpreters.ts'

export const DESTRUCTIVE = 'destructive git command'
const RUNS = 'git configuration that runs programs'

/** Read-only with any arguments. */
const LOOKING = new Set(
  'status log show diff blame annotate rev-parse rev-list ls-files ls-tree describe shortlog cat-file name-rev merge-base show-ref show-branch for-each-ref whatchanged cherry range-diff diff-tree diff-index diff-files grep count-objects version help var check-ignore check-attr check-ref-format verify-commit verify-tag fsck ls-remote get-tar-commit-id'.split(
    ' ',
  ),
)
/** Change the repository without losing anything. */
const ORDINARY = new Set(
  'add commit fetch pull clone init merge mv notes tag apply am cherry-pick revert stage format-patch bundle archive write-tree commit-tree hash-object mktree read-tree fast-export sparse-checkout maintenance lfs submodule worktree bisect stash branch switch checkout remote config rm restore rebase reset clean push gc prune reflog update-ref symbolic-ref repack pack-refs update-index filter-branch filter-repo difftool mergetool replace rerere credential request-pull send-email daemon instaweb gui gitk citool flow absorb town svn p4 fast-import checkout-index stripspace interpret-trailers unpack-objects index-pack pack-objects update-server-info column shell upload-pack receive-pack subtree multi-pack-index commit-graph'.split(
    ' ',
  ),
)

/** Configuration keys whose value is a program or a directory of programs. */
const RUNNING_KEY =
  /^(?:alias\.|core\.(?:hookspath|sshcommand|pager|editor|fsmonitor|askpass|gitproxy|alternaterefscommand|attributesfile|worktree)|sequence\.editor|diff\.(?:external|[^.]+\.(?:command|textconv))|merge\.[^.]+\.driver|(?:difftool|mergetool)\.|filter\.|credential\.|gpg\.|pager\.|http\.(?:proxy|sslverify|cookiefile)|remote\.[^.]+\.(?:uploadpack|receivepack|vcs|pushurl|url)|url\.|include\.|includeif\.|init\.templatedir|protocol\.|sendemail\.|uploadpack\.|receive\.|safe\.|submodule\.[^.]+\.update|trailer\.|man\.|browser\.|web\.browser|instaweb\.|ssh\.variant|tar\.|column\.|interactive\.difffilter|guitool\.|extensions\.|user\.signingkey$|commit\.template$^)/i

const GLOBAL_VALUES =
  /^(?:-C|-c|--git-dir|--work-tree|--namespace|--exec-path|--super-prefix|--config-env|--attr-source|--list-cmds)$/

export type GitCall = {
  sub: string
  rest: string[]
  /** Directories of `-C`, `--git-dir`, and `--work-tree`. */
  paths: string[]
  labels: string[]
  runs: Runs[]
  isReadOnly: boolean
}

const short = (args: readonly string[], letter: string): boolean =>
  args.some(arg => new RegExp(`^-[a-zA-Z]*${letter}`).test(arg))
const long = (args: readonly string[], pattern: RegExp): boolean =>
  args.some(arg => arg.startsWith('--') && pattern.test(arg))

const losesWork = (sub: string, rest: readonly string[]): boolean => {
  const words = rest.filter(arg => !arg.startsWith('-'))
  switch (sub) {
    case 'reset':
      return long(rest, /^--(?:ha|k|me)/)
    case 'clean':
      return (
        (short(rest, 'f') || long(rest, /^--f/) || short(rest, 'i')) &&
        !(short(rest, 'n') || long(rest, /^--dr/))
      )
    case 'checkout':
      return (
        short(rest, 'f') ||
        short(rest, 'B') ||
        long(rest, /^--(?:fo|ours|theirs|m)/) ||
        rest.includes('--') ||
        words.some(
          word =>
            word === '.' || word === './' || word === ':/' || word === '*' || /^:[/(]/.test(word),
        ) ||
        // `checkout tree path` or `checkout path`.
        (!short(rest, 'b') &&
          !long(rest, /^--(?:track|orphan|detach)/) &&
          (words.length > 1 || /\.[a-zA-Z]\w{0,4}$|\/$|[*?]/.test(words[0] ?? '')))
      )
    case 'switch':
      return short(rest, 'f') || short(rest, 'C') || long(rest, /^--(?:fo|dis)/)
    case 'restore':
      return !(
        (long(rest, /^--st/) || short(rest, 'S')) &&
        !(long(rest, /^--w/) || short(rest, 'W'))
      )
    case 'push':
      return (
        short(rest, 'f') ||
        short(rest, 'd') ||
        long(rest, /^--(?:for|mir|del|pru)/) ||
        words.some(word => /^\+|^:/.test(word) || /\S:\+/.test(word))
      )
    case 'branch':
      return (
        short(rest, 'D') ||
        short(rest, 'M') ||
        short(rest, 'C') ||
        short(rest, 'f') ||
        long(rest, /^--forc/)
      )
    case 'tag':
      return short(rest, 'd') || short(rest, 'f') || long(rest, /^--(?:del|forc)/)
    case 'stash':
      return /^(?:drop|clear)$/.test(words[0] ?? '')
    case 'rebase':
      return !/^--(?:abort|continue|skip|quit|show-current-patch|edit-todo)$/.test(rest[0] ?? '')
    case 'reflog':
      return /^(?:expire|delete|drop)$/.test(words[0] ?? '')
    case 'gc':
      return long(rest, /^--(?:pru|agg)/) && !rest.includes('--no-prune')
    case 'prune':
    case 'filter-branch':
    case 'filter-repo':
    case 'replace':
    case 'fast-import':
    case 'checkout-index':
    case 'unpack-objects':
      return sub !== 'prune' || !(short(rest, 'n') || long(rest, /^--dry/))
    case 'update-ref':
      return true
    case 'symbolic-ref':
      return words.length > 1 || short(rest, 'd') || long(rest, /^--del/)
    case 'worktree':
      return words[0] === 'remove' && (short(rest, 'f') || long(rest, /^--fo/))
    case 'remote':
      return /^(?:rm|remove|prune|set-url)$/.test(words[0] ?? '')
    case 'rm':
      return short(rest, 'r') || short(rest, 'f') || long(rest, /^--fo/)
        ? !long(rest, /^--(?:cac|dry)/) &&
            (short(rest, 'f') || long(rest, /^--fo/) || short(rest, 'r'))
        : false
    case 'read-tree':
      return short(rest, 'u') || long(rest, /^--res/)
    case 'merge':
    case 'am':
    case 'cherry-pick':
    case 'revert':
      return long(rest, /^--abort/) && sub !== 'revert'
    case 'pull':
      return long(rest, /^--(?:fo)/) || short(rest, 'f')
    case 'fetch':
      return (
        words.some(word => word.startsWith('+')) &&
        (long(rest, /^--fo/) || words.some(word => /:\w/.test(word)))
      )
    case 'submodule':
      return (
        words[0] === 'deinit' ||
        (words[0] === 'update' && (short(rest, 'f') || long(rest, /^--fo/)))
      )
    case 'apply':
      return long(rest, /^--unsafe/)
    case 'lfs':
      return /^(?:prune|migrate|uninstall)$/.test(words[0] ?? '')
    case 'notes':
      return /^(?:remove|prune)$/.test(words[0] ?? '')
    case 'subtree':
      return words[0] === 'push'
  }
  return false
}

const shell = (text: string | undefined): Runs =>
  text === undefined || hasUnknown(text) ? { kind: 'unknown' } : { kind: 'shell', text }

const optionValues = (rest: readonly string[], option: RegExp): (string | undefined)[] =>
  rest.flatMap((arg, at) => {
    const joined = /^(--?[\w-]+)=([\s\S]*)$/.exec(arg)
    if (joined && option.test(joined[1] ?? '')) return [joined[2]]
    if (option.test(arg)) return [rest[at + 1]]
    const glued = /^-(x)(.+)$/.exec(arg)
    return glued && option.test('-x') ? [glued[2]] : []
  })

const configCall = (rest: readonly string[]): { labels: string[]; isReadOnly: boolean } => {
  const words = rest.filter(arg => !arg.startsWith('-'))
  const verbs = new Set([
    'list',
    'get',
    'set',
    'unset',
    'edit',
    'rename-section',
    'remove-section',
    'get-all',
    'get-regexp',
  ])
  const verb = verbs.has(words[0] ?? '') ? words.shift() : undefined
  const reads =
    long(rest, /^--(?:get|list|show)/) ||
    short(rest, 'l') ||
    verb === 'get' ||
    verb === 'list' ||
    verb?.startsWith('get-') ||
    (verb === undefined && words.length === 1 && !long(rest, /^--(?:uns|add|rep|ren|rem|ed)/))
  if (reads) return { labels: [], isReadOnly: true }
  if (verb === 'edit' || short(rest, 'e') || long(rest, /^--ed/))
    return { labels: [RUNS], isReadOnly: false }
  const key = words[0] ?? ''
  if (hasUnknown(key) || RUNNING_KEY.test(key) || /^(?:rename|remove)-section$/.test(verb ?? ''))
    return { labels: [RUNS], isReadOnly: false }
  const isElsewhere = long(rest, /^--(?:gl|sy|file)/) || short(rest, 'f')
  return {
    labels:
      isElsewhere &&
      !/^(?:user\.(?:name|email)|init\.defaultBranch|pull\.rebase|color\.|push\.default|core\.(?:autocrlf|quotepath|eol|filemode|longpaths))$/i.test(
        key,
      )
        ? ['write outside the workspace']
        : [],
    isReadOnly: false,
  }
}

/** Parses a git call and returns the reasons for approval. */
export const readGit = (args: readonly string[]): GitCall => {
  const labels: string[] = []
  const runs: Runs[] = []
  const paths: string[] = []
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at] ?? ''
    if (!word.startsWith('-')) break
    const joined = /^(--[\w-]+)=([\s\S]*)$/.exec(word)
    const option = joined?.[1] ?? word
    const value = joined?.[2] ?? (GLOBAL_VALUES.test(word) ? args[++at] : undefined)
    if (option === '-c' || option === '--config-env') {
      const key = (value ?? '').split('=')[0] ?? ''
      const set = (value ?? '').slice(key.length + 1)
      if (/^alias\./i.test(key))
        runs.push(set.startsWith('!') ? shell(set.slice(1)) : { kind: 'unknown' })
      else if (RUNNING_KEY.test(key)) runs.push(shell(set))
      if (
        (RUNNING_KEY.test(key) && !/^core\.pager$|^pager\.|^safe\./i.test(key)) ||
        hasUnknown(key)
      )
        labels.push(RUNS)
      else if (/^(?:core\.pager|pager\.)/i.test(key) && !/^(?:cat|less|more|false|)$/.test(set))
        labels.push(RUNS)
    } else if (option === '--exec-path' && value !== undefined) labels.push(RUNS)
    else if (/^(?:-C|--git-dir|--work-tree)$/.test(option)) paths.push(value ?? '')
  }
  const sub = args[at] ?? ''
  const rest = args.slice(at + 1)
  if (sub === '') return { sub, rest: [], paths, labels, runs, isReadOnly: labels.length === 0 }
  if (hasUnknown(sub) || !(LOOKING.has(sub) || ORDINARY.has(sub)))
    return { sub, rest, paths, labels: [...labels, UNCLEAR], runs, isReadOnly: false }
  let isReadOnly = LOOKING.has(sub)
  if (losesWork(sub, rest)) labels.push(DESTRUCTIVE)
  if (sub === 'config') {
    const config = configCall(rest)
    labels.push(...config.labels)
    isReadOnly = config.isReadOnly
  }
  if (/^(?:log|show|diff|whatchanged|grep|diff-\w+|cat-file|blame)$/.test(sub)) {
    if (
      long(rest, /^--(?:ext-d|output(?:=|$)|open-files-in-pager)/) ||
      (sub === 'grep' && short(rest, 'O'))
    ) {
      isReadOnly = false
      if (!long(rest, /^--output/)) labels.push('program starts another command')
    }
    if (long(rest, /^--(?:textc|filters)/)) isReadOnly = false
  }
  if (
    /^(?:branch|tag|remote|stash|worktree|submodule|reflog|notes|bundle|sparse-checkout|lfs|symbolic-ref|bisect)$/.test(
      sub,
    )
  )
    isReadOnly = isListing(sub, rest)
  if (/^(?:ls-remote|fetch|pull|clone|push|archive|fetch-pack)$/.test(sub)) {
    if (long(rest, /^--(?:upl|rec|exec)/) || (sub === 'clone' && short(rest, 'u')))
      labels.push('program starts another command')
    if (rest.some(arg => /^ext::|^fd::|^--.*ext::/.test(arg)))
      labels.push('program starts another command')
    if (sub === 'clone' && (long(rest, /^--(?:tem|conf)/) || short(rest, 'c'))) labels.push(RUNS)
    isReadOnly &&= sub === 'ls-remote'
  }
  if (sub === 'rebase') runs.push(...optionValues(rest, /^(?:-x|--exec)$/).map(shell))
  if (sub === 'bisect' && rest[0] === 'run') runs.push(shell(rest.slice(1).join(' ')))
  if (sub === 'submodule' && rest.includes('foreach'))
    runs.push(
      shell(
        rest
          .slice(rest.indexOf('foreach') + 1)
          .filter(word => word !== '--recursive')
          .join(' '),
      ),
    )
  if (/^(?:difftool|mergetool)$/.test(sub)) {
    runs.push(...optionValues(rest, /^(?:-x|--extcmd)$/).map(shell))
    if (!rest.includes('--tool-help')) labels.push('program starts another command')
  }
  if (sub === 'filter-branch')
    runs.push(...rest.filter((_, next) => /-filter$/.test(rest[next - 1] ?? '')).map(shell))
  if (
    /^(?:send-email|daemon|instaweb|shell|upload-pack|receive-pack|credential|gui|citool|fast-import|svn|p4)$/.test(
      sub,
    )
  )
    labels.push('program starts another command')
  if (sub === 'init' && long(rest, /^--tem/)) labels.push(RUNS)
  if (sub === 'commit' && long(rest, /^--no-verify/)) isReadOnly = false
  return { sub, rest, paths, labels, runs, isReadOnly }
}

const isListing = (sub: string, rest: readonly string[]): boolean => {
  const words = rest.filter(arg => !arg.startsWith('-'))
  if (sub === 'branch' || sub === 'tag')
    return (
      words.length === 0 ||
      short(rest, 'l') ||
      long(rest, /^--(?:list|contains|merged|no-merged|points-at|show-current)/)
    )
  if (sub === 'remote') return words.length === 0 || /^(?:show|get-url)$/.test(words[0] ?? '')
  if (sub === 'symbolic-ref') return words.length === 1
  return /^(?:list|show|status|summary|verify|log|ls-files|env|view)$/.test(words[0] ?? '')
}
