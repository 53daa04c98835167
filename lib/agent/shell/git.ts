/** What the words of a `git` say: the subcommand, and whether it is about the repository of the working directory only. */
import type { CommandPart, ReadCommand, Word } from './types.ts'

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
export const readGit = (words: readonly Word[]): GitCall | null => {
  const args = words.flatMap(({ value }) => (value === null ? [] : [value]))
  if (args.length < words.length) return null
  let at = 0
  while (at < args.length && args[at]?.startsWith('-'))
    at += WITH_VALUE.test(args[at] ?? '') ? 2 : 1
  const [sub = '', ...rest] = args.slice(at)
  return { sub, rest, options: args.slice(0, at) }
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
const withoutMessages = (part: CommandPart): CommandPart => {
  if (!part.words.some(({ value }) => value !== null && TAKES_MESSAGE.test(value))) return part
  const isMessage = ({ value, raw = '' }: Word, at: number): boolean =>
    value === null &&
    (/^--message="[\s\S]*"$/.test(raw) ||
      (/^"[\s\S]*"$/.test(raw) &&
        /^(?:-[a-zA-Z]*m|--message)$/.test(part.words[at - 1]?.value ?? '')))
  return { ...part, words: part.words.filter((word, at) => !isMessage(word, at)) }
}

const writesGit = ({ redirects }: CommandPart): boolean =>
  redirects.some(({ target }) => target === null || /(?:^|\/)\.git(?:\/|$)/i.test(target))

/** Only Git in the workspace's own repository, with harmless programs beside it: its `.git` may change. */
export const changesOwnGit = ({ parts, isFollowed }: ReadCommand): boolean =>
  isFollowed &&
  parts.some(({ name }) => name === 'git') &&
  parts.every(part => {
    if (part.program !== part.name || part.assigns.length > 0 || writesGit(part)) return false
    if (BESIDE.test(part.name)) return true
    const git = part.name === 'git' ? readGit(withoutMessages(part).words) : null
    return (
      git?.options.every(option => HARMLESS_OPTIONS.test(option)) &&
      ORDINARY.has(git.sub) &&
      !git.rest.some(word => RUNS.test(word))
    )
  })

type Rest = readonly string[]
const has = (pattern: RegExp) => (rest: Rest) => rest.some(word => pattern.test(word))
const always = () => true

const LOSES_HISTORY: Readonly<Record<string, (rest: Rest) => boolean>> = {
  push: has(/^-[a-zA-Z]*[fd]|^--(?:for|mir|del|pru)|^\+|^:./),
  branch: rest => has(/^-[a-zA-Z]*D/)(rest) || (has(/^--delete$/)(rest) && has(/^--force$/)(rest)),
  stash: has(/^(?:drop|clear)$/),
  reflog: has(/^(?:expire|delete|drop)$/),
  gc: has(/^--prune/),
  prune: always,
  'filter-branch': always,
  'filter-repo': always,
  'update-ref': always,
  replace: always,
}

const LOSES_WORK: Readonly<Record<string, (rest: Rest) => boolean>> = {
  reset: has(/^--(?:ha|me|k)/),
  clean: has(/^-[a-zA-Z]*f|^--fo/),
  // With a file after the branch, that one is overwritten.
  checkout: rest =>
    has(/^-[a-zA-Z]*f$|^--(?:force|ours|theirs)?$|^\.\/?$|^:\/$/)(rest) ||
    (rest.filter(word => !word.startsWith('-')).length > 1 && !has(/^-[bB]$/)(rest)),
  restore: rest => !has(/^(?:--staged|-S)$/)(rest),
  switch: has(/^-f$|^--(?:force|discard)/),
  rm: has(/^-[a-z]*f|^--force$/),
}

const loses = (table: typeof LOSES_WORK, part: CommandPart): boolean => {
  const git = part.name === 'git' ? readGit(part.words) : null
  return git !== null && Object.hasOwn(table, git.sub) && table[git.sub]?.(git.rest) === true
}

/** Loses what no checkpoint of the workspace brings back: commits, stashes, or what others have. */
export const losesHistory = (part: CommandPart): boolean => loses(LOSES_HISTORY, part)

/** Discards work of the folder, which a checkpoint brings back where there is one. */
export const losesWork = (part: CommandPart): boolean => loses(LOSES_WORK, part)
