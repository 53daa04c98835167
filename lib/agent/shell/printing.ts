/** The output of a command, if it is known before it runs. */
import { basename, dirname } from 'node:path/posix'
import { knownFile, type Shell } from './state.ts'
import { DATA, UNKNOWN } from './syntax.ts'
import type { SimpleCommand } from './types.ts'
import type { Value } from './words.ts'

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '', b: '', e: '\u001b' }

const unescaped = (text: string): string =>
  text.replace(
    /\\(?:x([0-9a-f]{1,2})|0?([0-7]{1,3})|u([0-9a-f]{1,4})|([\s\S]))/gi,
    (_, hex, octal, wide, char) => {
      if (char !== undefined) return ESCAPES[char] ?? char
      const code = Number.parseInt(hex ?? wide ?? octal, octal === undefined ? 16 : 8)
      return String.fromCharCode(code)
    },
  )

/** The output of a command, if it is known before it runs. */
export const printed = (simple: SimpleCommand, shell: Shell): string | undefined => {
  const { name, args, input } = simple
  const words = args.filter(arg => !arg.startsWith('-'))
  switch (name) {
    case 'echo': {
      const at = args.findIndex(arg => !/^-[neE]+$/.test(arg))
      const text = at < 0 ? '' : args.slice(at).join(' ')
      return `${unescaped(text)}\n`
    }
    case 'printf':
      return args[0] === '-v' ? '' : formatted(args[0] === '--' ? args.slice(1) : args)
    case 'pwd':
      return simple.cwd ?? undefined
    case 'whoami':
    case 'logname':
      return basename(shell.context.home)
    case 'which':
    case 'command':
    case 'type':
      return name === 'command' && !args.some(arg => /^-[vV]/.test(arg)) ? undefined : words.at(-1)
    case 'basename':
      return args.length === 1 && args[0] ? basename(args[0]) : DATA
    case 'dirname':
      return args.length === 1 && args[0] ? dirname(args[0]) : DATA
    case 'cat': {
      if (args.length === 0) return input ?? undefined
      const known = words.map(word => knownFile(word, shell))
      return known.every(text => text !== null) ? known.join('') : undefined
    }
    case 'git':
      return args.includes('--show-toplevel')
        ? (shell.context.workspace ?? shell.context.cwd)
        : undefined
    default:
      return undefined
  }
}

const formatted = ([format = '', ...values]: string[]): string => {
  const pattern = unescaped(format)
  if (values.length === 0) return pattern.replaceAll('%%', '%')
  const holes = pattern.match(/%[-\d.]*[sbdqxXo]/g)?.length ?? 0
  if (holes === 0) return pattern
  let text = ''
  for (let at = 0; at < values.length && at < 200; at += holes) {
    let next = at
    text += pattern.replace(/%([-\d.]*)([sbdqxXo])/g, () => unescaped(values[next++] ?? ''))
  }
  return text
}

/** The output of a pipeline; null if unknown. */
export const pipedText = (from: readonly SimpleCommand[], shell: Shell): string | null => {
  const first = from[0]
  const said = first && printed(first, shell)
  if (said === undefined) return null
  // `cat` and `tee` pass text on unchanged.
  return from.slice(1).every(({ name, args }) => /^(?:cat|tee)$/.test(name) && args.length <= 1)
    ? said
    : null
}

/** Programs whose output is names, numbers, or dates. */
const PRINTS_DATA = new Set(
  'date nproc find ls wc seq uname id stat sha1sum sha256sum md5sum sum cksum realpath readlink pgrep lsof tput expr hostname getconf arch du df git which type node python python3 jq cut awk sed grep rg head tail sort uniq tr xargs cargo go npm pnpm yarn docker kubectl brew ps openssl uuidgen cat rustc ruby gh'.split(
    ' ',
  ),
)
/** Programs that print files or the environment verbatim. */
const QUOTES = new Set(
  'cat tac head tail nl less more sed awk cut rev strings env printenv history base64 base32 xxd od paste fold'.split(
    ' ',
  ),
)
/** Programs that print data from elsewhere. */
const PRINTS_ANYTHING = new Set(
  'curl wget nc base64 base32 xxd openssl gpg rev printf echo tr sed'.split(' '),
)

/** The output of a substitution that runs these programs; null if unknown. */
export const substitutionValue = (seen: readonly SimpleCommand[], shell: Shell): Value => {
  const [only] = seen
  // `$(<file)`
  if (!only) return null
  if (seen.length === 1) {
    const said = printed(only, shell)
    if (said !== undefined) return [said.replace(/\n+$/, '')]
  }
  if (seen.some(({ name }) => QUOTES.has(name))) shell.hasQuoted = true
  if (seen.some(({ name }) => name === UNKNOWN)) return null
  const last = seen.at(-1)
  if (!last) return null
  if (last.name === 'mktemp') return [`/tmp/${DATA}`]
  if (
    seen.some(({ name }) => PRINTS_ANYTHING.has(name)) &&
    seen.length > 1 &&
    seen.some(({ name }) => /^(?:curl|wget|nc|base64|base32|xxd|openssl|gpg|rev|tr)$/.test(name))
  )
    return null
  return seen.every(
    ({ name }) =>
      PRINTS_DATA.has(name) ||
      /^(?:echo|printf|basename|dirname|pwd|cd|true|:|\[|test)$/.test(name),
  )
    ? [DATA]
    : null
}
