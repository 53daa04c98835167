/** Files that known programs write and delete, from their arguments, by program name. */
import { dirname, join } from 'node:path/posix'
import { readGit } from './git.ts'
import { sedScripts } from './interpreters.ts'
import { readCurl, readHttpie, readWget } from './network.ts'
import { readSed } from './sed.ts'
import type { SimpleCommand } from './types.ts'

export type Touched = {
  writes: string[]
  deletes: string[]
  /** Directories below which anything may be written. */
  fills: string[]
  empties: string[]
}

/** Adds the files that a program touches. */
type FileArguments = (simple: SimpleCommand, found: Touched) => void

/** Arguments that are not options; options matching `values` take the next argument. */
const wordsBehind = (args: readonly string[], values: RegExp): string[] => {
  const words: string[] = []
  let isOver = false
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    if (isOver || !word.startsWith('-') || word === '-') words.push(word)
    else if (word === '--') isOver = true
    else if (values.test(word)) at++
  }
  return words
}

/** Values of an option, as `--option=value` or as the next argument. */
export const valuesOf = (args: readonly string[], option: RegExp): string[] =>
  args.flatMap((arg, at) => {
    const joined = /^(--?[\w-]+)=([\s\S]*)$/.exec(arg)
    if (joined && option.test(joined[1] ?? '')) return [joined[2] ?? '']
    return option.test(arg) ? [args[at + 1] ?? ''] : []
  })

const NONE = /^$/

/** The directory of `cp`, `mv`, … given as an option. */
const targetDirectory = (args: readonly string[]): string[] =>
  valuesOf(args, /^(?:-t|--target-directory)$/)

const rmFiles: FileArguments = ({ args }, found) => {
  found.deletes.push(...wordsBehind(args, /^(?:-n|-s|--iterations|--size)$/))
}

const mvFiles: FileArguments = ({ args }, found) => {
  const target = targetDirectory(args)
  const words = wordsBehind(args, /^(?:-t|-S|--target-directory|--suffix)$/)
  found.deletes.push(...(target.length > 0 ? words : words.slice(0, -1)))
  found.writes.push(...(target.length > 0 ? target : words.slice(-1)))
}

const cpFiles: FileArguments = ({ name, args }, found) => {
  const target = targetDirectory(args)
  const words = wordsBehind(
    args,
    /^(?:-t|-S|-m|-g|-o|-e|-f|--target-directory|--suffix|--mode|--owner|--group|--exclude|--include|--rsh|--filter|--exclude-from|--include-from|--files-from|--log-file|--backup-dir|--bwlimit|--max-size|--min-size|--link-dest|--compare-dest|--copy-dest|--temp-dir|--partial-dir|--password-file|--port|--timeout)$/,
  )
  const isDirectory = name === 'install' && args.some(arg => /^-\w*d/.test(arg))
  const last =
    target.length > 0
      ? target
      : isDirectory
        ? words
        : name === 'ln' && words.length === 1
          ? ['.']
          : words.slice(-1)
  if (name !== 'cp' || args.some(arg => /^-\w*[rRa]|^--(?:rec|arc)/.test(arg)))
    found.fills.push(...last)
  if (words.some(word => /^\/dev\/null$/.test(word)) && (name === 'cp' || name === 'install'))
    found.empties.push(...last)
  else found.writes.push(...last)
  // Writing through the link changes its target.
  if (name === 'ln' && args.some(arg => /^-\w*s|^--sym/.test(arg)))
    found.writes.push(
      ...(target.length > 0 || words.length === 1 ? words : words.slice(0, -1)).map(source =>
        /^[~/\0\u0001]/.test(source) ? source : join(dirname(last[0] ?? '.'), source),
      ),
    )
  if (name === 'rsync' && args.some(arg => /^--remove-source/.test(arg)))
    found.deletes.push(...words.slice(0, -1))
}

const teeFiles: FileArguments = ({ args, redirects }, found) => {
  const words = wordsBehind(args, NONE)
  const isEmpty = redirects.some(({ op, target: from }) => op === '<' && from === '/dev/null')
  const appends = args.some(arg => /^(?:-\w*a|--append)/.test(arg))
  ;(isEmpty && !appends ? found.empties : found.writes).push(...words)
}

const touchFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...wordsBehind(args, /^(?:-d|-r|-t|-m|--date|--reference|--mode)$/))
}

const truncateFiles: FileArguments = ({ args }, found) => {
  found.empties.push(...wordsBehind(args, /^(?:-s|-r|--size|--reference)$/))
}

const ddFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...args.flatMap(arg => /^of=(.+)$/.exec(arg)?.[1] ?? []))
}

const chmodFiles: FileArguments = ({ args }, found) => {
  found.writes.push(
    ...wordsBehind(args, /^--(?:reference|from)$/).slice(
      args.some(arg => arg.startsWith('--reference')) ? 0 : 1,
    ),
  )
}

const sedFiles: FileArguments = ({ args }, found) => {
  const scripts = sedScripts(args).map(readSed)
  found.writes.push(...scripts.flatMap(({ writes }) => writes))
  if (args.some(arg => /^-[a-zA-Z]*i|^--in/.test(arg))) {
    const words = wordsBehind(args, /^(?:-e|-f|-l|--expression|--file)$/)
    found.writes.push(
      ...(args.some(arg => /^-[a-zA-Z]*[ef]|^--(?:exp|file)/.test(arg)) ? words : words.slice(1)),
    )
  }
}

const inPlaceFiles: FileArguments = ({ args }, found) => {
  if (args.some(arg => /^-[a-zA-Z]*i/.test(arg)))
    found.writes.push(...wordsBehind(args, /^-\w*[eE]$/))
}

const jqFiles: FileArguments = ({ args }, found) => {
  if (args.some(arg => /^-i|^--in-?place/.test(arg)))
    found.writes.push(...wordsBehind(args, NONE).slice(1))
}

const sortFiles: FileArguments = ({ args }, found) => {
  found.writes.push(
    ...valuesOf(args, /^(?:-\w*o|--o\w*)$/),
    ...args.flatMap(arg => /^-o(.+)$/.exec(arg)?.[1] ?? []),
  )
}

const uniqFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...wordsBehind(args, /^-[fsw]$/).slice(1, 2))
}

const tarFiles: FileArguments = ({ args }, found) => {
  const extracts = args.some(
    (arg, at) => /^-[a-zA-Z]*x|^--(?:ext|get)/.test(arg) || (at === 0 && /^[a-zA-Z]*x/.test(arg)),
  )
  const creates = args.some(
    (arg, at) =>
      /^-[a-zA-Z]*[cru]|^--(?:cre|app|upd)/.test(arg) ||
      (at === 0 && /^[a-zA-Z]*[cru][a-zA-Z]*$/.test(arg)),
  )
  if (extracts)
    found.fills.push(
      ...(valuesOf(args, /^(?:-C|--directory|--one-top-level)$/).length > 0
        ? valuesOf(args, /^(?:-C|--directory|--one-top-level)$/)
        : ['.']),
    )
  else if (creates)
    found.writes.push(
      ...args.filter((_, at) => /^-?[a-zA-Z]*f$|^--file$/.test(args[at - 1] ?? '')),
      ...valuesOf(args, /^--file$/),
    )
  if (args.includes('--remove-files'))
    found.deletes.push(...args.filter(arg => !arg.startsWith('-')).slice(1))
}

const unzipFiles: FileArguments = ({ name, args }, found) => {
  const to = [
    ...valuesOf(args, /^-d$/),
    ...args.flatMap(arg => (name.startsWith('7z') ? (/^-o(.+)$/.exec(arg)?.[1] ?? []) : [])),
  ]
  if (!args.some(arg => /^-\w*[ltpZv]$/.test(arg)) || to.length > 0)
    found.fills.push(...(to.length > 0 ? to : ['.']))
}

const zipFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...wordsBehind(args, /^-[xibtn]$/).slice(0, 1))
}

const gzipFiles: FileArguments = ({ args }, found) => {
  if (!args.some(arg => /^-\w*[clt]|^--(?:std|list|test|keep)/.test(arg)))
    found.writes.push(...wordsBehind(args, /^-[S]$/))
}

const patchFiles: FileArguments = ({ args }, found) => {
  found.fills.push(
    ...(valuesOf(args, /^(?:-d|--directory)$/).length > 0
      ? valuesOf(args, /^(?:-d|--directory)$/)
      : ['.']),
  )
  found.writes.push(
    ...valuesOf(args, /^(?:-o|-r|--output|--reject-file)$/),
    ...wordsBehind(args, /^-[pidoFrBVDY]$/).slice(0, 1),
  )
}

const curlFiles: FileArguments = (simple, found) => {
  found.writes.push(...readCurl(simple).writes)
}

