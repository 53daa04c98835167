/** What a shell command reaches: the command lines it starts, and the files and hosts they name. */
import { createDisk } from '../shell/disk.ts'
import { realPath } from '../../store/path-within.ts'
import { readdirSync } from 'node:fs'
import { matchesGlob } from '../deny-rules.ts'
import { startedIn } from '../shell/path-effects.ts'
import { textsIn } from '../shell/code.ts'
import { readGit } from '../shell/git.ts'
import { inspect } from '../shell/inspect.ts'
import { STARTS_OTHER, unrecognizedName } from '../shell/labels.ts'
import { runsOf, sedScripts } from '../shell/interpreters.ts'
import { absolute, pathsIn } from '../shell/paths.ts'
import { DATA, hasUnknown, MAX_COMMAND_CHARS, UNKNOWN, variants } from '../shell/syntax.ts'
import { readSed } from '../shell/sed.ts'
import { readsOf, touchedFiles } from '../shell/touched-files.ts'
import type { ShellContext, SimpleCommand } from '../shell/types.ts'
import type { Access } from './types.ts'

export type ReadCommand = {
  /** Every program it starts, nested ones included. */
  started: SimpleCommand[]
  /** The programs of the text itself. */
  parts: SimpleCommand[]
  /** Whether every program that it starts is known. */
  isFollowed: boolean
  /** Names of programs of which it is not known what they do. */
  unrecognized: ReadonlySet<string>
  /** A program starts another one, named in one of its arguments. */
  startsOthers: boolean
}

