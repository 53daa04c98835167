/**
 * Programs that only read, with the options that are known to change nothing and to read nothing but the operands. An option
 * that is not here may do anything, so a command with it is asked about.
 */

export type ReaderOptions = {
  /** Words that are options, complete, with an attached value where they have one. */
  options: RegExp
  /** Options whose value, a text or a number, is the next word. */
  takes?: RegExp
  /** The first operand is a pattern, unless one of these options gave it. */
  pattern?: RegExp
  /** No operand is a path. */
  isText?: true
  /** What else must hold. `operands`: without the pattern. */
  holds?: (operands: readonly string[], args: readonly string[]) => boolean
}

const NONE = /^$/
const text = (options: RegExp, takes?: RegExp): ReaderOptions => ({
  options,
  isText: true,
  ...(takes && { takes }),
})
const lines: ReaderOptions = {
  options: /^-(?:[nc][+-]?\d+[kKMG]?|\d+|q|v)$|^--(?:lines|bytes)=[+-]?\d+$/,
  takes: /^-[nc]$/,
}
const ls: ReaderOptions = {
  options:
    /^-[1AaBCcdFGghiklmNnopQqRrSstuUvXx]+$|^--(?:all|almost-all|human-readable|recursive|reverse|group-directories-first|full-time|color=\w+|sort=\w+|time-style=[\w-]+)$/,
}
const grep: ReaderOptions = {
  options:
    /^-[hHcEFGiIlLnoPqrsvwx]+$|^-[hHcEFGiIlLnoPqrsvwx]*[ABCm]\d+$|^-\d+$|^--(?:include|exclude|exclude-dir)=.+$|^--colou?r(?:=\w+)?$|^--(?:line-number|ignore-case|recursive|count|only-matching|fixed-strings|extended-regexp|files-with-matches|word-regexp|no-filename|with-filename|no-messages|context=\d+)$/,
  takes: /^-[hHcEFGiIlLnoPqrsvwx]*[ABCm]$/,
  pattern: /^-[hHcEFGiIlLnoPqrsvwx]*e$/,
}
const fd: ReaderOptions = {
  options:
    /^-(?:[HIigap]+|[etdE].+)$|^--(?:hidden|no-ignore|type=\w+|extension=\w+|max-depth=\d+|exclude=.+)$/,
  takes: /^-[etdE]$|^--(?:type|extension|max-depth|exclude)$/,
  pattern: NONE,
}
const sums: ReaderOptions = { options: /^-[bt]$/ }

const FIND_FLAG =
  /^(?:[()!,]|-(?:not|o|or|a|and|prune|print0?|empty|ls|readable|writable|executable|xdev|mount|depth|true|false))$/
const FIND_VALUE =
  /^-(?:i?name|i?path|i?regex|i?wholename|regextype|type|maxdepth|mindepth|size|mtime|mmin|ctime|cmin|perm|user|group|printf)$/

/** The folders of a `find`; null where a part of its expression is not known. */
export const findRoots = (args: readonly string[]): string[] | null => {
  const first = args.findIndex(arg => /^[-(!,)]/.test(arg))
  const roots = args.slice(0, first < 0 ? args.length : first)
  for (let at = roots.length; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (FIND_VALUE.test(arg) && at + 1 < args.length) at++
    else if (!FIND_FLAG.test(arg)) return null
  }
  return roots
}

const isLines = (script = ''): boolean => /^[\d$]+(?:,[\d$]+)?p$/.test(script)

