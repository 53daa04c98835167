/** Classifies programs whose options decide what they do: git, curl, find, sed, awk, kill, tar, sudo, … */
import { readGit } from './git.ts'
import { sedScripts } from './interpreters.ts'
import { OUTSIDE, UNCLEAR } from './labels.ts'
import type { LocalPrograms } from './local-programs.ts'
import { readCurl, readHttpie, readWget, SENDS, sendsInAddress } from './network.ts'
import type { AddFinding } from './path-effects.ts'
import { kindOf } from './paths.ts'
import { readSed } from './sed.ts'
import { hasUnknown, UNKNOWN } from './syntax.ts'
import type { ShellContext, SimpleCommand } from './types.ts'

export type ProgramCall = {
  simple: SimpleCommand
  /** Its arguments without options. */
  words: string[]
  context: ShellContext
  local: LocalPrograms
  addFinding: AddFinding
}

/** Adds the findings of one program. True if the call is read-only; undefined if the general rules decide. */
type Classifier = (call: ProgramCall) => boolean | undefined

const classifyGit: Classifier = ({ simple: { args }, addFinding }) => {
  const call = readGit(args)
  for (const label of call.labels) addFinding(label, label === UNCLEAR ? { isUnclear: true } : {})
  return call.isReadOnly
}

const classifyHttpClient: Classifier = ({ simple, context, local, addFinding }) => {
  const { name } = simple
  const { labels, urls } =
    name === 'curl' ? readCurl(simple) : name === 'wget' ? readWget(simple) : readHttpie(simple)
  if (sendsInAddress(urls, context, local.hasQuoted)) labels.push(SENDS)
  for (const label of new Set(labels)) addFinding(label)
  return false
}

const classifyFind: Classifier = ({ simple: { args }, addFinding }) => {
  if (args.some(arg => arg.startsWith(UNKNOWN))) addFinding(UNCLEAR, { isUnclear: true })
  return !args.some(arg => /^-(?:delete|exec|execdir|ok|okdir|fprint0?|fprintf|fls)$/.test(arg))
}

const classifyFd: Classifier = ({ simple: { args } }) =>
  !args.some(arg => /^(?:-[xX]|--exec)/.test(arg))

const classifySed: Classifier = ({ simple: { args }, addFinding }) => {
  const scripts = sedScripts(args)
  if (
    scripts.some(script => hasUnknown(script) && /^[\0\u0001]/.test(script)) ||
    args.some(arg => /^(?:-[a-zA-Z]*f|--file)/.test(arg))
  )
    addFinding(UNCLEAR, { isUnclear: true })
  const read = scripts.map(script => readSed(script.replace(/[\0\u0001]/g, 'x')))
  if (read.some(({ runs }) => runs.length > 0)) addFinding('program starts another command')
  if (read.some(({ isClear }) => !isClear)) addFinding(UNCLEAR, { isUnclear: true })
  return (
    !args.some(arg => /^-[a-zA-Z]*i|^--in/.test(arg)) &&
    read.every(({ writes }) => writes.length === 0)
  )
}

