/**
 * The commands of `agent-webui`: one table, from which arguments are parsed, and help and mistakes are worded. What a command
 * does is loaded when it runs.
 */
import { parseArgs } from 'node:util'
import { closest, distance } from 'fastest-levenshtein'
import { fromSeconds } from '../base/clock.ts'
import { isCellName, isLabel } from '../base/cluster-settings.ts'
import type { CommandContext } from './run.ts'

type Option = {
  short?: string
  /** What its value is called; absent: it has none. */
  value?: string
  /** The value where no number follows. */
  fallback?: string
  multiple?: true
  help: string
}
type Options = Readonly<Record<string, Option>>
type Values<O extends Options> = {
  [Name in keyof O]?: O[Name] extends { value: string }
    ? O[Name] extends { multiple: true }
      ? string[]
      : string
    : boolean
}

/** Lines of help: what is typed, and what it means. */
type Explained = readonly (readonly [words: string, help: string])[]

type Definition<O extends Options, A> = {
  /** One line for the list of commands. */
  summary: string
  /** Words after the name; absent: it takes none. */
  usage?: string
  words?: Explained
  options?: O
  /** What else is good to know. */
  notes?: string
  /** What to say about a word that is no option of the command. */
  refuse?: (word: string) => string | undefined
  /** Throws a sentence for arguments that do not go together. */
  read: (words: string[], values: Values<O>) => A
  run: (args: A, context: CommandContext) => Promise<number>
}

type Command = Pick<Definition<Options, unknown>, 'summary' | 'usage' | 'words' | 'notes'> & {
  options: Options
  /** Throws a sentence for a wrong argument. */
  parse: (argv: readonly string[]) => (context: CommandContext) => Promise<number>
}

/** A value that may be absent: `--wait` before another option, or at the end. */
const withFallbacks = (argv: readonly string[], options: Options): string[] =>
  argv.map((word, at) => {
    const { fallback } = options[word.replace(/^--/, '')] ?? {}
    return fallback === undefined || /^\d{1,5}$/.test(argv[at + 1] ?? '')
      ? word
      : `${word}=${fallback}`
  })

const command = <A, const O extends Options = Record<never, never>>(
  name: string,
  { options = {} as O, read, run, refuse, ...texts }: Definition<O, A>,
): Command => {
  const see = `See agent-webui ${name} --help.`
  const parse = (argv: readonly string[]): A => {
    const { values, positionals, tokens } = parseArgs({
      args: withFallbacks(argv, options),
      options: Object.fromEntries(
        Object.entries<Option>(options).map(([key, { short, value, multiple = false }]) => [
          key,
          { type: value ? 'string' : 'boolean', multiple, ...(short && { short }) } as const,
        ]),
      ),
      allowPositionals: true,
      // Its own sentences are for programmers.
      strict: false,
      tokens: true,
    })
    for (const token of tokens) {
      if (token.kind !== 'option') continue
      const option = (options as Options)[token.name]
      if (!option)
        throw new Error(
          refuse?.(token.rawName) ?? `"${token.rawName}" is not an option of ${name}. ${see}`,
        )
      if (option.value && !token.value) throw new Error(`${token.rawName} needs a value.`)
      if (!option.value && token.value !== undefined)
        throw new Error(`${token.rawName} takes no value.`)
    }
    const [word] = positionals
    if (texts.usage === undefined && word !== undefined)
      throw new Error(refuse?.(word) ?? `"${word}" is not an argument of ${name}. ${see}`)
    return read(positionals, values as Values<O>)
  }
  return {
    ...texts,
    options,
    parse(argv) {
      const args = parse(argv)
      return context => run(args, context)
    },
  }
}

const PROFILE = {
  profile: { short: 'p', value: 'name', help: 'use this profile instead of the active one' },
} as const
const PROFILE_AND_MODEL = {
  ...PROFILE,
  model: { short: 'm', value: 'model', help: "use this model instead of the profile's" },
} as const
const JSON_OPTION = { json: { help: 'print it as JSON' } } as const
const PASSPHRASE = {
  'passphrase-file': {
    value: 'file',
    help: 'read the passphrase from this file instead of asking for it',
  },
} as const