export const READER_OPTIONS: Readonly<Record<string, ReaderOptions>> = {
  ls,
  dir: ls,
  cat: { options: /^-[AbeEnstTuv]+$/ },
  head: lines,
  tail: lines,
  wc: { options: /^-[lwcmL]+$|^--(?:lines|words|chars|bytes)$/ },
  nl: { options: /^-ba$/ },
  tac: { options: NONE },
  rev: { options: NONE },
  cut: {
    options: /^-[dfcb].+$|^-s$|^--(?:delimiter|fields|characters)=.+$|^--complement$/s,
    takes: /^-[dfcb]$/,
  },
  paste: { options: /^-(?:s|d.+)$/s, takes: /^-d$/ },
  column: { options: /^-(?:t|s.+)$/s, takes: /^-s$/ },
  fold: { options: /^-(?:s|w?\d+)$/, takes: /^-w$/ },
  od: { options: /^-(?:c|x|A[dnox]|tx1)$/ },
  hexdump: { options: /^-C$/ },
  basename: text(/^-[a-z]+$/),
  dirname: text(NONE),
  realpath: { options: /^-[emsqz]+$/ },
  readlink: { options: /^-[efmn]+$/ },
  stat: { options: /^-(?:c.+|t)$|^--(?:format|printf)=.*$/s, takes: /^-c$/ },
  file: { options: /^-[bikNr]+$|^--(?:brief|mime|mime-type)$/ },
  du: {
    options: /^-(?:[ahsckmb]+|d\d+)$|^--(?:max-depth=\d+|summarize|human-readable|apparent-size)$/,
    takes: /^-d$/,
  },
  df: { options: /^-[hTik]+$/ },
  cmp: { options: /^-[bls]+$/ },
  comm: { options: /^-[123]+$/ },
  diff: {
    options: /^-(?:[uwbBiqsy]+|U\d+)$|^--(?:brief|unified(?:=\d+)?|color=\w+)$/,
    takes: /^-U$/,
  },
  sort: {
    options: /^-[bdfghinrRsuVcCz]+$|^-[kt].+$|^--(?:reverse|unique|numeric-sort|version-sort)$/s,
    takes: /^-[kt]$/,
  },
  // A second file is the output.
  uniq: { options: /^-[cdiu]+$/, holds: operands => operands.length <= 1 },
  md5sum: sums,
  sha1sum: sums,
  sha256sum: sums,
  sha512sum: sums,
  cksum: { options: NONE },
  grep,
  egrep: grep,
  fgrep: grep,
  rg: {
    options:
      /^-[ncilowvSsFUPNHu.]+$|^-[ABCm]\d+$|^-[gtT].+$|^--(?:line-number|ignore-case|files|hidden|no-ignore|count|files-with-matches|fixed-strings|word-regexp|smart-case|multiline|no-heading|heading|json|stats|(?:sort|type|color)=\w+|glob=.+|max-count=\d+)$/,
    takes: /^-[ABCmgtT]$|^--(?:glob|type|max-count|sort|context)$/,
    pattern: /^-e$|^--files$/,
  },
  fd,
  fdfind: fd,
  tree: {
    options: /^-(?:[adfpsugDhrtvCAnNQFiS]+)$|^--(?:noreport|dirsfirst|du|gitignore|prune)$/,
    takes: /^-[LIP]$/,
  },
  jq: {
    options: /^-[rcenSsMa]+$/,
    pattern: NONE,
    // With the environment, its keys; and other files.
    holds: (_, args) =>
      !args.some(arg => /env|ENV|import|include|input_filename|\$__loc/.test(arg)),
  },
  sed: {
    options: /^-n$/,
    pattern: NONE,
    // Prints lines: `sed -n 10,20p`.
    holds: (_, args) => args[0] === '-n' && isLines(args[1]),
  },
  pwd: text(/^-[LP]$/),
  echo: text(/^/),
  true: text(/^/),
  false: text(/^/),
  sleep: text(NONE),
  seq: text(/^-(?:w|\d+)$/),
  which: text(/^-a$/),
  type: text(/^-[atpP]$/),
  whoami: text(NONE),
  id: text(/^-[ugnG]+$/),
  groups: text(NONE),
  uname: text(/^-[asnrvmpio]+$/),
  nproc: text(/^--all$/),
  arch: text(NONE),
  tr: text(/^-[cCdst]+$/),
  test: text(/^-[a-uw-zA-QS-Z]$|^-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)$/),
  '[': text(/^-[a-uw-zA-QS-Z]$|^-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)$/),
  date: {
    options: /^-[uR]$|^--utc$|^-I\w*$/,
    takes: /^-d$/,
    isText: true,
    holds: operands => operands.every(format => format.startsWith('+')),
  },
  printf: {
    options: NONE,
    isText: true,
    holds: ([format = '']) => !/%[^%a-zA-Z]*[hjlLtz]*n/.test(format.replaceAll('%%', '')),
  },
  ps: {
    options: /^-(?:ef?|A|p|f)$/,
    isText: true,
    holds: operands => operands.every(arg => /^(?:aux?|ax|\d+)$/.test(arg)),
  },
  pgrep: text(/^-[flaxn]+$/),
}