const AWK_RUNS = /\bsystem\s*\(|\|\s*&?\s*getline|\bgetline\b|\|&|@load|@include/

/** Awk runs commands with `system()` and pipes, and writes files with `>`. */
const classifyAwk: Classifier = ({ simple: { args }, addFinding }) => {
  const values = /^(?:-F|-v|--field-separator|--assign|-f|--file)$/
  if (args.some(arg => /^(?:-\w*f|--file)/.test(arg))) addFinding(UNCLEAR, { isUnclear: true })
  const program = args.find((arg, at) => !/^-./.test(arg) && !values.test(args[at - 1] ?? ''))
  if (program === undefined) return true
  if (/^[\0\u0001]/.test(program)) {
    addFinding(UNCLEAR, { isUnclear: true })
    return true
  }
  const plain = program.replace(/\\./g, '_')
  if (AWK_RUNS.test(plain)) addFinding('program starts another command')
  const bare = plain
    .replace(/"[^"]*"/g, '""')
    .replace(/(^|[\s,(!~&|{;])\/[^/\n]*\//g, '$1R')
    .replace(/\|\|/g, ' ')
  if (/\|/.test(bare)) addFinding('program starts another command')
  else if (/\bprintf?\b[^;}\n]*>/.test(bare.replace(/\([^()]*\)/g, ''))) addFinding(OUTSIDE)
  return true
}

const classifyKill: Classifier = ({ simple: { name, args }, words, addFinding }) => {
  if (args.some(arg => /^-[luUg]$/.test(arg)) && name === 'pkill') addFinding('end a process')
  if (
    name === 'kill' &&
    killTargets(args).some(arg => /^-\d+$|^[01]$/.test(arg)) &&
    !args.includes('-l')
  )
    addFinding('end a process')
  if (
    name !== 'kill' &&
    words.some(word =>
      /^(?:python[\d.]*|(?:ba|z|fi)?sh|java|ruby|perl|php|docker|code|\.\*?)$/.test(word),
    )
  )
    addFinding('end a process')
  if (name === 'killall' && args.some(arg => /^-[ur]|^--user|^--regexp/.test(arg)))
    addFinding('end a process')
  return false
}

const classifyPermissionChange: Classifier = ({
  simple: { name, args, cwd },
  words,
  context,
  addFinding,
}) => {
  if (
    args.some(arg => /^-\w*R|^--rec/.test(arg)) &&
    words.some(
      word =>
        kindOf(word, cwd, context) !== 'workspace' &&
        word.includes('/') &&
        kindOf(word, cwd, context) !== 'temporary',
    )
  )
    addFinding('broad permission change')
  if (name === 'chmod' && args.some(arg => /^[ugoa]*\+\w*s|^[2467]\d{3}$/.test(arg)))
    addFinding('broad permission change')
  if (name !== 'chmod') addFinding('broad permission change')
  return false
}

const classifyDatabaseShell: Classifier = ({ simple: { args, input }, addFinding }) => {
  if (
    [...args, input ?? ''].some(
      arg =>
        typeof arg === 'string' &&
        /(?:^|[\n;"'\s])\s*(?:\\!|\.shell|\.system|\.load\b|\.import\b.*\||system\s|\\copy.*program|\bcopy\b[\s\S]*\bprogram\b|\.output\s*\||\\o\s*\||\\g\s*\||load_extension|pg_read_file|lo_export|into\s+(?:out|dump)file|\.once\s*\||attach\s+database|writefile\s*\()/i.test(
          arg,
        ),
    )
  )
    addFinding('program starts another command')
  if (input === null) addFinding(UNCLEAR, { isUnclear: true })
  return undefined
}

const classifyEditor: Classifier = ({ addFinding }) => {
  addFinding('program starts another command')
  return false
}

const classifyAlias: Classifier = ({ words, addFinding }) => {
  if (words.some(word => word.includes('='))) addFinding(UNCLEAR, { isUnclear: true })
  return true
}

/** The sourced file is classified separately. */
const classifySource: Classifier = () => false

const classifyTar: Classifier = ({ simple: { args }, addFinding }) => {
  if (args.some(arg => arg.startsWith(UNKNOWN))) addFinding(UNCLEAR, { isUnclear: true })
  if (args.includes('--remove-files')) addFinding('recursive delete')
  if (/^(?=[a-zA-Z]*x)[a-zA-Z]*P/.test(args[0] ?? '')) addFinding(OUTSIDE)
  return false
}

const classifySystemdRun: Classifier = ({ addFinding }) => {
  addFinding('scheduled command')
  return false
}

const classifySudo: Classifier = ({ simple: { name, args }, words, addFinding }) => {
  if (
    words.length === 0 ||
    args.some(arg => /^(?:-e|--edit|-s|-i|--shell|--login|-b)$/.test(arg) && words.length === 0)
  )
    addFinding('system administration')
  if (args.some(arg => /^(?:-e|--edit)$/.test(arg)) || name === 'su')
    addFinding('system administration')
  return true
}

const classifyRsync: Classifier = ({ simple: { args }, addFinding }) => {
  if (args.some(arg => /^--(?:del|remove-s)/.test(arg))) addFinding('recursive delete')
  return false
}

const classifyMake: Classifier = ({ simple: { args }, words, addFinding }) => {
  if (
    args.some(
      (arg, at) =>
        /^(?:-f|--file|--makefile)$/.test(arg) && /^(?:-|\/dev\/stdin)$/.test(args[at + 1] ?? ''),
    ) ||
    args.some(arg => /^(?:-f-|-f\/dev|--file=(?:-|\/dev)|--makefile=-)/.test(arg))
  )
    addFinding('program starts another command')
  if (words.some(word => /^(?:install|uninstall|deploy|publish|release|push)$/.test(word)))
    addFinding(/install/.test(words.join(' ')) ? OUTSIDE : 'publish to others')
  return undefined
}

/** Process and group ids, without the signal. */
const killTargets = (args: string[]): string[] =>
  args.filter(
    (arg, at) =>
      arg !== '--' &&
      !(at === 0 && args.length > 1 && /^-[\w]+$/.test(arg)) &&
      !/^-[sn]$/.test(args[at - 1] ?? ''),
  )

/** Classifiers of programs with options that change what they do, by program name. */
export const PROGRAM_CLASSIFIERS: ReadonlyMap<string, Classifier> = new Map(
  (
    [
      [['git'], classifyGit],
      [['curl', 'wget', 'http', 'https', 'xh'], classifyHttpClient],
      [['find', 'gfind'], classifyFind],
      [['fd', 'fdfind'], classifyFd],
      [['sed', 'gsed'], classifySed],
      [['awk', 'gawk', 'mawk', 'nawk'], classifyAwk],
      [['kill', 'pkill', 'killall'], classifyKill],
      [['chmod', 'chown', 'chgrp'], classifyPermissionChange],
      [
        ['psql', 'mysql', 'mariadb', 'sqlite3', 'sqlite', 'mongosh', 'redis-cli'],
        classifyDatabaseShell,
      ],
      [['ed', 'ex', 'vi', 'vim', 'nvim', 'view', 'emacs'], classifyEditor],
      [['alias'], classifyAlias],
      [['source', '.'], classifySource],
      [['tar', 'bsdtar'], classifyTar],
      [['systemd-run'], classifySystemdRun],
      [['sudo', 'doas', 'su', 'pkexec', 'run0'], classifySudo],
      [['rsync'], classifyRsync],
      [['make', 'gmake'], classifyMake],
    ] as const
  ).flatMap(([names, classifier]) => names.map(name => [name, classifier] as const)),
)