/** A list of words in place of a program: `set -- git push; "$@"`. */
const RUNS_LIST =
  /(?:^|[;&|({`\n]|\b(?:do|then|else|exec|command|eval))\s*"?\$(?:[@*]|\{(?:\w+\[)?[@*])/

export const readCommand = (command: string, shell: ShellContext): ReadCommand => {
  if (command.length > MAX_COMMAND_CHARS)
    return {
      started: [],
      parts: [],
      isFollowed: false,
      unrecognized: new Set(),
      startsOthers: false,
    }
  const context = { ...shell, disk: createDisk() }
  const all = variants(command).map(text => inspect(text, context))
  const labels = all.flatMap(({ findings }) => findings.map(({ label }) => label))
  return {
    started: all.flatMap(({ simples }) => simples),
    parts: all[0]?.parts ?? [],
    isFollowed: all.every(({ isFollowed }) => isFollowed) && !RUNS_LIST.test(command),
    unrecognized: new Set(labels.flatMap(label => unrecognizedName(label) ?? [])),
    startsOthers: labels.includes(STARTS_OTHER),
  }
}

/** The arguments without options before the subcommand: `git -C x push` is a `git push`. */
const withoutLeadingOptions = (args: readonly string[]): string[][] => {
  const found: string[][] = [[...args]]
  let at = 0
  while (at < args.length && found.length < 20) {
    while (/^-./.test(args[at] ?? '')) at++
    if (at === 0 || at === args.length) break
    found.push(args.slice(at))
    // The word may be the value of the option before it.
    const before = args[at - 1] ?? ''
    if (!/^-/.test(before) || before.includes('=')) break
    at++
    if (at < args.length) found.push(args.slice(at))
  }
  return found
}

/** An alias that `-c alias.x=…` defines for this call. */
const gitAlias = (args: readonly string[]): string[] => {
  const { sub, rest } = readGit(args)
  const value = args.flatMap(arg => (arg.startsWith(`alias.${sub}=`) ? [arg] : [])).at(-1)
  return value === undefined ? [] : [...value.slice(`alias.${sub}=`.length).split(/\s+/), ...rest]
}

/** The command line of a program, in every form that a pattern may be written for. `isUnknown`: it may run its arguments. */
export const linesOf = (
  { name, path, args, redirects }: SimpleCommand,
  isUnknown: boolean,
): string[] => {
  const forms = withoutLeadingOptions(args)
  if (name === 'git') {
    const { sub, rest } = readGit(args)
    forms.push([sub, ...rest], gitAlias(args))
  }
  const names = [
    ...new Set([name, path, ...(name.startsWith('git-') ? [`git ${name.slice(4)}`] : [])]),
  ]
  const lines = [
    ...names.flatMap(each => forms.map(form => [each, ...form].join(' ').trim())),
    ...(isUnknown
      ? args.flatMap((arg, at) => [
          args.slice(at).join(' '),
          ...(arg.includes('=') ? [arg.slice(arg.lastIndexOf('=') + 1)] : []),
        ])
      : []),
  ]
  const redirected = redirects.map(({ op, target }) => `${op} ${target}`).join(' ')
  return [
    ...new Set(
      redirected === '' ? lines : [...lines, ...lines.map(line => `${line} ${redirected}`)],
    ),
  ]
}

/** Show names of files, not what is in them; or, like git, read what they choose. */
const LISTS_NAMES =
  /^(?:ls|stat|test|\[|\[\[|cd|pushd|popd|pwd|basename|dirname|realpath|readlink|which|du|df|tree|find|gfind|fd|fdfind|git|touch|mkdir|chmod|chown|chgrp|rm|rmdir|mv)$/
/** Files that a wildcard is expanded to. */
const MAX_NAMES = 2_000
const MAX_WORD_CHARS = 4_096

const hasWildcard = (path: string): boolean => /[*?[]/.test(path)

const namesIn = (dir: string, glob: string): string[] => {
  try {
    return readdirSync(dir === '' ? '/' : dir).filter(
      // As in the shell, a wildcard does not match a leading dot.
      name => (!name.startsWith('.') || glob.startsWith('.')) && matchesGlob(glob, name),
    )
  } catch {
    // No such directory: nothing matches.
    return []
  }
}

/** The files that an absolute path with wildcards stands for; null when there are too many. */
const expandGlob = (path: string): string[] | null => {
  let found = ['']
  for (const part of path.split('/').filter(each => each !== '')) {
    found = found.flatMap(dir =>
      hasWildcard(part) ? namesIn(dir, part).map(name => `${dir}/${name}`) : [`${dir}/${part}`],
    )
    if (found.length > MAX_NAMES) return null
  }
  return found
}

type PathAccess = Extract<Access, { kind: 'read' | 'write' }>

/** A word of a command as paths. */
const pathAccesses = (
  kind: 'read' | 'write',
  word: string,
  reach: PathAccess['reach'],
  cwd: string | null,
  shell: ShellContext,
): PathAccess[] => {
  if (word === '' || word === '-' || word.length > MAX_WORD_CHARS) return []
  if (/^\w+:\/\//.test(word) || /^\/dev\/(?!shm)/.test(word)) return []
  const at = (path: string): PathAccess => ({ kind, path: realPath(path), named: path, reach })
  // A name that is known only at run time: any of a search, or one of those that fit.
  const isFound = word.endsWith(`/${DATA}`)
  const known = isFound ? word.slice(0, -2) : word.replaceAll(DATA, '*')
  const full = known.includes(UNKNOWN) ? null : absolute(known, cwd, shell)
  if (full === null) return [{ kind, path: null, reach: 'file' }]
  if (isFound) return [{ ...at(full), reach: 'tree', isUnsure: true }]
  if (!hasWildcard(full)) return [at(full)]
  const files = expandGlob(full)
  if (files === null) {
    const dir = full.slice(0, full.search(/[*?[]/)).replace(/\/[^/]*$/, '') || '/'
    return [{ ...at(dir), reach: 'tree', isUnsure: true }]
  }
  // Where nothing fits, the shell passes the pattern itself, and a new file may get any name.
  return [full.replaceAll('*', '0'), ...files].map(at)
}

const readWords = (simple: SimpleCommand): string[] => {
  const { name, args } = simple
  const words = name === 'git' ? [...readsOf(simple), ...readGit(args).rest] : readsOf(simple)
  return pathsIn(words).filter(word => !/^-/.test(word) && !/[\n;|&]/.test(word))
}

/** Search below the working directory when no path is given. */
const searchesHere = ({ name, args }: SimpleCommand): boolean => {
  const isRecursive =
    /^(?:rg|ag|ack|ugrep)$/.test(name) ||
    (/^[ef]?grep$/.test(name) && args.some(arg => /^-[a-zA-Z]*[rR]|^--(?:deref|recurs)/.test(arg)))
  return isRecursive && args.filter(arg => !arg.startsWith('-')).length < 2
}

const MAX_TOKENS = 500

/** Literals of a script given on the command line, and its words, which may be paths in a language without quotes. */
const codePaths = (code: string, cwd: string | null, shell: ShellContext): Access[] => {
  const isPath = (text: string) => text !== '' && text.length < 500 && !/[\s*?[]/.test(text)
  const literals = textsIn(code).flatMap(({ text }) => (isPath(text) ? [text] : []))
  const words = code.split(/[\s"'`(),;=]+/).filter(isPath)
  const unsure = [...new Set([...literals, ...words])].slice(0, MAX_TOKENS)
  return [
    ...literals.flatMap(text => pathAccesses('read', text, 'file', cwd, shell)),
    ...(['read', 'write'] as const)
      .flatMap(kind => unsure.flatMap(text => pathAccesses(kind, text, 'file', cwd, shell)))
      .map((access): Access => ({ ...access, isUnsure: true })),
  ]
}

const HOST = /^(?:[\w.+-]+@)?((?:[\w-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})(?=[:/]|$)/i
const TALKS = /^(?:curl|wget|https?|xh|aria2c|nc|ncat|netcat|ssh|scp|sftp|ftp|telnet|rsync)$/

const hostsOf = ({ name, args }: SimpleCommand): Access[] => {
  if (/^(?:echo|printf|grep|egrep|fgrep|rg|sed|awk)$/.test(name)) return []
  return args.flatMap((arg): Access[] => {
    if (TALKS.test(name) && arg.includes(UNKNOWN)) return [{ kind: 'host', host: null }]
    if (/\s/.test(arg)) return []
    const word = arg.replace(/^--?[\w-]+=/, '')
    const host =
      URL.canParse(word) && word.includes('://') ? new URL(word).hostname : HOST.exec(word)?.[1]
    return host ? [{ kind: 'host', host: host.toLowerCase() }] : []
  })
}

/** Files that a script of sed reads, and what may be files in one of awk. */
const scriptReads = (simple: SimpleCommand, shell: ShellContext): Access[] => {
  const { name, args, cwd } = simple
  if (/^g?sed$/.test(name))
    return sedScripts(args)
      .flatMap(script => readSed(script).reads)
      .flatMap(file => pathAccesses('read', file, 'file', cwd, shell))
  if (!/^[gmn]?awk$/.test(name)) return []
  return args.filter(arg => /getline/.test(arg)).flatMap(arg => codePaths(arg, cwd, shell))
}

/** Where it reads and writes: `git -C dir` works in another directory. */
const directoryOf = ({ name, args, cwd }: SimpleCommand, shell: ShellContext): string | null => {
  const dirs =
    name === 'git'
      ? args.flatMap((arg, at) => (arg === '-C' ? args.slice(at + 1, at + 2) : []))
      : []
  return dirs.reduce<string | null>(
    (dir, next) => (dir === null || hasUnknown(next) ? null : absolute(next, dir, shell)),
    cwd,
  )
}

const accessesOf = (given: SimpleCommand, shell: ShellContext): Access[] => {
  const simple = { ...given, cwd: directoryOf(given, shell) }
  const { name, args, cwd } = simple
  const { writes, fills, empties, deletes } = touchedFiles(simple)
  const skipsHidden =
    /^(?:rg|ag|ack)$/.test(name) &&
    !args.some(arg => /^-[a-zA-Z]*[u.]|^--(?:hid|no-ig|unres)/.test(arg))
  const access = (kind: 'read' | 'write', words: readonly string[], reach: PathAccess['reach']) =>
    words
      .flatMap(word => pathAccesses(kind, word, reach, cwd, shell))
      .map(found => (skipsHidden ? { ...found, skipsHidden } : found))
  const isRemoval = /^(?:rm|rmdir|unlink|shred|srm|trash|rimraf|mv|git)/.test(name)
  return [
    ...(isRemoval && name !== 'git'
      ? []
      : access('read', readWords(simple), LISTS_NAMES.test(name) ? 'file' : 'tree')),
    ...(name === 'mv' ? access('read', deletes, 'tree') : []),
    ...(searchesHere(simple) ? access('read', ['.'], 'tree') : []),
    ...access('read', startedIn(simple).filter(hasUnknown), 'file'),
    ...access(
      'write',
      [...writes, ...empties],
      /^(?:chmod|chown|chgrp)$/.test(name) ? 'tree' : 'file',
    ),
    ...access('write', intoFolders(simple, [...writes, ...fills]), 'file'),
    ...access('write', fills, 'into'),
    ...access('write', deletes, 'tree'),
    ...access('write', gitFiles(simple), 'tree'),
    ...runsOf(simple).flatMap(each =>
      each.kind === 'code' ? codePaths(each.text, cwd, shell) : [],
    ),
    ...scriptReads(simple, shell),
    ...hostsOf(simple),
  ]
}

/** Files that git replaces or deletes by name. */
const gitFiles = ({ name, args }: SimpleCommand): string[] => {
  if (name !== 'git') return []
  const { sub, rest } = readGit(args)
  return /^(?:checkout|restore|rm|mv|clean|apply|checkout-index)$/.test(sub)
    ? rest.filter(word => !word.startsWith('-'))
    : []
}

/** Names that files get in the folders they are copied to. */
const intoFolders = ({ name, args }: SimpleCommand, folders: readonly string[]): string[] =>
  /^(?:cp|mv|install|ln|rsync|scp|gcp|ditto)$/.test(name)
    ? folders.flatMap(folder =>
        args
          .filter(arg => !arg.startsWith('-') && !folders.includes(arg) && !hasUnknown(arg))
          .map(arg => `${folder}/${arg.replace(/\/+$/, '').split('/').at(-1)}`),
      )
    : []

/** The files and hosts that a command names. What a program does beyond its arguments is not known. */
export const commandAccesses = ({ started }: ReadCommand, shell: ShellContext): Access[] =>
  started.flatMap(simple => accessesOf(simple, shell))

/** As above, for a script of `execute_code`. */
export const scriptAccesses = (code: string, shell: ShellContext): Access[] => [
  ...codePaths(code, shell.cwd, shell),
  ...textsIn(code)
    .filter(({ isRun }) => isRun)
    .map(({ text }): Access => ({ kind: 'command', command: text, shell })),
]
