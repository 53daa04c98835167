/** The command-line arguments of every command except starting the server. */

export const COMMANDS = [
  'chat',
  'acp',
  'mcp',
  'doctor',
  'export',
  'password',
  'help',
  'version',
] as const
export type CliCommand = (typeof COMMANDS)[number]

export const HELP = `Usage:
  agent-webui [port] [--host address] [--no-browser]   start the server
  agent-webui chat [message] [options]                 chat with the agent in this directory
  agent-webui acp [-p profile] [-m model]              serve an editor over the Agent Client Protocol
  agent-webui mcp [-p profile] [-m model]              sessions, search, and the agent as tools of an MCP server
  agent-webui doctor [--json] [-p profile]             check the setup and suggest fixes
  agent-webui doctor --wait [seconds]                  wait until the server responds (default 30 s); for health checks
  agent-webui export --as json directory [session …]   export sessions in the format of Hermes WebUI
  agent-webui password [--off]                         set the server's password, or remove it
  agent-webui password --reset-factors                 remove all passkeys and one-time codes
  agent-webui --help | --version

Options of chat:
  -p, --profile name    use this profile instead of the active one
  -m, --model model     use this model instead of the profile's
  -c, --continue        continue the newest command-line session
  -r, --resume id       continue this session
      --plan            plan mode: read-only until you approve a plan
  -q, --quiet           print only the answer, no lines about tools

The answer goes to standard output, everything else to standard error. Without a message,
chat prompts for messages: /new starts a new session, /exit or Ctrl-D quits. Ctrl-C stops
the answer; pressed twice it quits. Sessions are saved in the profile's state.db.
`

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
  /** Seconds to wait for the server to respond, instead of checking the setup. */
  waitSeconds: number | null
}
export type PasswordArguments = {
  off: boolean
  /** Removes passkeys and codes instead of setting a password. */
  resetFactors: boolean
}
export type ExportArguments = { directory: string; sessions: string[] }

/** Default of `doctor --wait`. */
const WAIT_S = 30

/** Null when the arguments start the server. */
export const commandOf = (argv: readonly string[]): CliCommand | null => {
  const [first] = argv
  if (argv.includes('--help') || argv.includes('-h')) return 'help'
  if (first === '--version' || first === '-V') return 'version'
  return COMMANDS.find(command => command === first) ?? null
}

const valueAt = (argv: readonly string[], at: number, option: string): string => {
  const value = argv[at]
  if (value === undefined || value === '') throw new Error(`${option} needs a value.`)
  return value
}

/** Splits `--model=x` into `--model x`. */
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
      throw new Error(`"${word}" is not an option of chat. See agent-webui --help.`)
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
    else throw new Error(`"${word}" is not an option of ${command}. See agent-webui --help.`)
  }
  return parsed
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
    } else throw new Error(`"${word}" is not an option of doctor. See agent-webui --help.`)
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
      throw new Error(`"${word}" is not an option of export. See agent-webui --help.`)
    else words.push(word)
  }
  if (format !== 'json') throw new Error('export needs --as json, the only format.')
  const [directory, ...sessions] = words
  if (directory === undefined) throw new Error('export needs an output directory.')
  return { directory, sessions }
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
