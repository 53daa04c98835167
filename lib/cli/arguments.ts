/** What was typed behind the program's name, for the verbs that are no start of the service. */

export const COMMANDS = ['chat', 'doctor', 'export', 'password', 'help', 'version'] as const
export type CliCommand = (typeof COMMANDS)[number]

export const HELP = `Usage:
  agent-webui [port] [--host address] [--no-browser]   start the service
  agent-webui chat [message] [options]                 talk to the agent here, in this directory
  agent-webui doctor [--json] [-p profile]             what is set up, what is missing, what to do
  agent-webui doctor --wait [seconds]                  wait until the service answers (30); exit code for health checks
  agent-webui export --as json directory [session …]   save sessions in the format of Hermes WebUI
  agent-webui password [--off]                         set the password of the service, or remove it
  agent-webui --help | --version

Options of chat:
  -p, --profile name    another profile than the active one
  -m, --model model     another model than the profile's
  -c, --continue        go on with the newest conversation of the command line
  -r, --resume id       go on with this one
  -q, --quiet           only the answer: no lines about tools

The answer goes to standard output, everything else to standard error. Without a message
chat asks for one, again and again; /new begins anew, /exit or Ctrl-D ends. Ctrl-C stops
the answer, twice it ends the program. Conversations are kept in the profile's state.db.
`

export type ChatArguments = {
  message: string | null
  profile: string | null
  model: string | null
  resume: string | null
  newest: boolean
  quiet: boolean
}
export type DoctorArguments = {
  json: boolean
  profile: string | null
  /** Wait this long for the service to answer instead of checking the setup. */
  waitSeconds: number | null
}
export type PasswordArguments = { off: boolean }
export type ExportArguments = { directory: string; sessions: string[] }

/** How long `doctor --wait` waits by default. */
const WAIT_S = 30

/** Null when the words start the service, as they always did. */
export const commandOf = (argv: readonly string[]): CliCommand | null => {
  const [first] = argv
  if (argv.includes('--help') || argv.includes('-h')) return 'help'
  if (first === '--version' || first === '-V') return 'version'
  return COMMANDS.find(verb => verb === first) ?? null
}

const valueAt = (argv: readonly string[], at: number, option: string): string => {
  const value = argv[at]
  if (value === undefined || value === '') throw new Error(`${option} needs a value.`)
  return value
}

/** `--model=x` is `--model x`. */
const splitEquals = (argv: readonly string[]): string[] =>
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
    else if (word === '-q' || word === '--quiet') parsed.quiet = true
    else if (word.startsWith('-') && word !== '-')
      throw new Error(`"${word}" is not an option of chat; see agent-webui --help.`)
    else words.push(word)
  }
  if (parsed.newest && parsed.resume !== null)
    throw new Error('Either --continue or --resume, not both.')
  const message = words.join(' ').trim()
  return { ...parsed, message: message === '' || message === '-' ? null : message }
}

export const parseDoctor = (argv: readonly string[]): DoctorArguments => {
  const parsed: DoctorArguments = { json: false, profile: null, waitSeconds: null }
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '--json') parsed.json = true
    else if (word === '-p' || word === '--profile') parsed.profile = valueAt(given, ++at, word)
    else if (word === '--wait') {
      const seconds = /^\d{1,5}$/.test(given[at + 1] ?? '') ? given[++at] : undefined
      parsed.waitSeconds = seconds === undefined ? WAIT_S : Number(seconds)
    } else throw new Error(`"${word}" is not an option of doctor; see agent-webui --help.`)
  }
  return parsed
}

export const parseExport = (argv: readonly string[]): ExportArguments => {
  const words: string[] = []
  let format: string | null = null
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '--as') format = valueAt(given, ++at, word)
    else if (word.startsWith('-'))
      throw new Error(`"${word}" is not an option of export; see agent-webui --help.`)
    else words.push(word)
  }
  if (format !== 'json') throw new Error('export needs --as json; there is no other format.')
  const [directory, ...sessions] = words
  if (directory === undefined) throw new Error('export needs a directory to write to.')
  return { directory, sessions }
}

export const parsePassword = (argv: readonly string[]): PasswordArguments => {
  // The password itself would be in the list of processes and in the history of the shell.
  const odd = argv.find(word => word !== '--off')
  if (odd !== undefined)
    throw new Error(
      'password takes no words but --off; it asks for the password, or reads it from a pipe.',
    )
  return { off: argv.includes('--off') }
}