/** Default of `doctor --wait`, in seconds. */
const WAIT = '30'

const noSecret = (word: string) =>
  /^--?pass(?:word|phrase)$/.test(word)
    ? 'A passphrase in an argument would be visible to other programs. Use --passphrase-file or AGENT_WEBUI_BACKUP_PASSPHRASE.'
    : undefined

const onlyFile = ([file, extra]: readonly string[], name: string): string => {
  if (file === undefined) throw new Error(`${name} needs a file name, such as backup.tar.zst.`)
  if (extra !== undefined) throw new Error(`${name} takes one file name; "${extra}" is another.`)
  return file
}

const publicUrl = (text: string): string => {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new Error(`--url needs an address like https://agent.example.com/path, not "${text}".`)
  return url.href
}

/** The options of each action of `cells`. */
const CELL_ACTIONS = {
  list: ['json'],
  add: ['title', 'label', 'keep'],
  change: ['title', 'label', 'no-labels'],
  move: [],
  allow: [],
  revoke: [],
  remove: ['purge'],
  export: [],
  import: ['title', 'label'],
} as const
type CellAction = keyof typeof CELL_ACTIONS

export type CellsArguments =
  | { action: 'list'; json: boolean }
  | {
      action: 'add'
      cell: string
      title: string
      labels: string[]
      people: string[]
      keepsFiles: boolean
    }
  | {
      action: 'change'
      cell: string
      title: string | undefined
      labels: string[] | undefined
    }
  | { action: 'move'; cell: string; worker: string }
  | { action: 'allow' | 'revoke'; cell: string; people: string[] }
  | { action: 'remove'; cell: string; purges: boolean }
  | { action: 'export'; cell: string; dir: string }
  | {
      action: 'import'
      cell: string
      dir: string
      title: string
      labels: string[]
      people: string[]
    }

const isCellAction = (word: string): word is CellAction => Object.hasOwn(CELL_ACTIONS, word)

const readCells = (
  [action = 'list', cell, ...people]: string[],
  values: {
    title?: string
    label?: string[]
    'no-labels'?: boolean
    json?: boolean
    keep?: boolean
    purge?: boolean
  },
): CellsArguments => {
  const { title, json = false, keep: keepsFiles = false, purge: purges = false } = values
  const labels = values['no-labels'] ? [] : values.label
  const see = 'See agent-webui cells --help.'
  const names = Object.keys(CELL_ACTIONS)
  if (!isCellAction(action) || (action === 'list' && cell !== undefined)) {
    const words = [action, ...(cell === undefined ? [] : [cell]), ...people].join(' ')
    throw new Error(
      `cells ${names.slice(0, -1).join(', ')}, or ${names.at(-1)}, not "${words}". ${see}`,
    )
  }
  const allowed: readonly string[] = CELL_ACTIONS[action]
  const misplaced = Object.keys(values).find(option => !allowed.includes(option))
  if (misplaced) throw new Error(`"--${misplaced}" is not an option of cells ${action}. ${see}`)
  if (action === 'list') return { action, json }
  if (cell === undefined) throw new Error(`cells ${action} needs the name of a cell. ${see}`)
  if (!isCellName(cell) || cell !== cell.toLowerCase())
    throw new Error(`A cell has a name of small letters, digits, and . _ @ -, not "${cell}".`)
  const odd = labels?.find(each => !isLabel(each))
  if (odd !== undefined) throw new Error(`"${odd}" is not a label.`)
  if (action === 'add')
    return { action, cell, title: title ?? '', labels: labels ?? [], people, keepsFiles }
  const [first, ...more] = people
  if (action === 'export' || action === 'import') {
    if (first === undefined || (action === 'export' && more.length > 0))
      throw new Error(`cells ${action} needs a directory. ${see}`)
    return action === 'export'
      ? { action, cell, dir: first }
      : { action, cell, dir: first, title: title ?? '', labels: labels ?? [], people: more }
  }
  if (action === 'move') {
    if (first === undefined || more.length > 0)
      throw new Error(`cells move needs the name of one worker. ${see}`)
    return { action, cell, worker: first }
  }
  if (action === 'remove' || action === 'change') {
    if (first !== undefined) throw new Error(`cells ${action} takes one cell at a time. ${see}`)
    return action === 'remove' ? { action, cell, purges } : { action, cell, title, labels }
  }
  if (first === undefined) throw new Error(`cells ${action} needs the names of people. ${see}`)
  return { action, cell, people }
}

