/** Which files a command writes, deletes, and reads, as far as its arguments show. */
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

const valuesOf = (args: readonly string[], option: RegExp): string[] =>
  args.flatMap((arg, at) => {
    const joined = /^(--?[\w-]+)=([\s\S]*)$/.exec(arg)
    if (joined && option.test(joined[1] ?? '')) return [joined[2] ?? '']
    return option.test(arg) ? [args[at + 1] ?? ''] : []
  })

/** Options of any program whose value is an output file. */
const OUTPUT =
  /^(?:-o|--output|--output-file|--out|--outfile|--out-file|--outdir|--out-dir|--output-dir|--output-directory|--output-path|--outDir|--dest|--destination|--log-file|--logfile|--target-directory|--prefix|--junitxml|--junit-xml|--basetemp|--report-dir|--install-dir|--root|--save-to|--export|--coverage-directory|--cov-report|--target|--target-dir)$/

const NONE = /^$/

export const touchedFiles = (simple: SimpleCommand): Touched => {
  const { name, args, redirects } = simple
  const found: Touched = { writes: [], deletes: [], fills: [], empties: [] }
  for (const { op, target } of redirects) {
    if (!op.includes('>') || /^&?\d+-?$/.test(target) || target === '-') continue
    if (op === '<>' || op === '>>' || op === '&>>') found.writes.push(target)
    else if (isNothing(simple)) found.empties.push(target)
    else found.writes.push(target)
  }
  const target = valuesOf(args, /^(?:-t|--target-directory)$/)
  switch (name) {
    case 'rm':
    case 'rmdir':
    case 'unlink':
    case 'shred':
    case 'srm':
    case 'trash':
    case 'rimraf':
    case 'trash-put':
      found.deletes.push(...wordsBehind(args, /^(?:-n|-s|--iterations|--size)$/))
      break
    case 'mv': {
      const words = wordsBehind(args, /^(?:-t|-S|--target-directory|--suffix)$/)
      found.deletes.push(...(target.length > 0 ? words : words.slice(0, -1)))
      found.writes.push(...(target.length > 0 ? target : words.slice(-1)))
      break
    }
    case 'cp':
    case 'install':
    case 'ln':
    case 'rsync':
    case 'gcp':
    case 'ditto': {
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
      break
    }
    case 'tee': {
      const words = wordsBehind(args, NONE)
      const isEmpty = redirects.some(({ op, target: from }) => op === '<' && from === '/dev/null')
      const appends = args.some(arg => /^(?:-\w*a|--append)/.test(arg))
      ;(isEmpty && !appends ? found.empties : found.writes).push(...words)
      break
    }
    case 'touch':
    case 'mkdir':
    case 'sponge':
    case 'mkfifo':
    case 'mknod':
      found.writes.push(...wordsBehind(args, /^(?:-d|-r|-t|-m|--date|--reference|--mode)$/))
      break
    case 'truncate':
      found.empties.push(...wordsBehind(args, /^(?:-s|-r|--size|--reference)$/))
      break
    case 'dd':
      found.writes.push(...args.flatMap(arg => /^of=(.+)$/.exec(arg)?.[1] ?? []))
      break
    case 'chmod':
    case 'chown':
    case 'chgrp':
      found.writes.push(
        ...wordsBehind(args, /^--(?:reference|from)$/).slice(
          args.some(arg => arg.startsWith('--reference')) ? 0 : 1,
        ),
      )
      break
    case 'sed':
    case 'gsed': {
      const scripts = sedScripts(args).map(readSed)
      found.writes.push(...scripts.flatMap(({ writes }) => writes))
      if (args.some(arg => /^-[a-zA-Z]*i|^--in/.test(arg))) {
        const words = wordsBehind(args, /^(?:-e|-f|-l|--expression|--file)$/)
        found.writes.push(
          ...(args.some(arg => /^-[a-zA-Z]*[ef]|^--(?:exp|file)/.test(arg))
            ? words
            : words.slice(1)),
        )
      }
      break
    }
    case 'perl':
    case 'ruby':
      if (args.some(arg => /^-[a-zA-Z]*i/.test(arg)))
        found.writes.push(...wordsBehind(args, /^-\w*[eE]$/))
      break
    case 'yq':
    case 'jq':
      if (args.some(arg => /^-i|^--in-?place/.test(arg)))
        found.writes.push(...wordsBehind(args, NONE).slice(1))
      break
    case 'sort':
      found.writes.push(
        ...valuesOf(args, /^(?:-\w*o|--o\w*)$/),
        ...args.flatMap(arg => /^-o(.+)$/.exec(arg)?.[1] ?? []),
      )
      break
    case 'uniq':
      found.writes.push(...wordsBehind(args, /^-[fsw]$/).slice(1, 2))
      break
    case 'tar':
    case 'bsdtar': {
      const extracts = args.some(
        (arg, at) =>
          /^-[a-zA-Z]*x|^--(?:ext|get)/.test(arg) || (at === 0 && /^[a-zA-Z]*x/.test(arg)),
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
      break
    }
    case 'unzip':
    case '7z':
    case '7za':
    case 'unrar':
    case 'cpio': {
      const to = [
        ...valuesOf(args, /^-d$/),
        ...args.flatMap(arg => (name.startsWith('7z') ? (/^-o(.+)$/.exec(arg)?.[1] ?? []) : [])),
      ]
      if (!args.some(arg => /^-\w*[ltpZv]$/.test(arg)) || to.length > 0)
        found.fills.push(...(to.length > 0 ? to : ['.']))
      break
    }
    case 'zip':
      found.writes.push(...wordsBehind(args, /^-[xibtn]$/).slice(0, 1))
      break
    case 'gzip':
    case 'bzip2':
    case 'xz':
    case 'zstd':
    case 'gunzip':
    case 'bunzip2':
    case 'unxz':
      if (!args.some(arg => /^-\w*[clt]|^--(?:std|list|test|keep)/.test(arg)))
        found.writes.push(...wordsBehind(args, /^-[S]$/))
      break
    case 'patch':
      found.fills.push(
        ...(valuesOf(args, /^(?:-d|--directory)$/).length > 0
          ? valuesOf(args, /^(?:-d|--directory)$/)
          : ['.']),
      )
      found.writes.push(
        ...valuesOf(args, /^(?:-o|-r|--output|--reject-file)$/),
        ...wordsBehind(args, /^-[pidoFrBVDY]$/).slice(0, 1),
      )
      break
    case 'curl':
      found.writes.push(...readCurl(simple).writes)
      return found
    case 'wget':
      found.writes.push(...readWget(simple).writes)
      return found
    case 'http':
    case 'https':
    case 'xh':
      found.writes.push(...readHttpie(simple).writes)
      return found
    case 'git': {
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
      return found
    }
    case 'openssl':
    case 'ssh-keygen':
    case 'gpg':
      found.writes.push(...valuesOf(args, /^(?:-out|-keyout|-f|-o|--output)$/))
      break
    case 'split':
    case 'csplit':
      found.writes.push(...wordsBehind(args, /^-[blnaCft]$/).slice(1, 2))
      break
    case 'ffmpeg':
    case 'convert':
    case 'magick':
    case 'iconv':
      found.writes.push(...(name === 'iconv' ? [] : args.slice(-1)))
      break
    case 'script':
      found.writes.push(...wordsBehind(args, /^-[cEIOBTmo]$/).slice(0, 1))
      break
    case 'exiftool':
      if (args.some(arg => /^-(?:overwrite_original|[A-Z]\w+=)/.test(arg)))
        found.writes.push(...wordsBehind(args, NONE))
      break
    case 'xxd':
      found.writes.push(...wordsBehind(args, /^-[cgslo]$/).slice(1, 2))
      break
    case 'go':
      if (args[0] === 'build' || args[0] === 'test')
        found.writes.push(
          ...valuesOf(args, /^-(?:o|coverprofile|cpuprofile|memprofile|outputdir)$/),
        )
      break
  }
  if (
    !/^(?:grep|egrep|fgrep|rg|ps|ls|sort|find|mount|set|read|test|\[|ssh|scp|jq|echo|printf|pgrep|lsof|kubectl|docker|pytest|df|du)$/.test(
      name,
    )
  )
    found.writes.push(...valuesOf(args, OUTPUT))
  return found
}

/** It writes nothing, so the file is empty afterwards. */
const isNothing = ({ name, args, from }: SimpleCommand): boolean =>
  from.length === 0 &&
  (/^(?::|true|false|)$/.test(name) ||
    (name === 'cat' && args.length > 0 && args.every(arg => arg === '/dev/null')) ||
    ((name === 'echo' || name === 'printf') &&
      args.every(arg => /^-[neE]+$|^$/.test(arg)) &&
      (name === 'printf' || args.some(arg => /^-\w*n/.test(arg)))))

/** Programs whose arguments are not files they read. */
const PROSE =
  /^(?:echo|printf|git|say|notify-send|figlet|gh|export|declare|local|test|\[|\[\[|expr|seq|read|set|alias|trap|eval)$/

/** Files that it opens for reading, as far as its arguments show. */
export const readsOf = (simple: SimpleCommand): string[] => {
  const { name, args, redirects } = simple
  const inputs = redirects.flatMap(({ op, target }) => (op === '<' || op === '<>' ? [target] : []))
  if (name === 'curl') return [...inputs, ...readCurl(simple).reads]
  if (name === 'wget') return [...inputs, ...readWget(simple).reads]
  if (name === 'git')
    return [
      ...inputs,
      ...(/^(?:add|diff|show|grep|hash-object|blame)$/.test(readGit(args).sub)
        ? args.filter(
            arg =>
              !arg.startsWith('-') &&
              /\.env|\.ssh|\.aws/.test(arg) &&
              /--no-index|hash-object|add/.test(args.join(' ')),
          )
        : []),
    ]
  if (PROSE.test(name)) return inputs
  return [...inputs, ...args]
}
