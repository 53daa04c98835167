/** Setups that are broken in one way each, with the sentence of a start and the lines of doctor. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENVIRONMENT } from './_broken-environments.ts'
import { FILES } from './_broken-files.ts'
import {
  config,
  env,
  failsAt,
  MACHINE,
  machine,
  other,
  put,
  type Setup,
  stateFile,
  withProgram,
} from './_broken-setup.ts'

const PROFILE: readonly Setup[] = [
  { name: 'nothing is set up', make: () => undefined },
  {
    name: 'config.yaml is not YAML',
    make: config('model:\n  default: x\n bad: y\n'),
    doctor: ['fail config.yaml file_unreadable'],
  },
  {
    name: 'config.yaml is a list',
    make: config('- a\n- b\n'),
    doctor: ['fail config.yaml file_unreadable'],
  },
  {
    name: 'config.yaml is indented with tabs',
    make: config('model:\n\tdefault: x\n'),
    doctor: ['fail config.yaml file_unreadable'],
  },
  {
    name: 'config.yaml is a named pipe',
    make: ({ home }) => {
      rmSync(join(home, 'config.yaml'))
      execFileSync('mkfifo', [join(home, 'config.yaml')])
      return undefined
    },
    doctor: ['fail config.yaml file_unreadable'],
  },
  {
    name: 'a value of config.yaml is invalid, which costs only itself',
    make: config('agent: {max_turns: many}\n'),
    doctor: ['warn agent.max_turns value_invalid'],
  },
  {
    name: 'the provider has no key',
    make: config('model:\n  provider: openai\n  default: gpt-5\n'),
    doctor: ['fail model model_unusable'],
  },
  {
    name: 'the provider is unknown',
    make: config('model:\n  provider: nosuch\n  default: x\n'),
    doctor: ['fail model model_unusable'],
  },
  {
    name: 'auth.json is not JSON',
    make: ({ home }) => {
      writeFileSync(join(home, 'auth.json'), '{ x', { mode: 0o600 })
      return undefined
    },
    doctor: ['fail auth.json file_unreadable'],
  },
  {
    name: 'a restore was killed between two of its renames',
    make: stateFile('restore.json', '{"home":"/x"}'),
    start: 78,
    doctor: ['fail restore restore_unfinished'],
  },
  {
    name: 'tasks can be changed by everyone',
    make: ({ home }) => {
      chmodSync(home, 0o755)
      mkdirSync(join(home, 'cron'))
      return void chmodSync(join(home, 'cron'), 0o777)
    },
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: '.env can be read by everyone',
    make: ({ home }) => {
      put(join(home, '.env'), 'OTHER=1\n')
      return void chmodSync(join(home, '.env'), 0o644)
    },
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: '.env has lines that set nothing',
    make: ({ home }) => {
      const text = '# a comment\n\nOTHER=1\nexport MORE=2\nsk-secret\nSOME NAME=3\n'
      return void writeFileSync(join(home, '.env'), text, { mode: 0o600 })
    },
    doctor: ['warn .env env_lines_ignored'],
  },
  {
    name: '.env is a directory',
    make: ({ home }) => void mkdirSync(join(home, '.env')),
    doctor: ['fail .env file_unreadable'],
  },
  {
    name: 'the MCP servers are a list',
    make: config('mcp_servers: [one]\n'),
    doctor: ['fail mcp_servers mcp_section_invalid'],
  },
  {
    name: 'a key of config.yaml is misspelled',
    make: config('modle: {default: x}\n'),
    doctor: ['warn config.yaml key_unknown', 'fail model model_unusable'],
  },
  {
    name: 'the home cannot be written',
    make: machine({ accessError: failsAt('.agent', 'EACCES') }),
    doctor: ['warn home home_not_writable'],
  },
  {
    name: 'the active profile was deleted',
    make: ({ home }) => put(join(home, 'active_profile'), 'gone\n'),
    doctor: ['warn profile profile_missing'],
  },
  {
    name: 'the model server does not run',
    make: config(
      'model:\n  provider: custom\n  default: qwen\n  base_url: http://127.0.0.1:9/v1\n',
    ),
    doctor: ['warn model server model_server_unreachable'],
  },
  {
    name: 'the tasks file is cut off',
    make: ({ home }) => {
      mkdirSync(join(home, 'cron'))
      return put(join(home, 'cron', 'jobs.json'), '{"jobs": [')
    },
    doctor: ['fail cron/jobs.json file_unreadable'],
  },
  {
    name: 'the database of the command line is no database',
    make: ({ home }) => put(join(home, 'state.db'), 'no database at all, but long enough'),
    doctor: ['fail state.db database_unusable'],
  },
  {
    name: 'the home belongs to another user',
    make: machine({ ownerOf: path => (path.endsWith('webui') ? (MACHINE.uid ?? 0) : other) }),
    doctor: ['warn home home_foreign'],
  },
  {
    name: 'MCP servers without program, address, and answer',
    make: config(
      'mcp_servers:\n  a: {command: no-such-program}\n  b: {}\n  c: {url: "ftp://x"}\n  d: {url: "http://127.0.0.1:1/mcp"}\n',
    ),
    doctor: [
      'fail mcp a mcp_program_missing',
      'fail mcp b mcp_entry_invalid',
      'fail mcp c mcp_entry_invalid',
      'warn mcp d mcp_unreachable',
    ],
  },
  {
    name: 'the external agent is not installed',
    make: config('providers:\n  mine: {acp_command: no-such-agent}\n'),
    doctor: ['warn agent mine agent_missing'],
  },
  {
    name: 'the external agent crashes',
    make: config('providers:\n  mine: {acp_command: "/bin/false"}\n'),
    doctor: ['warn agent mine agent_fails'],
  },
  {
    name: 'git, python3 and flock are missing',
    make: ({ workspace }) => ({ env: { PATH: workspace } }),
    doctor: [
      'warn git program_missing',
      'warn python3 program_missing',
      'warn flock program_missing',
    ],
  },
  {
    name: 'the sandbox is on, and bubblewrap is missing',
    make(desk) {
      desk.config('model: {provider: demo}\nsandbox: {enabled: true}\n')
      return { env: { PATH: desk.workspace } }
    },
    doctor: [
      'warn git program_missing',
      'warn python3 program_missing',
      'warn flock program_missing',
      'fail sandbox sandbox_unusable',
    ],
  },
]

const NAMESPACES: Setup = {
  name: 'the sandbox is on, and user namespaces are off',
  make(desk) {
    desk.config('model: {provider: demo}\nsandbox: {enabled: true}\n')
    const said =
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.'
    return { env: withProgram(desk.root, 'bwrap', `echo "${said}" >&2; exit 1`) }
  },
  // Which of the causes, test/lib/commands/sandbox/availability.test.ts says: it depends on the machine.
  doctor: ['fail sandbox sandbox_unusable'],
}

const SERVER: readonly Setup[] = [
  {
    name: 'settings.json is cut off',
    make: stateFile('settings.json', '{"theme": "da'),
    doctor: ['fail settings.json file_unreadable'],
  },
  {
    name: 'settings.json is a directory',
    make: (_, state) => void mkdirSync(join(state, 'settings.json')),
    doctor: ['fail settings.json file_unreadable'],
  },
  ...['projects', 'people', 'api-tokens', 'shares', 'grants'].map(name => ({
    name: `${name}.json is not JSON`,
    make: stateFile(`${name}.json`, '{\n  "a": x\n}'),
    doctor: [`fail ${name}.json file_unreadable`],
  })),
  {
    name: 'a cache is no database: it is made again',
    make: (_, state) => {
      mkdirSync(join(state, 'cache'))
      return put(join(state, 'cache', 'catalog.db'), 'no database at all')
    },
  },
  {
    name: 'a line of a session is damaged',
    make: (_, state) => {
      mkdirSync(join(state, 'sessions'))
      const text = '{"n":1,"t":"session","at":1,"v":1,"meta":{}}\nbroken\n'
      return put(join(state, 'sessions', 'abcdefabcdef.jsonl'), text)
    },
    doctor: ['warn sessions session_damaged'],
  },
  {
    name: 'a session of a newer version, with a cut last line',
    make: (_, state) => {
      mkdirSync(join(state, 'sessions'))
      const text = '{"n":1,"t":"session","at":1,"v":99,"meta":{}}\n{"n":2,"t":"new"}\n{"n":3,"t'
      return put(join(state, 'sessions', 'abcdefabcdef.jsonl'), text)
    },
  },
  {
    name: 'the signing key is too short',
    make: (_, state) => void writeFileSync(join(state, '.signing_key'), 'short', { mode: 0o600 }),
    start: 78,
    doctor: ['fail signing key signing_key_unreadable'],
  },
  {
    name: 'the signing key is a directory',
    make: (_, state) => void mkdirSync(join(state, '.signing_key')),
    start: 78,
    doctor: ['fail signing key signing_key_unreadable'],
  },
  {
    name: 'the state directory is a file',
    make: ({ root }) => {
      put(join(root, 'state'), '')
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'state') } }
    },
    start: 78,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the state directory is below a file',
    make: ({ root }) => {
      put(join(root, 'file'), '')
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'file', 'webui') } }
    },
    start: 78,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the state directory is a broken link',
    make: ({ root }) => {
      symlinkSync('/nope/nowhere', join(root, 'link'))
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'link', 'webui') } }
    },
    start: 1,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the state directory is a link to itself',
    make: (_, state) => {
      rmSync(state, { recursive: true })
      return void symlinkSync('webui', state)
    },
    start: 1,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the state directory is below a link to itself',
    make: ({ root }) => {
      symlinkSync('loop', join(root, 'loop'))
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'loop', 'webui') } }
    },
    start: 1,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the lock file is a directory',
    make: (_, state) => void mkdirSync(join(state, 'instance.lock')),
    start: 78,
    doctor: ['fail state state_not_file'],
  },
  {
    name: 'a directory is in the place of a file that a start writes',
    make: (_, state) => void mkdirSync(join(state, 'instance.json')),
    start: 78,
    doctor: ['fail state state_not_file'],
  },
  {
    name: 'the lock file belongs to another user',
    make: (_, state) => {
      put(join(state, 'instance.lock'), '')
      return { machine: { fileError: failsAt('instance.lock', 'EACCES') } }
    },
    start: 78,
    doctor: ['fail state state_not_writable'],
  },
  {
    name: 'a directory of the server belongs to another user',
    make: (_, state) => {
      mkdirSync(join(state, 'sessions'))
      return { machine: { accessError: failsAt('sessions', 'EACCES') } }
    },
    start: 78,
    doctor: ['fail state state_not_writable'],
  },
  {
    name: 'a directory of the server is a file',
    make: stateFile('sessions', ''),
    start: 78,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the state directory belongs to another user, who lets nobody in',
    make: machine({ accessError: failsAt('webui', 'EACCES'), ownerOf: () => MACHINE.uid ?? 0 }),
    start: 78,
    doctor: ['fail state state_not_writable'],
  },
  {
    name: 'the state directory is on a read-only mount',
    make: machine({ accessError: failsAt('webui', 'EROFS') }),
    start: 78,
    doctor: ['fail state state_not_writable'],
  },
  {
    name: 'the state directory belongs to another user and can be written',
    make: machine({ ownerOf: path => (path.endsWith('webui') ? other : (MACHINE.uid ?? 0)) }),
    doctor: ['warn owner state_foreign'],
  },
  {
    name: 'the disk is full',
    make: machine({ freeBytes: () => 4_096 }),
    start: 1,
    doctor: ['fail disk disk_full'],
  },
  {
    name: 'the disk is nearly full',
    make: machine({ freeBytes: () => 300 * 1024 * 1024 }),
    doctor: ['warn disk disk_low'],
  },
  {
    name: 'the clock is years behind',
    make: machine({
      clock: { now: () => Date.UTC(2001, 0, 2) },
      programAt: () => Date.UTC(2026, 10, 1),
    }),
    doctor: ['warn clock clock_behind'],
  },
  {
    name: 'the clock is behind what was written before',
    make: (_, state) => {
      put(join(state, 'settings.json'), '{}')
      const later = Date.now() / 1_000 + 3 * 86_400
      return void utimesSync(join(state, 'settings.json'), later, later)
    },
    doctor: ['warn clock clock_behind'],
  },
  {
    name: 'the process may open few files',
    make: machine({ openFileLimit: () => 256 }),
    doctor: ['warn open files open_files_low'],
  },
  {
    name: 'it runs as root',
    make: machine({ uid: 0, isContainer: () => false, ownerOf: () => 0 }),
    doctor: ['warn user runs_as_root'],
  },
  { name: 'the locale is C', make: env({ LC_ALL: 'C', LANG: 'C' }) },
  {
    name: 'HOME is not set',
    make: ({ home, root }) => ({ env: { HOME: '', USERPROFILE: root, AGENT_HOME: home } }),
  },
  {
    name: 'the server was killed',
    make: stateFile('instance.json', '{"pid": 4194304, "address": "http://127.0.0.1:1"}'),
    doctor: ['warn service service_killed'],
  },
  {
    name: 'the server hangs',
    make: stateFile('instance.json', `{"pid": ${process.ppid}, "address": "http://127.0.0.1:1"}`),
    doctor: ['fail service service_hangs'],
  },
]

export const SETUPS: readonly Setup[] = [
  ...PROFILE,
  NAMESPACES,
  ...SERVER,
  ...FILES,
  ...ENVIRONMENT,
]