export const COMMANDS = {
  serve: command('serve', {
    usage: '[port]',
    summary: 'start the server (the default)',
    words: [['port', 'default: AGENT_WEBUI_PORT, or 8787; 0 lets the system choose']],
    options: {
      host: {
        value: 'address',
        help: 'default: 127.0.0.1, this machine only; 0.0.0.0 for all networks',
      },
      'no-browser': { help: "don't open a browser" },
    },
    notes: 'Everything else is set by environment variables: docs/configuration.md.',
    // `start.ts` starts it, and `readConfig` reads its arguments.
    read: () => null,
    run: async () => 0,
  }),
  chat: command('chat', {
    usage: '[message]',
    summary: 'chat with the agent in this directory',
    options: {
      ...PROFILE_AND_MODEL,
      continue: { short: 'c', help: 'continue the newest command-line session' },
      resume: { short: 'r', value: 'id', help: 'continue this session' },
      plan: { help: 'plan mode: read-only until you approve a plan' },
      quiet: { short: 'q', help: 'print only the answer, no lines about tools' },
    },
    notes: `The answer goes to standard output, everything else to standard error. Without a message,
chat prompts for messages: /new starts a new session, /exit or Ctrl-D quits. Ctrl-C stops
the answer; pressed twice it quits. Sessions are saved in the profile's state.db.`,
    read(words, { continue: newest = false, plan = false, quiet = false, ...rest }) {
      const { profile = null, model = null, resume = null } = rest
      if (newest && resume !== null) throw new Error('Use either --continue or --resume, not both.')
      const message = words.join(' ').trim()
      const isPiped = message === '' || message === '-'
      return { message: isPiped ? null : message, newest, plan, quiet, profile, model, resume }
    },
    run: async (args, context) => (await import('./chat.ts')).chat(args, context),
  }),
  acp: command('acp', {
    summary: 'serve an editor over the Agent Client Protocol',
    options: PROFILE_AND_MODEL,
    read: (_, { profile = null, model = null }) => ({ profile, model }),
    run: async (args, context) => (await import('./acp/acp.ts')).acp(args, context),
  }),
  mcp: command('mcp', {
    summary: 'sessions, search, and the agent as tools of an MCP server',
    options: PROFILE_AND_MODEL,
    read: (_, { profile = null, model = null }) => ({ profile, model }),
    run: async (args, context) => (await import('./mcp/mcp.ts')).mcp(args, context),
  }),
  doctor: command('doctor', {
    summary: 'check the setup and suggest fixes',
    options: {
      ...JSON_OPTION,
      ...PROFILE,
      fix: {
        help: 'repair what is safe: modes of key files, missing directories, what a\nkilled server left behind; says each thing it did',
      },
      'dry-run': { help: 'with --fix: only say what it would do' },
      url: {
        value: 'address',
        help: 'check the server through its reverse proxy, as a browser at this\naddress sees it: path, headers, event streams, uploads; from any machine',
      },
      wait: {
        value: '[seconds]',
        fallback: WAIT,
        help: `wait until the server responds (default ${WAIT} s); for health checks`,
      },
    },
    read(_, { json = false, profile = null, fix = false, 'dry-run': dryRun = false, url, wait }) {
      if (dryRun && !fix) throw new Error('--dry-run needs --fix.')
      if (url !== undefined && (fix || wait !== undefined || profile !== null))
        throw new Error(
          '--url checks the address only: use it without --fix, --wait, and --profile.',
        )
      return {
        ...{ json, profile, fix, dryRun },
        /** Instead of the setup. */
        url: url === undefined ? null : publicUrl(url),
        waitMs: wait === undefined ? null : fromSeconds(Number(wait)),
      }
    },
    run: async (args, context) => (await import('./doctor.ts')).doctor(args, context),
  }),
  backup: command('backup', {
    usage: 'file.tar.zst',
    summary: 'save chats, settings, and homes, while the server runs or not',
    options: {
      profile: {
        ...PROFILE.profile,
        multiple: true,
        help: 'save this profile only; may be repeated',
      },
      'with-keys': { help: 'save the keys, encrypted with a passphrase' },
      ...PASSPHRASE,
    },
    notes: 'Workspaces outside of the homes are not saved. A file that exists is never replaced.',
    refuse: noSecret,
    read(words, values) {
      const { profile = [], 'with-keys': withKeys = false, 'passphrase-file': file = null } = values
      if (file !== null && !withKeys)
        throw new Error('--passphrase-file is for keys, which are saved with --with-keys only.')
      return { file: onlyFile(words, 'backup'), profiles: profile, withKeys, passphraseFile: file }
    },
    run: async (args, context) => (await import('./backup.ts')).backup(args, context),
  }),
  restore: command('restore', {
    usage: 'file.tar.zst',
    summary: 'restore a backup into an empty place',
    options: {
      to: { value: 'directory', help: 'restore there instead of into the configured places' },
      list: { help: 'only list what the file contains' },
      check: { help: 'only check the file' },
      'without-keys': { help: 'leave the keys out' },
      ...PASSPHRASE,
    },
    notes: 'Stop the server first, unless --to names another place.',
    refuse: noSecret,
    read: (words, { to = null, list, check, ...values }) => ({
      ...{ file: onlyFile(words, 'restore'), to },
      mode: check ? ('check' as const) : list ? ('list' as const) : ('restore' as const),
      withoutKeys: values['without-keys'] ?? false,
      passphraseFile: values['passphrase-file'] ?? null,
    }),
    run: async (args, context) => (await import('./backup.ts')).restore(args, context),
  }),
  import: command('import', {
    usage: 'file',
    summary: 'bring chats from ChatGPT, Claude, LibreChat, Open WebUI, or export',
    words: [['file', 'the export: a ZIP archive or a JSON file']],
    options: {
      ...PROFILE,
      'dry-run': { help: 'only say what would be imported and what left out' },
      ...JSON_OPTION,
    },
    notes:
      'The server may be running: then only new chats are written. Importing a file again creates no duplicates: docs/moving-here.md.',
    read([file, ...more], { profile = null, 'dry-run': isDryRun = false, json = false }) {
      if (file === undefined || more.length > 0) throw new Error('import needs one file.')
      return { file, profile, isDryRun, json }
    },
    run: async (args, context) => (await import('./import.ts')).importChats(args, context),
  }),
  export: command('export', {
    usage: 'directory [session …]',
    summary: 'write chats as JSON or Markdown, one file each',
    words: [
      ['directory', 'where to write; files that exist are never replaced'],
      ['session', 'id of a session'],
    ],
    options: {
      as: {
        value: 'format',
        help: 'json: the format of Hermes WebUI (the default); markdown: readable text',
      },
      all: { help: 'all sessions (the default)' },
    },
    read([directory, ...sessions], { as: format = 'json', all }) {
      if (format !== 'json' && format !== 'markdown')
        throw new Error('export needs --as json or --as markdown.')
      if (directory === undefined) throw new Error('export needs an output directory.')
      if (all && sessions.length > 0) throw new Error('Use either --all or the ids of sessions.')
      return { format, directory, sessions } as const
    },
    run: async (args, context) => (await import('./export.ts')).exportSessions(args, context),
  }),
  forward: command('forward', {
    summary: 'pass requests on to the machine that serves now (with a cluster)',
    notes: `Listens at AGENT_WEBUI_HOST and AGENT_WEBUI_PORT, and finds the owner in the database of
AGENT_WEBUI_CLUSTER_URL: docs/cluster.md.`,
    read: () => null,
    async run(_, { config, version, onInterrupt }) {
      const { forward } = await import('./forward.ts')
      return forward(config, { version: await version(), onInterrupt })
    },
  }),
  worker: command('worker', {
    summary: 'run cells when they are needed (with a cluster)',
    notes: `Starts the cells of agent-webui cells on this machine, each as a process with a directory below
AGENT_WEBUI_STATE_DIR, when a request waits for one or a scheduled task is due: docs/cluster.md.`,
    read: () => null,
    async run(_, { config, version, addon, onInterrupt }) {
      const { work } = await import('./worker.ts')
      return work(config, { version: await version(), addon, onInterrupt })
    },
  }),
  workers: command('workers', {
    usage: '[list | drain worker | resume worker]',
    summary: 'the workers of the cluster, and taking one out of service',
    words: [
      ['list', 'name, address, cells that it runs and may run, and labels of each worker'],
      ['drain worker', 'it starts no cell, and ends those that it runs: others start them'],
      ['resume worker', 'it starts cells again, as after a restart'],
    ],
    options: JSON_OPTION,
    read([action = 'list', worker, ...rest], { json = false }) {
      const see = 'See agent-webui workers --help.'
      if (action === 'list' && worker === undefined)
        return { worker: null, json, isDraining: false }
      if ((action !== 'drain' && action !== 'resume') || rest.length > 0)
        throw new Error(`workers list, drain, or resume, and one worker. ${see}`)
      if (worker === undefined) throw new Error(`workers ${action} needs a worker. ${see}`)
      return { worker, json, isDraining: action === 'drain' }
    },
    run: async (args, context) => (await import('./cells.ts')).changeWorkers(args, context),
  }),
  cells: command('cells', {
    usage: '[list | add | change | move | allow | revoke | remove | export | import]',
    summary: 'the cells that workers run, and who may use them',
    words: [
      ['list', 'name, title, state, and people of each cell'],
      [
        'add cell [person …]',
        'workers run this cell from now on; without people, it is that of the user\nof its name',
      ],
      ['change cell', 'gives it another --title, or other labels from its next start on'],
      ['move cell worker', 'it ends where it runs, and continues on this worker'],
      ['allow cell person …', 'these users of your proxy may use the cell'],
      ['revoke cell person …', 'they may not any more; what they have open ends within seconds'],
      [
        'remove cell',
        'no worker runs it and no one can use it; what it has written stays, and\nadd --keep brings it back; --purge deletes it everywhere',
      ],
      [
        'export cell directory',
        'writes what the database has of it, also while it runs; a service can use it',
      ],
      [
        'import cell directory [person …]',
        'add, with the files of an export, or of the directory of a worker’s cell',
      ],
    ],
    options: {
      title: { value: 'title', help: 'with add, change, and import: shown instead of the name' },
      label: {
        value: 'label',
        multiple: true,
        help: 'with add and change: only workers with this label run it; may be repeated',
      },
      'no-labels': { help: 'with change: any worker runs it' },
      keep: { help: 'with add: its people get the chats and files that the name has' },
      purge: { help: 'with remove: delete its chats and files, in the database and on workers' },
      json: { help: 'with list: print the cells as JSON' },
    },
    read: readCells,
    run: async (args, context) => (await import('./cells.ts')).changeCells(args, context),
  }),
  config: command('config', {
    usage: '[accept | restore]',
    summary: 'what waits to be confirmed in config.yaml; accept or undo it',
    words: [
      ['accept', 'the values in the file apply from now on'],
      ['restore', 'the values that are in force go back into the file'],
    ],
    options: PROFILE,
    notes: `Settings that loosen what the agent may do apply when a person confirmed them, here or on the
page: the agent can change the file. Programs of the agent cannot run this.`,
    read([does = 'show', ...more], { profile = null }) {
      if ((does !== 'show' && does !== 'accept' && does !== 'restore') || more.length > 0)
        throw new Error(
          `"${more[0] ?? does}" is not an argument of config. See agent-webui config --help.`,
        )
      return { does, profile } as const
    },
    run: async (args, context) => (await import('./config.ts')).changeConfig(args, context),
  }),
  password: command('password', {
    summary: "set the server's password, or remove it",
    options: {
      off: { help: 'remove the password' },
      'reset-factors': { help: 'remove all passkeys and one-time codes' },
    },
    // A password in an argument would be visible in the process list and the shell history.
    refuse: () =>
      'password takes no argument except --off and --reset-factors. It prompts for the password, or reads it from a pipe.',
    read: (_, { off = false, 'reset-factors': resetFactors = false }) => ({ off, resetFactors }),
    run: async (args, context) => (await import('./password.ts')).changePassword(args, context),
  }),
}