const wgetFiles: FileArguments = (simple, found) => {
  found.writes.push(...readWget(simple).writes)
}

const httpieFiles: FileArguments = (simple, found) => {
  found.writes.push(...readHttpie(simple).writes)
}

const gitFiles: FileArguments = ({ args }, found) => {
  const { sub, rest } = readGit(args)
  const words = wordsBehind(
    rest,
    /^(?:-b|-o|-c|-j|--branch|--origin|--depth|--config|--reference|--jobs|--filter|--template|--separate-git-dir|--shallow-since|--prefix|--format|-m|-s)$/,
  )
  if (sub === 'clone')
    found.fills.push(...words.slice(1, 2), ...valuesOf(rest, /^--separate-git-dir$/))
  if (sub === 'init') found.fills.push(...words.slice(0, 1))
  if (sub === 'worktree' && words[0] === 'add') found.fills.push(...words.slice(1, 2))
  found.writes.push(...valuesOf(rest, /^--output$/))
  if (/^(?:archive|bundle|format-patch)$/.test(sub))
    found.writes.push(...valuesOf(rest, /^(?:-o|--output|--output-directory)$/))
  if (sub === 'bundle' && words[0] === 'create') found.writes.push(...words.slice(1, 2))
  if (
    /^(?:checkout|restore|reset|clean|stash|apply|am|pull|merge|rebase|cherry-pick|revert|read-tree|switch)$/.test(
      sub,
    )
  )
    found.fills.push('.')
}

const keyFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...valuesOf(args, /^(?:-out|-keyout|-f|-o|--output)$/))
}

const splitFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...wordsBehind(args, /^-[blnaCft]$/).slice(1, 2))
}

const convertFiles: FileArguments = ({ name, args }, found) => {
  found.writes.push(...(name === 'iconv' ? [] : args.slice(-1)))
}

const scriptFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...wordsBehind(args, /^-[cEIOBTmo]$/).slice(0, 1))
}

const exiftoolFiles: FileArguments = ({ args }, found) => {
  if (args.some(arg => /^-(?:overwrite_original|[A-Z]\w+=)/.test(arg)))
    found.writes.push(...wordsBehind(args, NONE))
}

const xxdFiles: FileArguments = ({ args }, found) => {
  found.writes.push(...wordsBehind(args, /^-[cgslo]$/).slice(1, 2))
}

const goFiles: FileArguments = ({ args }, found) => {
  if (args[0] === 'build' || args[0] === 'test')
    found.writes.push(...valuesOf(args, /^-(?:o|coverprofile|cpuprofile|memprofile|outputdir)$/))
}

export const FILE_ARGUMENTS: ReadonlyMap<string, FileArguments> = new Map(
  (
    [
      [['rm', 'rmdir', 'unlink', 'shred', 'srm', 'trash', 'rimraf', 'trash-put'], rmFiles],
      [['mv'], mvFiles],
      [['cp', 'install', 'ln', 'rsync', 'gcp', 'ditto'], cpFiles],
      [['tee'], teeFiles],
      [['touch', 'mkdir', 'sponge', 'mkfifo', 'mknod'], touchFiles],
      [['truncate'], truncateFiles],
      [['dd'], ddFiles],
      [['chmod', 'chown', 'chgrp'], chmodFiles],
      [['sed', 'gsed'], sedFiles],
      [['perl', 'ruby'], inPlaceFiles],
      [['yq', 'jq'], jqFiles],
      [['sort'], sortFiles],
      [['uniq'], uniqFiles],
      [['tar', 'bsdtar'], tarFiles],
      [['unzip', '7z', '7za', 'unrar', 'cpio'], unzipFiles],
      [['zip'], zipFiles],
      [['gzip', 'bzip2', 'xz', 'zstd', 'gunzip', 'bunzip2', 'unxz'], gzipFiles],
      [['patch'], patchFiles],
      [['curl'], curlFiles],
      [['wget'], wgetFiles],
      [['http', 'https', 'xh'], httpieFiles],
      [['git'], gitFiles],
      [['openssl', 'ssh-keygen', 'gpg'], keyFiles],
      [['split', 'csplit'], splitFiles],
      [['ffmpeg', 'convert', 'magick', 'iconv'], convertFiles],
      [['script'], scriptFiles],
      [['exiftool'], exiftoolFiles],
      [['xxd'], xxdFiles],
      [['go'], goFiles],
    ] satisfies [string[], FileArguments][]
  ).flatMap(([names, read]) => names.map(name => [name, read] as const)),
)
