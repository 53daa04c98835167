/** What `agent-webui --help` and `agent-webui <command> --help` print. A new command needs one entry here. */

type CommandHelp = {
  /** After the name of the command. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Options and what else is good to know, as lines that are indented like the options. */
  details?: string
}

const PROFILE_AND_MODEL = `  -p, --profile name    use this profile instead of the active one
  -m, --model model     use this model instead of the profile's`

export const HELP = {
  serve: {
    usage: '[port] [--host address] [--no-browser]',
    summary: 'start the server (the default)',
    details: `  port                  default: AGENT_WEBUI_PORT, or 8787; 0 lets the system choose
      --host address    default: 127.0.0.1, this machine only; 0.0.0.0 for all networks
      --no-browser      don't open a browser

Everything else is set by environment variables: docs/configuration.md.`,
  },
  chat: {
    usage: '[message] [options]',
    summary: 'chat with the agent in this directory',
    details: `${PROFILE_AND_MODEL}
  -c, --continue        continue the newest command-line session
  -r, --resume id       continue this session
      --plan            plan mode: read-only until you approve a plan
  -q, --quiet           print only the answer, no lines about tools

The answer goes to standard output, everything else to standard error. Without a message,
chat prompts for messages: /new starts a new session, /exit or Ctrl-D quits. Ctrl-C stops
the answer; pressed twice it quits. Sessions are saved in the profile's state.db.`,
  },
  acp: {
    usage: '[-p profile] [-m model]',
    summary: 'serve an editor over the Agent Client Protocol',
    details: PROFILE_AND_MODEL,
  },
  mcp: {
    usage: '[-p profile] [-m model]',
    summary: 'sessions, search, and the agent as tools of an MCP server',
    details: PROFILE_AND_MODEL,
  },
  doctor: {
    usage: '[--json] [--fix [--dry-run]] [-p profile] | --url address | --wait [seconds]',
    summary: 'check the setup and suggest fixes',
    details: `      --json            print the findings as JSON
  -p, --profile name    check this profile instead of the active one
      --fix             repair what is safe: modes of key files, missing directories, what a
                        killed server left behind; says each thing it did
      --dry-run         with --fix: only say what it would do
      --url address     check the server through its reverse proxy, as a browser at this
                        address sees it: path, headers, event streams, uploads; from any machine
      --wait [seconds]  wait until the server responds (default 30 s); for health checks`,
  },
  backup: {
    usage: 'file.tar.zst [options]',
    summary: 'save chats, settings, and homes, while the server runs or not',
    details: `  -p, --profile name    save this profile only; may be repeated
      --with-keys       save the keys, encrypted with a passphrase
      --passphrase-file file
                        read the passphrase from this file instead of asking for it

Workspaces outside of the homes are not saved. A file that exists is never replaced.`,
  },
  restore: {
    usage: 'file.tar.zst [options]',
    summary: 'restore a backup into an empty place',
    details: `      --to directory    restore there instead of into the configured places
      --list            only list what the file contains
      --check           only check the file
      --without-keys    leave the keys out
      --passphrase-file file
                        read the passphrase from this file instead of asking for it

Stop the server first, unless --to names another place.`,
  },
  import: {
    usage: 'file [-p profile] [--dry-run] [--json]',
    summary: 'bring chats from ChatGPT, Claude, LibreChat, Open WebUI, or export',
    details: `  file                  the export: a ZIP archive or a JSON file
  -p, --profile name    import into this profile instead of the active one
      --dry-run         only say what would be imported and what left out
      --json            print the report as JSON

The server may be running: then only new chats are written. Importing a file again creates no duplicates: docs/moving-here.md.`,
  },
  export: {
    usage: '[--as json|markdown] directory [session …]',
    summary: 'write chats as JSON or Markdown, one file each',
    details: `      --as format       json: the format of Hermes WebUI (the default); markdown: readable text
  directory             where to write; files that exist are never replaced
  session               id of a session
      --all             all sessions (the default)`,
  },
  forward: {
    usage: '',
    summary: 'pass requests on to the machine that serves now (with a cluster)',
    details: `Listens at AGENT_WEBUI_HOST and AGENT_WEBUI_PORT, and finds the owner in the database of
AGENT_WEBUI_CLUSTER_URL: docs/cluster.md.`,
  },
  worker: {
    usage: '',
    summary: 'run cells when they are needed (with a cluster)',
    details: `Starts the cells of agent-webui cells on this machine, each as a process with a directory below
AGENT_WEBUI_STATE_DIR, when a request waits for one or a scheduled task is due: docs/cluster.md.`,
  },
  cells: {
    usage: '[list [--json] | add | allow | revoke | remove]',
    summary: 'the cells that workers run, and who may use them',
    details: `  list                  name, title, state, and people of each cell; --json prints them as JSON
  add cell [person …]   workers run this cell from now on; without people, it is that of the user
                        of its name
      --title title     shown instead of the name
      --label label     only workers with this label run it; may be repeated
  allow cell person …   these users of your proxy may use the cell
  revoke cell person …  they may not any more; what they have open ends within seconds
  remove cell           no worker runs it and no one can use it; what it has written stays in the
                        database, and add brings it back`,
  },
  config: {
    usage: '[accept | restore] [-p profile]',
    summary: 'what waits to be confirmed in config.yaml; accept or undo it',
    details: `  accept                the values in the file apply from now on
  restore               the values that are in force go back into the file
  -p, --profile name    of this profile instead of the active one

Settings that loosen what the agent may do apply when a person confirmed them, here or on the
page: the agent can change the file. Programs of the agent cannot run this.`,
  },
  password: {
    usage: '[--off | --reset-factors]',
    summary: "set the server's password, or remove it",
    details: `      --off             remove the password
      --reset-factors   remove all passkeys and one-time codes`,
  },
} satisfies Readonly<Record<string, CommandHelp>>

const commands: readonly (readonly [string, CommandHelp])[] = Object.entries(HELP)

/** Nothing is beside an executable. */
const DOCS = 'The pages of docs/ are in the source, and beside the program in the npm package.'

const overview = (): string => `agent-webui: an AI agent on your own machine, in the browser

Usage: agent-webui [command] [options]

${commands.map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`).join('\n')}

agent-webui <command> --help describes a command, agent-webui --version prints the version.

Exit code: 0 done, 1 failed (doctor: a problem was found), 2 wrong command or arguments,
78 a start that ends the same way until something is corrected, 128 + n ended by signal n,
such as 130 for Ctrl-C.

${DOCS}
`

/** `argv` is that of the program: `chat --help`, `help chat`, `--help`. */
export const helpFor = (argv: readonly string[]): string => {
  const topic = argv[0] === 'help' ? argv[1] : argv[0]
  const found = commands.find(([name]) => name === topic)
  if (!found) return overview()
  const [name, { usage, summary, details }] = found
  const text = `${summary[0]?.toUpperCase()}${summary.slice(1)}.\n\nUsage: ${`agent-webui ${name} ${usage}`.trim()}\n`
  if (details === undefined) return text
  return `${text}\n${details}\n${details.includes('docs/') ? `\n${DOCS}\n` : ''}`
}