type Name = keyof typeof COMMANDS
const NAMES = [...(Object.keys(COMMANDS) as Name[]), 'help', 'version'] as const

export const isCommand = (name: string): name is Name => Object.hasOwn(COMMANDS, name)

/** Fewer letters differ in a slip of the fingers. */
const MAX_SLIPS = 2

/** A sentence when an argument is meant as a command and is none; a port is a number. */
export const unknownCommand = (argv: readonly string[]): string | null => {
  const [first = ''] = argv[0] === 'help' ? argv.slice(1) : argv
  if (!/^[a-z]/i.test(first) || NAMES.some(name => name === first)) return null
  const nearest = closest(first, [...NAMES])
  return distance(first, nearest) <= MAX_SLIPS
    ? `"${first}" is not a command; did you mean agent-webui ${nearest}?`
    : `"${first}" is not a command; agent-webui --help lists them all.`
}

/** `serve` starts the server, as no command does. */
export type CliCommand = Exclude<Name, 'serve'> | 'help' | 'version' | 'unknown'

/** Null when the arguments start the server. */
export const commandOf = (argv: readonly string[]): CliCommand | null => {
  const [first, second] = argv
  if (unknownCommand(argv) !== null) return 'unknown'
  if (argv.includes('--help') || argv.includes('-h')) return 'help'
  if (first === '--version' || first === '-V' || first === '-v') return 'version'
  // Said to the agent, it is a message.
  if (second === 'help' && argv.length === 2 && first !== 'chat') return 'help'
  const name = NAMES.find(each => each === first)
  return name === undefined || name === 'serve' ? null : name
}

