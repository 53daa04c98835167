/** The command-line arguments of every command except starting the server. */

import { closest, distance } from 'fastest-levenshtein'
import { fromSeconds } from '../base/clock.ts'
import { HELP } from './help.ts'

/** `serve` starts the server, as no command does. */
export type CliCommand = Exclude<keyof typeof HELP, 'serve'> | 'help' | 'version' | 'unknown'

const COMMANDS = [...(Object.keys(HELP) as (keyof typeof HELP)[]), 'help', 'version'] as const

export type ChatArguments = {
  message: string | null
  profile: string | null
  model: string | null
  resume: string | null
  newest: boolean
  plan: boolean
  quiet: boolean
}
/** Of the commands that serve a program on standard input and output. */
export type ServeArguments = { profile: string | null; model: string | null }
export type DoctorArguments = {
  json: boolean
  profile: string | null
  /** Apply what is safe. */
  fix: boolean
  /** Only say what `fix` would do. */
  dryRun: boolean
  /** How long to wait for the server to respond, instead of checking the setup; in milliseconds. */
  waitMs: number | null
  /** Check the server through the reverse proxy at this address, instead of the setup. */
  url: string | null
}
export type PasswordArguments = {
  off: boolean
  /** Removes passkeys and codes instead of setting a password. */
  resetFactors: boolean
}
export type ConfigArguments = { does: 'show' | 'accept' | 'restore'; profile: string | null }
export type ExportArguments = {
  format: 'json' | 'markdown'
  directory: string
  /** Empty: all. */
  sessions: string[]
}
export type ImportArguments = {
  file: string
  profile: string | null
  isDryRun: boolean
  json: boolean
}

/** Default of `doctor --wait`. */
const WAIT_MS = 30_000

/** Fewer letters differ in a slip of the fingers. */
const MAX_SLIPS = 2

/** A sentence when an argument is meant as a command and is none; a port is a number. */
export const unknownCommand = (argv: readonly string[]): string | null => {
  const [first = ''] = argv[0] === 'help' ? argv.slice(1) : argv
  if (!/^[a-z]/i.test(first) || COMMANDS.some(name => name === first)) return null
  const nearest = closest(first, [...COMMANDS])
  return distance(first, nearest) <= MAX_SLIPS
    ? `"${first}" is not a command; did you mean agent-webui ${nearest}?`
    : `"${first}" is not a command; agent-webui --help lists them all.`
}

/** Null when the arguments start the server. */
export const commandOf = (argv: readonly string[]): CliCommand | null => {
  const [first, second] = argv
  if (unknownCommand(argv) !== null) return 'unknown'
  if (argv.includes('--help') || argv.includes('-h')) return 'help'
  if (first === '--version' || first === '-V' || first === '-v') return 'version'
  // Said to the agent, it is a message.
  if (second === 'help' && argv.length === 2 && first !== 'chat') return 'help'
  const command = COMMANDS.find(name => name === first)
  return command === undefined || command === 'serve' ? null : command
}

/** The arguments of the server, without its optional command. */
export const serverArguments = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'serve' ? argv.slice(1) : argv

export const valueAt = (argv: readonly string[], at: number, option: string): string => {
  const value = argv[at]
  if (value === undefined || value === '') throw new Error(`${option} needs a value.`)
  return value
}

/** Splits `--model=x` into `--model x`. */
export const splitEquals = (argv: readonly string[]): string[] =>
  argv.flatMap(word => {
    const [, option, value] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? []
    return option === undefined || value === undefined ? [word] : [option, value]
  })

export const parseChat = (argv: readonly string[]): ChatArguments => {
  const parsed: ChatArguments = {
    message: null,
    profile: null,
    model: null,
    resume: null,
    newest: false,
    plan: false,
    quiet: false,
  }
  const words: string[] = []
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '--') {
      words.push(...given.slice(at + 1))
      break
    }
    if (word === '-p' || word === '--profile') parsed.profile = valueAt(given, ++at, word)
    else if (word === '-m' || word === '--model') parsed.model = valueAt(given, ++at, word)
    else if (word === '-r' || word === '--resume') parsed.resume = valueAt(given, ++at, word)
    else if (word === '-c' || word === '--continue') parsed.newest = true
    else if (word === '--plan') parsed.plan = true
    else if (word === '-q' || word === '--quiet') parsed.quiet = true
    else if (word.startsWith('-') && word !== '-')
      throw new Error(`"${word}" is not an option of chat. See agent-webui chat --help.`)
    else words.push(word)
  }
  if (parsed.newest && parsed.resume !== null)
    throw new Error('Use either --continue or --resume, not both.')
  const message = words.join(' ').trim()
  return { ...parsed, message: message === '' || message === '-' ? null : message }
}

