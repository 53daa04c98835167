/** What the words of a `git` say: the subcommand, and whether it is about the repository of the working directory only. */
import type { Part, ReadCommand, Word } from './types.ts'

/** Options before the subcommand with a value of their own. */
const WITH_VALUE =
  /^(?:-C|-c|--git-dir|--work-tree|--namespace|--exec-path|--super-prefix|--config-env|--attr-source)$/

export type GitCall = {
  sub: string
  rest: readonly string[]
  /** Options before the subcommand, and what they may do: another repository, other settings, other programs. */
  options: readonly string[]
}

/** Null where a word is known only at run time. */
export const readGit = ({ words }: Pick<Part, 'words'>): GitCall | null => {
  const known = words.flatMap(({ value }) => (value === null ? [] : [value]))
  if (known.length < words.length) return null
  let at = 0
  while (at < known.length && known[at]?.startsWith('-'))
    at += WITH_VALUE.test(known[at] ?? '') ? 2 : 1
  const [sub = '', ...rest] = known.slice(at)
  return { sub, rest, options: known.slice(0, at) }
}

/** Not `-C`, `--git-dir`, or `-c`: it works where it is started, with the settings that are there. */
const HARMLESS_OPTIONS = /^--(?:no-pager|literal-pathspecs|no-optional-locks|version)$/

/** Change the repository as a person's own work does, and start no program but hooks and filters. */
const ORDINARY = new Set(
  'add commit status diff log show branch switch checkout restore reset merge cherry-pick revert stash tag rm mv clean fetch pull push apply am notes describe rev-parse ls-files blame shortlog grep gc pack-refs init'.split(
    ' ',
  ),
)
/** An option by which one of them runs another program. */
const RUNS = /^--(?:exec|upload-pack|receive-pack|extcmd|ext-diff|textconv)\b|^-x$/
const BESIDE = /^(?:echo|printf|pwd|true|ls|cat|head|tail|wc|grep)$/

const TAKES_MESSAGE = /^(?:commit|merge|tag|stash|notes)$/
/** Without `-m "$(cat …)"`: in quotes it is one word, and Git only keeps it. */
const withoutMessages = (part: Part): Part => {
  if (!part.words.some(({ value }) => value !== null && TAKES_MESSAGE.test(value))) return part
  const isMessage = ({ value, raw = '' }: Word, at: number): boolean =>
    value === null &&
    (/^--message="[\s\S]*"$/.test(raw) ||
      (/^"[\s\S]*"$/.test(raw) &&
        /^(?:-[a-zA-Z]*m|--message)$/.test(part.words[at - 1]?.value ?? '')))
  return { ...part, words: part.words.filter((word, at) => !isMessage(word, at)) }
}

const writesGit = ({ redirects }: Part): boolean =>
  redirects.some(({ target }) => target === null || /(?:^|\/)\.git(?:\/|$)/i.test(target))

/** Only Git in the workspace's own repository, with harmless programs beside it: its `.git` may change. */
export const changesOwnGit = ({ parts, isFollowed }: ReadCommand): boolean =>
  isFollowed &&
  parts.some(({ name }) => name === 'git') &&
  parts.every(part => {
    if (part.program !== part.name || part.assigns.length > 0 || writesGit(part)) return false
    if (BESIDE.test(part.name)) return true
    const git = part.name === 'git' ? readGit(withoutMessages(part)) : null
    return (
      git?.options.every(option => HARMLESS_OPTIONS.test(option)) &&
      ORDINARY.has(git.sub) &&
      !git.rest.some(word => RUNS.test(word))
    )
  })

const has = (rest: readonly string[], pattern: RegExp): boolean =>
  rest.some(word => pattern.test(word))

/** Loses what no checkpoint of the workspace brings back: commits, stashes, or what others have. */
export const losesHistory = (part: Part): boolean => {
  if (part.name !== 'git') return false
  const git = readGit(part)
  if (!git) return false
  const { sub, rest } = git
  switch (sub) {
    case 'push':
      return has(rest, /^-[a-zA-Z]*[fd]|^--(?:for|mir|del|pru)|^\+|^:./)
    case 'branch':
      return has(rest, /^-[a-zA-Z]*D|^--delete$/) && has(rest, /^-[a-zA-Z]*D|^--force$/)
    case 'stash':
      return has(rest, /^(?:drop|clear)$/)
    case 'reflog':
      return has(rest, /^(?:expire|delete|drop)$/)
    case 'gc':
      return has(rest, /^--prune/)
    default:
      return /^(?:prune|filter-branch|filter-repo|update-ref|replace)$/.test(sub)
  }
}

/** Discards work of the folder, which a checkpoint brings back where there is one. */
export const losesWork = (part: Part): boolean => {
  if (part.name !== 'git') return false
  const { sub = '', rest = [] } = readGit(part) ?? {}
  switch (sub) {
    case 'reset':
      return has(rest, /^--(?:ha|me|k)/)
    case 'clean':
      return has(rest, /^-[a-zA-Z]*f|^--fo/)
    case 'checkout':
      // With a file after the branch, that one is overwritten.
      return (
        has(rest, /^-[a-zA-Z]*f$|^--(?:force|ours|theirs)?$|^\.\/?$|^:\/$/) ||
        (rest.filter(word => !word.startsWith('-')).length > 1 && !has(rest, /^-[bB]$/))
      )
    case 'restore':
      return !has(rest, /^(?:--staged|-S)$/)
    case 'switch':
      return has(rest, /^-f$|^--(?:force|discard)/)
    case 'rm':
      return has(rest, /^-[a-z]*f|^--force$/)
    default:
      return false
  }
}