/** The arguments of the server, without its optional command. */
export const serverArguments = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'serve' ? argv.slice(1) : argv

/** Nothing is beside an executable. */
const DOCS = 'The pages of docs/ are in the source, and beside the program in the npm package.'

const COLUMN = 24

const explain = ([words, help]: Explained[number]): string => {
  const lines = help.split('\n')
  const head = `  ${words}`
  const rest = head.length < COLUMN ? lines : ['', ...lines]
  return rest
    .map((line, at) => `${(at === 0 ? head : '').padEnd(COLUMN)}${line}`.trimEnd())
    .join('\n')
}

const optionWords = ([name, { short, value = '' }]: [string, Option]): string =>
  `${short ? `-${short}, ` : '    '}--${name} ${value}`.trimEnd()

const overview = (): string => `agent-webui: an AI agent on your own machine, in the browser

Usage: agent-webui [command] [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  .join('\n')}

agent-webui <command> --help describes a command, agent-webui --version prints the version.

Exit code: 0 done, 1 failed (doctor: a problem was found), 2 wrong command or arguments,
78 a start that ends the same way until something is corrected, 128 + n ended by signal n,
such as 130 for Ctrl-C.

${DOCS}
`

/** `argv` is that of the program: `chat --help`, `help chat`, `--help`. */
export const helpFor = (argv: readonly string[]): string => {
  const name = (argv[0] === 'help' ? argv[1] : argv[0]) ?? ''
  if (!isCommand(name)) return overview()
  const { usage = '', summary, words = [], options, notes } = COMMANDS[name]
  const rows = Object.entries(options)
  const head = ['agent-webui', name, usage, rows.length > 0 ? '[options]' : '']
  const lines = [
    ...words.map(explain),
    ...rows.map(each => explain([optionWords(each), each[1].help])),
  ]
  return [
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    `Usage: ${head.filter(Boolean).join(' ')}`,
    lines.join('\n'),
    notes ?? '',
    notes?.includes('docs/') ? DOCS : '',
  ]
    .filter(part => part !== '')
    .join('\n\n')
    .concat('\n')
}