export const parseServe = (command: CliCommand, argv: readonly string[]): ServeArguments => {
  const parsed: ServeArguments = { profile: null, model: null }
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '-p' || word === '--profile') parsed.profile = valueAt(given, ++at, word)
    else if (word === '-m' || word === '--model') parsed.model = valueAt(given, ++at, word)
    else
      throw new Error(
        `"${word}" is not an option of ${command}. See agent-webui ${command} --help.`,
      )
  }
  return parsed
}

const publicUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new Error(`--url needs an address like https://agent.example.com/path, not "${text}".`)
  return url.href
}

export const parseDoctor = (argv: readonly string[]): DoctorArguments => {
  const parsed: DoctorArguments = {
    json: false,
    profile: null,
    fix: false,
    dryRun: false,
    waitMs: null,
    url: null,
  }
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '--json') parsed.json = true
    else if (word === '--url') parsed.url = publicUrl(valueAt(given, ++at, word))
    else if (word === '--fix') parsed.fix = true
    else if (word === '--dry-run') parsed.dryRun = true
    else if (word === '-p' || word === '--profile') parsed.profile = valueAt(given, ++at, word)
    else if (word === '--wait') {
      const seconds = /^\d{1,5}$/.test(given[at + 1] ?? '') ? given[++at] : undefined
      parsed.waitMs = seconds === undefined ? WAIT_MS : fromSeconds(Number(seconds))
    } else throw new Error(`"${word}" is not an option of doctor. See agent-webui doctor --help.`)
  }
  if (parsed.dryRun && !parsed.fix) throw new Error('--dry-run needs --fix.')
  if (parsed.url !== null && (parsed.fix || parsed.waitMs !== null || parsed.profile !== null))
    throw new Error('--url checks the address only: use it without --fix, --wait, and --profile.')
  return parsed
}

const EXPORT_FORMATS = ['json', 'markdown'] as const

export const parseExport = (argv: readonly string[]): ExportArguments => {
  const words: string[] = []
  let format: string | null = null
  let isAll = false
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '--as') format = valueAt(given, ++at, word)
    else if (word === '--all') isAll = true
    else if (word.startsWith('-'))
      throw new Error(`"${word}" is not an option of export. See agent-webui export --help.`)
    else words.push(word)
  }
  const known = EXPORT_FORMATS.find(each => each === (format ?? 'json'))
  if (known === undefined) throw new Error('export needs --as json or --as markdown.')
  const [directory, ...sessions] = words
  if (directory === undefined) throw new Error('export needs an output directory.')
  if (isAll && sessions.length > 0) throw new Error('Use either --all or the ids of sessions.')
  return { format: known, directory, sessions }
}

export const parseImport = (argv: readonly string[]): ImportArguments => {
  let profile: string | null = null
  const words: string[] = []
  const flags = new Set<string>()
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '-p' || word === '--profile') profile = valueAt(given, ++at, word)
    else if (word === '--dry-run' || word === '--json') flags.add(word)
    else if (word.startsWith('-'))
      throw new Error(`"${word}" is not an option of import. See agent-webui import --help.`)
    else words.push(word)
  }
  const [file, ...more] = words
  if (file === undefined || more.length > 0) throw new Error('import needs one file.')
  return { file, profile, isDryRun: flags.has('--dry-run'), json: flags.has('--json') }
}

export const parseConfig = (argv: readonly string[]): ConfigArguments => {
  const parsed: ConfigArguments = { does: 'show', profile: null }
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '-p' || word === '--profile') parsed.profile = valueAt(given, ++at, word)
    else if ((word === 'accept' || word === 'restore') && at === 0) parsed.does = word
    else throw new Error(`"${word}" is not an argument of config. See agent-webui config --help.`)
  }
  return parsed
}

export const parsePassword = (argv: readonly string[]): PasswordArguments => {
  // A password in an argument would be visible in the process list and the shell history.
  const odd = argv.find(word => word !== '--off' && word !== '--reset-factors')
  if (odd !== undefined)
    throw new Error(
      'password takes no argument except --off and --reset-factors. It prompts for the password, or reads it from a pipe.',
    )
  return { off: argv.includes('--off'), resetFactors: argv.includes('--reset-factors') }
}
