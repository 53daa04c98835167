/** Classifies one command and returns the reasons for approval. */
import { classifyProgram } from './classify-program.ts'
import { READ_ONLY } from './programs.ts'
import { ELSEWHERE, UNCLEAR } from './labels.ts'
import { runsElsewhere } from './outside-workspace.ts'
import { blockedReason } from './blocked-commands.ts'
import { readGit } from './git.ts'
import { languageOf } from './interpreters.ts'
import { SENDS, sendsInName } from './network.ts'
import { isSecret, kindOf, pathsIn, absolute } from './paths.ts'
import { RULES } from './rules.ts'
import { setsLoadedVariable } from './environment.ts'
import { classifyControlAccess, classifyOwnAccess, classifyPaths } from './path-effects.ts'
import { touchedFiles, readsOf } from './touched-files.ts'
import { HIDDEN_INDEX, UNKNOWN } from './syntax.ts'
import type { Finding, ShellContext, SimpleCommand } from './types.ts'
import type { LocalPrograms } from './local-programs.ts'

/** Builtins that evaluate an array index in their arguments and run substitutions in it. */
const EVALUATES =
  /^(?:\[\[?|test|let|declare|typeset|local|readonly|export|printf|unset|read|wait|mapfile|readarray|getopts)$/

const DROPS =
  /^(?:db:(?:drop|reset|purge|wipe|migrate:reset)(?::\w+)?|migrate:(?:fresh|reset|refresh)|doctrine:(?:database|schema):drop|ecto\.(?:drop|reset)|schema:drop|reset_db)$/

/** Subcommands of web frameworks that delete a database. */
const dropsData = ({ name, args }: SimpleCommand): boolean =>
  args.some(arg => DROPS.test(arg)) ||
  (args.some(arg => /(?:^|\/)manage\.py$/.test(arg)) && args.includes('flush')) ||
  (name === 'manage.py' && args.includes('flush')) ||
  (args.includes('prisma') && args.some(arg => /^(?:reset|--force-reset)$/.test(arg))) ||
  (name === 'dotnet' && args[0] === 'ef' && args.includes('drop'))

/** A file server that serves more than the workspace. */
const servesOutside = ({ name, args, cwd }: SimpleCommand, context: ShellContext): boolean => {
  const isServer =
    args.some(arg => /^(?:http\.server|http-server|serve|live-server)$/.test(arg)) ||
    /^(?:http-server|serve|live-server)$/.test(name) ||
    (name === 'php' && args.includes('-S'))
  if (!isServer) return false
  const isOutside = (path: string) => /^(?:outside|system)$/.test(kindOf(path, cwd, context))
  return (
    isOutside('.') ||
    args.some(
      arg =>
        /^(?:[~/]|\.\.)/.test(arg.replace(/^--?\w+=/, '')) &&
        isOutside(arg.replace(/^--?\w+=/, '')),
    )
  )
}

/** Without the filter of jq and similar programs, where `.env` is a key. */
const filesOf = (simple: SimpleCommand): string[] => {
  const reads = readsOf(simple)
  const { name, args } = simple
  if (!/^(?:jq|gojq|yq)$/.test(name) || args.some(arg => /^(?:-\w*f|--from-file)/.test(arg)))
    return reads
  const at = args.findIndex(arg => !arg.startsWith('-'))
  const filter = args[at]
  return /^-(?:\w*[nrcsSeajCMR]\w*|-(?!arg|slurpfile|rawfile|indent)\S*)$/.test(
    args[at - 1] ?? '-n',
  )
    ? reads.filter((path, next) => path !== filter || reads.indexOf(path) !== next)
    : reads
}

/** The reasons for approval of one command, including blocks. `isReadOnly`: it certainly changes nothing. */
export const classifyCommand = (
  simple: SimpleCommand,
  context: ShellContext,
  local: LocalPrograms,
): { findings: Finding[]; isReadOnly: boolean } => {
  const findings: Finding[] = []
  const addFinding = (label: string, more: Partial<Finding> = {}) =>
    findings.push({ label, ...more })
  const { name, args, redirects, cwd } = simple

  const blocked = blockedReason(simple, context)
  if (blocked !== undefined) addFinding(UNCLEAR, { blocked })
  if (name === UNKNOWN) addFinding(UNCLEAR, { isUnclear: true })

  const line = [name, ...args, ...redirects.map(({ op, target }) => `${op} ${target}`)].join(' ')
  const isProse =
    READ_ONLY.has(name) ||
    (name === 'git' && /^(?:commit|log|tag|grep|show|notes|config)$/.test(readGit(args).sub)) ||
    /^(?:gh|glab|npm)$/.test(name)
  for (const rule of RULES) {
    const text =
      isProse || languageOf(name)
        ? typeof simple.input === 'string' && !isProse
          ? simple.input
          : ''
        : `${line}\n${simple.input ?? ''}`
    if (
      rule.command?.(simple, context) ||
      (rule.text &&
        (rule.text.test(text) ||
          (/^cloud/.test(rule.label) &&
            rule.text.test(line) &&
            !/^(?:echo|grep|rg|printf)$/.test(name))))
    )
      addFinding(rule.label)
  }

  let isReadOnly = false
  if (name === '' || name === ':') isReadOnly = true
  else if (name !== UNKNOWN) isReadOnly = classifyProgram(simple, context, local, addFinding)

  if (EVALUATES.test(name) && args.some(arg => HIDDEN_INDEX.test(arg)))
    addFinding(UNCLEAR, { isUnclear: true })
  // The escapes of its format could spell one.
  if (name === 'printf' && args[0] === '-v' && args.some(arg => /\[[\s\S]*\\/.test(arg)))
    addFinding(UNCLEAR, { isUnclear: true })
  if (simple.assigns.some(([, value]) => HIDDEN_INDEX.test(value)))
    addFinding(UNCLEAR, { isUnclear: true })
  if (!isProse && dropsData(simple)) addFinding('SQL DROP')
  if (servesOutside(simple, context) || sendsInName(simple, context)) addFinding(SENDS)
  const where = runsElsewhere(simple, context)
  if (where === 'outside') addFinding(ELSEWHERE)
  else if (where === 'unknown') addFinding(UNCLEAR, { isUnclear: true })
  if (setsLoadedVariable(simple)) addFinding('environment that changes other programs')

  const touched = touchedFiles(simple)
  const isQuiet = classifyPaths(simple, touched, context, addFinding)
  isReadOnly = isReadOnly && isQuiet

  // Secrets and control files.
  if (
    !/^(?:ls|stat|chmod|chown|ssh|ssh-keygen|ssh-add|mkdir|test|\[|\[\[|find|basename|dirname|echo|printf|realpath|readlink|cd|pushd|touch|which|git|docker|export|exa|eza|tree|du)$/.test(
      name,
    ) ||
    redirects.some(({ op }) => op === '<')
  )
    for (const path of pathsIn(filesOf(simple))) {
      const full = absolute(path, cwd, context)
      if (
        full !== null &&
        isSecret(full, context) &&
        !(touched.writes.includes(path) && !/^(?:cp|mv|ln|rsync|sed|tee)$/.test(name))
      )
        addFinding('credential file read')
    }
  if (
    /^(?:grep|egrep|fgrep|rg|ag|ack|cp|rsync|tar|zip|scp|rclone|ditto|7z)$/.test(name) &&
    (name === 'rg' ||
      args.some(arg => /^-\w*[rRac]|^--rec|^--archive|^--hidden|^[a-z]*c[a-z]*f/.test(arg)) ||
      /^(?:rsync|zip)$/.test(name))
  )
    for (const path of args
      .filter(arg => !arg.startsWith('-'))
      .slice(/^(?:cp|rsync|tar|zip)$/.test(name) ? 0 : 1)) {
      const full = absolute(path, cwd, context)
      if (
        full === context.home ||
        full === '/' ||
        full === '/home' ||
        full === '/root' ||
        full === '/etc'
      )
        addFinding('credential file read')
    }
  if (redirects.some(({ target }) => /\/dev\/(?:tcp|udp)\//.test(target)))
    addFinding('network shell')
  classifyControlAccess(simple, touched, context, addFinding)
  classifyOwnAccess(simple, context, addFinding)
  return { findings, isReadOnly: isReadOnly && findings.length === 0 }
}
