/** The files and hosts that the words of a command name. What a program reaches beyond them is not known. */
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { followPath } from '../../store/path-within.ts'
import { statIfExists } from '../hard-links.ts'
import type { CommandPart, ReadCommand, ShellContext } from './types.ts'

export type NamedPath = {
  /** Absolute; null: known only at run time. */
  path: string | null
  /** What the program certainly does with it; `either`: it reads it, and may change it. */
  kind: 'read' | 'write' | 'both' | 'either'
  /** With everything below it. */
  isTree: boolean
  /** It may be no path at all, as in the text of a script. */
  isUnsure: boolean
}

const MAX_WORD_CHARS = 4_096
const MAX_TOKENS = 500
const MAX_NAMES = 2_000

/** Change every file that they name. */
const CHANGES =
  /^(?:rm|rmdir|unlink|shred|srm|touch|truncate|tee|sponge|chmod|chown|chgrp|mkdir|rimraf|trash|patch)$/
/** Change the last one, and read the others. */
const COPIES = /^(?:cp|install|ln|rsync|scp|gcp|ditto)$/
/** Only print; their words are texts. */
const PRINTS = /^(?:echo|printf|true|false|export|sleep|which|type|alias|trap)$/
/** Show the names of files, not what is in them. */
const LISTS =
  /^(?:ls|stat|test|\[|cd|pushd|pwd|basename|dirname|realpath|readlink|du|df|tree|find|fd|fdfind|touch|mkdir|chmod|chown|chgrp|rmdir)$/
const READS =
  /^(?:cat|head|tail|wc|nl|tac|less|more|grep|egrep|fgrep|rg|ag|ack|sort|uniq|cut|diff|cmp|comm|file|strings|od|xxd|hexdump|base64|md5sum|sha\d*sum|jq|bat|source|\.)$/

const inPlace = ({ name, words }: CommandPart): boolean =>
  /^(?:g?sed|perl|ruby)$/.test(name) &&
  words.some(({ value }) => value !== null && /^-[a-zA-Z]*i|^--in-?p/.test(value))

/** What may be paths in a text that is none: `open('secret/key')`, `if=secret/key`, `HEAD:secret/key`, `@secret/key`. */
const tokensIn = (text: string): string[] =>
  [...new Set(text.split(/[\s"'`(),;=:@<>|&]+/))]
    .filter(token => token !== '' && token.length < 500)
    .slice(0, MAX_TOKENS)

const isTree = (path: string): boolean => statIfExists(path)?.isDirectory() === true

/** A word of variables that the environment has: `"$HOME/.ssh"`. Null: it needs more than that. */
export const fromEnvironment = (
  raw: string | undefined,
  { env = {} }: ShellContext,
): string | null => {
  const text = raw
    ?.replaceAll('"', '')
    .replace(/\$(?:(\w+)|\{(\w+)\})/g, (whole, name, other) => env[name ?? other] ?? whole)
  return text === undefined || /[$`'\\]/.test(text) ? null : text
}

/** Lead to what is known only at run time. */
const RUN_TIME = /^~|^\/proc\/(?:self|thread-self|\d+)\/(?:cwd|root|fd)\b/
/** Take the files that they work on from elsewhere. */
const TAKES_NAMES = /^(?:xargs|parallel|cpio|pax)$/

/** The folders in which a part may run: where the command starts, and where a `cd` in it leads. */
const foldersOf = ({ parts }: ReadCommand, shell: ShellContext): (string | null)[] => {
  const folders: (string | null)[] = [shell.cwd]
  for (const { name, words } of parts) {
    const dirs =
      name === 'cd' || name === 'pushd'
        ? words.slice(0, 1)
        : words.filter((_, at) => /^(?:-C|--chdir|--directory)$/.test(words[at - 1]?.value ?? ''))
    for (const { value: literal, raw } of dirs) {
      const value = literal ?? fromEnvironment(raw, shell)
      const to = value?.replace(/^~(?=\/|$)/, () => shell.home)
      folders.push(...(to === undefined ? [null] : folders.map(dir => dir && resolve(dir, to))))
    }
    if (folders.length > 16) return [...folders.slice(0, 16), null]
  }
  return [...new Set(folders)]
}

/** Every file that the words name, in every folder in which the command may run. */
export const namedPaths = (command: ReadCommand, shell: ShellContext): NamedPath[] => {
  const folders = foldersOf(command, shell)
  const dirs = folders.filter(dir => dir !== null)
  const paths: NamedPath[] = folders.length > dirs.length ? [UNKNOWN] : []
  const add = (value: string | null, access: Omit<NamedPath, 'path'>, isGlob = false): void => {
    if (value === null) return void paths.push({ ...UNKNOWN, kind: access.kind })
    if (value === '' || value === '-' || value.length > MAX_WORD_CHARS || value.includes('\0'))
      return
    if (/^\w+:\/\//.test(value) || /^\/dev\/(?!shm)/.test(value)) return
    const text = value.replace(/^~(?=\/|$)/, () => shell.home)
    if (RUN_TIME.test(text)) return void paths.push({ ...UNKNOWN, kind: access.kind })
    for (const dir of dirs) {
      const names = isGlob ? globSync(text, { cwd: dir }).slice(0, MAX_NAMES) : [text]
      for (const name of names) {
        const path = name.includes('..') ? followPath(dir, name) : resolve(dir, name)
        paths.push({ ...access, path, isTree: access.isTree && isTree(path) })
      }
    }
  }
  for (const part of command.parts) {
    const { name, words, redirects, inputs, assigns } = part
    for (const { op, target: literal, raw } of redirects) {
      const target = literal ?? fromEnvironment(raw, shell)
      if (!(op === '>&' && target !== null && /^[\d-]+$/.test(target)))
        add(target, { kind: op.includes('>') ? 'write' : 'read', isTree: false, isUnsure: false })
    }
    if (PRINTS.test(name)) continue
    if (TAKES_NAMES.test(name)) paths.push(UNKNOWN)
    const runsOthers = words.some(({ value }) => /^-(?:exec|ok)|^-x$/i.test(value ?? ''))
    const operands = words.filter(({ value }) => value === null || !value.startsWith('-'))
    const searchesHere =
      /^(?:rg|ag|ack)$/.test(name) ||
      (/grep$/.test(name) && words.some(({ value }) => /^-[a-zA-Z]*[rR]/.test(value ?? '')))
    if ((searchesHere && operands.length < 2) || (runsOthers && operands.length === 0))
      add('.', { kind: 'read', isTree: true, isUnsure: false })
    words.forEach(word => {
      const { isGlob, raw } = word
      const value = word.value ?? fromEnvironment(raw, shell)
      const isLast = word === operands.at(-1)
      const kind =
        name === 'mv'
          ? 'both'
          : CHANGES.test(name) || inPlace(part) || (COPIES.test(name) && isLast)
            ? 'write'
            : READS.test(name) || LISTS.test(name) || COPIES.test(name)
              ? 'read'
              : 'either'
      const isTreeToo = (!LISTS.test(name) || runsOthers) && name !== 'git'
      if (value === null || /^[^-\s"'`()=@:][^\s"'`()]*$/.test(value))
        add(value, { kind, isTree: isTreeToo, isUnsure: false }, isGlob)
      if (value !== null && /[\s"'`(),;=:@-]/.test(value))
        for (const token of tokensIn(value.replace(/^--?[\w-]+=/, '').replace(/^-[a-zA-Z]/, '')))
          add(token, { kind, isTree: isTreeToo, isUnsure: /[\s"'`(]/.test(value) })
    })
    for (const text of [...inputs, ...assigns.map(([, value]) => value)])
      if (text !== null)
        for (const token of tokensIn(text))
          add(token, { kind: 'either', isTree: false, isUnsure: true })
  }
  return paths
}

const UNKNOWN: NamedPath = { path: null, kind: 'either', isTree: false, isUnsure: true }

const HOST = /^(?:[\w.+-]+@)?((?:[\w-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})(?=[:/]|$)/i
const TALKS = /^(?:curl|wget|https?|xh|aria2c|nc|ncat|netcat|ssh|scp|sftp|ftp|telnet|rsync|git)$/

/** Hosts that the words name; null: known only at run time. */
export const namedHosts = ({ parts }: ReadCommand): (string | null)[] =>
  parts.flatMap(({ name, words }) =>
    PRINTS.test(name) || /grep$|^rg$/.test(name)
      ? []
      : words.flatMap(({ value }): (string | null)[] => {
          if (value === null) return TALKS.test(name) && name !== 'git' ? [null] : []
          const word = value.replace(/^--?[\w-]+=/, '')
          const urls = [...word.matchAll(/\b[a-z][a-z+]*:\/\/[^\s"'`]+/gi)].flatMap(([url]) =>
            URL.canParse(url) ? [new URL(url).hostname] : [],
          )
          const host = urls.length === 0 && TALKS.test(name) ? HOST.exec(word)?.[1] : undefined
          return [...urls, ...(host ? [host] : [])].map(each => each.toLowerCase())
        }),
  )
