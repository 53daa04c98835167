/** Setups that are broken in one way each, with the sentence of a start and the lines of doctor. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENVIRONMENT } from './_broken-environments.ts'
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
} from './_broken-setup.ts'

const PROFILE: readonly Setup[] = [
  { name: 'nothing is set up', make: () => undefined },
  {
    name: 'config.yaml is not YAML',
    make: config('model:\n  default: x\n bad: y\n'),
    doctor: [['fail', 'config.yaml', /^line 3: All mapping items must start at the same column$/]],
  },
  {
    name: 'config.yaml is a list',
    make: config('- a\n- b\n'),
    doctor: [['fail', 'config.yaml', /^line 1: it is a list, not a mapping/]],
  },
  {
    name: 'config.yaml is indented with tabs',
    make: config('model:\n\tdefault: x\n'),
    doctor: [['fail', 'config.yaml', /^line 2: tabs cannot be used as indentation$/]],
  },
  {
    name: 'config.yaml is a named pipe',
    make: ({ home }) => {
      rmSync(join(home, 'config.yaml'))
      execFileSync('mkfifo', [join(home, 'config.yaml')])
      return undefined
    },
    doctor: [['fail', 'config.yaml', /^it is a named pipe, not a regular file$/]],
  },
  {
    name: 'a value of config.yaml is invalid, which costs only itself',
    make: config('agent: {max_turns: many}\n'),
    doctor: [['warn', 'agent.max_turns', /number/]],
  },
  {
    name: 'the provider has no key',
    make: config('model:\n  provider: openai\n  default: gpt-5\n'),
    doctor: [['fail', 'model', /^OpenAI has no API key\. Set OPENAI_API_KEY/]],
  },
  {
    name: 'the provider is unknown',
    make: config('model:\n  provider: nosuch\n  default: x\n'),
    doctor: [['fail', 'model', /^Nosuch has no address\. Set base_url/]],
  },
  {
    name: 'auth.json is not JSON',
    make: ({ home }) => {
      writeFileSync(join(home, 'auth.json'), '{ x', { mode: 0o600 })
      return undefined
    },
    doctor: [['fail', 'auth.json', /^line 1: it is not valid JSON$/]],
  },
  {
    name: 'a restore was killed between two of its renames',
    make: stateFile('restore.json', '{"home":"/x"}'),
    start: /A restore was interrupted: .* is not whole\. Empty both directories/,
    doctor: [['fail', 'restore', /^A restore was interrupted: what is in .* and .* is not whole$/]],
  },
  {
    name: 'tasks can be changed by everyone',
    make: ({ home }) => {
      chmodSync(home, 0o755)
      mkdirSync(join(home, 'cron'))
      return void chmodSync(join(home, 'cron'), 0o777)
    },
    doctor: [['warn', 'secrets', /cron can be changed by other users$/]],
  },
  {
    name: '.env can be read by everyone',
    make: ({ home }) => {
      put(join(home, '.env'), 'OTHER=1\n')
      return void chmodSync(join(home, '.env'), 0o644)
    },
    doctor: [['warn', 'secrets', /\.env is readable by other users$/]],
  },
  {
    name: '.env has lines that set nothing',
    make: ({ home }) => {
      const text = '# a comment\n\nOTHER=1\nexport MORE=2\nsk-secret\nSOME NAME=3\n'
      return void writeFileSync(join(home, '.env'), text, { mode: 0o600 })
    },
    doctor: [['warn', '.env', /^lines 5, 6 are not NAME=value and are ignored$/]],
  },
  {
    name: '.env is a directory',
    make: ({ home }) => void mkdirSync(join(home, '.env')),
    doctor: [['fail', '.env', /^it is a directory/]],
  },
  {
    name: 'the MCP servers are a list',
    make: config('mcp_servers: [one]\n'),
    doctor: [['fail', 'mcp_servers', /^is not a mapping from names to settings/]],
  },
  {
    name: 'a key of config.yaml is misspelled',
    make: config('modle: {default: x}\n'),
    doctor: [
      ['warn', 'config.yaml', /^these keys have no effect here: modle$/],
      ['fail', 'model', /did you mean "model"\? Fix it first/],
    ],
  },
  {
    name: 'the home cannot be written',
    make: machine({ accessError: failsAt('.agent', 'EACCES') }),
    doctor: [['warn', 'home', /\.agent cannot be written \(permission denied\), so keys/]],
  },
  {
    name: 'the active profile was deleted',
    make: ({ home }) => put(join(home, 'active_profile'), 'gone\n'),
    doctor: [['warn', 'profile', /^the active profile "gone" does not exist; default is used$/]],
  },
  {
    name: 'the model server does not run',
    make: config(
      'model:\n  provider: custom\n  default: qwen\n  base_url: http://127.0.0.1:9/v1\n',
    ),
    doctor: [['warn', 'model server', /^127\.0\.0\.1:9 refuses connections$/]],
  },
  {
    name: 'the tasks file is cut off',
    make: ({ home }) => {
      mkdirSync(join(home, 'cron'))
      return put(join(home, 'cron', 'jobs.json'), '{"jobs": [')
    },
    doctor: [['fail', 'cron/jobs.json', /^line 1: its JSON ends too early$/]],
  },
  {
    name: 'the database of the command line is no database',
    make: ({ home }) => put(join(home, 'state.db'), 'no database at all, but long enough'),
    doctor: [['fail', 'state.db', /^.*state\.db is not an SQLite database$/]],
  },
  {
    name: 'the home belongs to another user',
    make: machine({ ownerOf: path => (path.endsWith('webui') ? (MACHINE.uid ?? 0) : other) }),
    doctor: [['warn', 'home', /belongs to user 4242, and this is user/]],
  },
  {
    name: 'MCP servers without program, address, and answer',
    make: config(
      'mcp_servers:\n  a: {command: no-such-program}\n  b: {}\n  c: {url: "ftp://x"}\n  d: {url: "http://127.0.0.1:1/mcp"}\n',
    ),
    doctor: [
      ['fail', 'mcp a', /^the program "no-such-program" was not found$/],
      ['fail', 'mcp b', /neither a command nor a url/],
      ['fail', 'mcp c', /not an http address/],
      ['warn', 'mcp d', /^http:\/\/127\.0\.0\.1:1: nothing listens there$/],
    ],
  },
  {
    name: 'the external agent is not installed',
    make: config('providers:\n  mine: {acp_command: no-such-agent}\n'),
    doctor: [['warn', 'agent mine', /was not found/]],
  },
  {
    name: 'the external agent crashes',
    make: config('providers:\n  mine: {acp_command: "/bin/false"}\n'),
    doctor: [['warn', 'agent mine', /ended with code 1/]],
  },
  {
    name: 'git, python3 and flock are missing',
    make: ({ workspace }) => ({ env: { PATH: workspace } }),
    doctor: [
      ['warn', 'git', /^was not found$/],
      ['warn', 'python3', /^was not found$/],
      ['warn', 'flock', /^was not found$/],
    ],
  },
  {
    name: 'the sandbox is on, and bubblewrap is missing',
    make(desk) {
      desk.config('model: {provider: demo}\nsandbox: {enabled: true}\n')
      return { env: { PATH: desk.workspace } }
    },
    doctor: [
      ['warn', 'git', /^was not found$/],
      ['warn', 'python3', /^was not found$/],
      ['warn', 'flock', /^was not found$/],
      ['fail', 'sandbox', /bwrap isn't installed\. Install the package bubblewrap/],
    ],
  },
]

/** Programs of a directory that only the setup uses, before those of the system. */
const withProgram = (dir: string, name: string, script: string): Record<string, string> => {
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { PATH: `${bin}:${process.env.PATH}` }
}

const NAMESPACES: Setup = {
  name: 'the sandbox is on, and user namespaces are off',
  make(desk) {
    desk.config('model: {provider: demo}\nsandbox: {enabled: true}\n')
    const said =
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.'
    return { env: withProgram(desk.root, 'bwrap', `echo "${said}" >&2; exit 1`) }
  },
  // Which of the causes, test/lib/sandbox/availability.test.ts says: it depends on the machine.
  doctor: [['fail', 'sandbox', /^The sandbox doesn't work here: bwrap can't start: .+\.$/]],
}

const SERVER: readonly Setup[] = [
  {
    name: 'settings.json is cut off',
    make: stateFile('settings.json', '{"theme": "da'),
    doctor: [['fail', 'settings.json', /^line 1: its JSON ends too early$/]],
  },
  {
    name: 'settings.json is a directory',
    make: (_, state) => void mkdirSync(join(state, 'settings.json')),
    doctor: [['fail', 'settings.json', /^it is a directory, not a regular file$/]],
  },
  ...['projects', 'people', 'api-tokens', 'shares', 'grants', 'auth-sessions'].map(name => ({
    name: `${name}.json is not JSON`,
    make: stateFile(`${name}.json`, '{\n  "a": x\n}'),
    doctor: [['fail', `${name}.json`, /^line 2: it is not valid JSON$/]] as const,
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
    doctor: [
      ['warn', 'sessions', /^1 of 1 are empty or have unreadable lines: abcdefabcdef\.jsonl$/],
    ],
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
    start: /^The signing key \S+\.signing_key holds 5 bytes instead of 32; restore it/,
    doctor: [['fail', 'signing key', /holds 5 bytes instead of 32/]],
  },
  {
    name: 'the signing key is a directory',
    make: (_, state) => void mkdirSync(join(state, '.signing_key')),
    start: /^The signing key \S+ cannot be read: it is a directory, not a regular file/,
    doctor: [['fail', 'signing key', /it is a directory/]],
  },
  {
    name: 'the state directory is a file',
    make: ({ root }) => {
      put(join(root, 'state'), '')
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'state') } }
    },
    start: /^The state directory cannot be used: \S+state is not a directory\. Move \S+state away/,
    doctor: [['fail', 'state', /state is not a directory$/]],
  },
  {
    name: 'the state directory is below a file',
    make: ({ root }) => {
      put(join(root, 'file'), '')
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'file', 'webui') } }
    },
    start: /file is not a directory/,
    doctor: [['fail', 'state', /file is not a directory$/]],
  },
  {
    name: 'the state directory is a broken link',
    make: ({ root }) => {
      symlinkSync('/nope/nowhere', join(root, 'link'))
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'link', 'webui') } }
    },
    start: /link is a symlink to no directory/,
    doctor: [['fail', 'state', /link is a symlink to no directory$/]],
  },
  {
    name: 'the state directory is a link to itself',
    make: (_, state) => {
      rmSync(state, { recursive: true })
      return void symlinkSync('webui', state)
    },
    start: /webui is a symlink to no directory\. Move/,
    doctor: [['fail', 'state', /webui is a symlink to no directory$/]],
  },
  {
    name: 'the state directory is below a link to itself',
    make: ({ root }) => {
      symlinkSync('loop', join(root, 'loop'))
      return { env: { AGENT_WEBUI_STATE_DIR: join(root, 'loop', 'webui') } }
    },
    start: /loop is a symlink to no directory\. Move/,
    doctor: [['fail', 'state', /loop is a symlink to no directory$/]],
  },
  {
    name: 'the lock file is a directory',
    make: (_, state) => void mkdirSync(join(state, 'instance.lock')),
    start: /instance\.lock is not a regular file\. Delete it/,
    doctor: [['fail', 'state', /instance\.lock is not a regular file$/]],
  },
  {
    name: 'a directory is in the place of a file that a start writes',
    make: (_, state) => void mkdirSync(join(state, 'instance.json')),
    start: /instance\.json is not a regular file\. Delete it/,
    doctor: [['fail', 'state', /instance\.json is not a regular file$/]],
  },
  {
    name: 'the lock file belongs to another user',
    make: (_, state) => {
      put(join(state, 'instance.lock'), '')
      return { machine: { fileError: failsAt('instance.lock', 'EACCES') } }
    },
    start: /may not read and write \S+instance\.lock\. Run/,
    doctor: [['fail', 'state', /may not read and write \S+instance\.lock$/]],
  },
  {
    name: 'a directory of the server belongs to another user',
    make: (_, state) => {
      mkdirSync(join(state, 'sessions'))
      return { machine: { accessError: failsAt('sessions', 'EACCES') } }
    },
    start: /may not read and write \S+sessions\. Run/,
    doctor: [['fail', 'state', /may not read and write \S+sessions$/]],
  },
  {
    name: 'a directory of the server is a file',
    make: stateFile('sessions', ''),
    start: /webui\/sessions is not a directory\. Move/,
    doctor: [['fail', 'state', /webui\/sessions is not a directory$/]],
  },
  {
    name: 'the state directory belongs to another user, who lets nobody in',
    make: machine({ accessError: failsAt('webui', 'EACCES'), ownerOf: () => MACHINE.uid ?? 0 }),
    start: /^The state directory cannot be used: user \d+ may not read and write \S+webui\. Run/,
    doctor: [['fail', 'state', /may not read and write/]],
  },
  {
    name: 'the state directory is on a read-only mount',
    make: machine({ accessError: failsAt('webui', 'EROFS') }),
    start: /webui: the file system is read-only\. Make \S+webui writable/,
    doctor: [['fail', 'state', /the file system is read-only$/]],
  },
  {
    name: 'the state directory belongs to another user and can be written',
    make: machine({ ownerOf: path => (path.endsWith('webui') ? other : (MACHINE.uid ?? 0)) }),
    doctor: [['warn', 'owner', /belongs to user 4242, and this is user/]],
  },
  {
    name: 'the disk is full',
    make: machine({ freeBytes: () => 4_096 }),
    start: /^The disk of \S+webui is full\. Free up space/,
    doctor: [['fail', 'disk', /is full$/]],
  },
  {
    name: 'the disk is nearly full',
    make: machine({ freeBytes: () => 300 * 1024 * 1024 }),
    doctor: [['warn', 'disk', /^Only 300 MB are free on the disk of \S+webui$/]],
  },
  {
    name: 'the clock is years behind',
    make: machine({
      clock: { now: () => Date.UTC(2001, 0, 2) },
      programAt: () => Date.UTC(2026, 10, 1),
    }),
    doctor: [['warn', 'clock', /^The clock says 2001-01-02, which is before .*\(2026-11-01\)$/]],
  },
  {
    name: 'the clock is behind what was written before',
    make: (_, state) => {
      put(join(state, 'settings.json'), '{}')
      const later = Date.now() / 1_000 + 3 * 86_400
      return void utimesSync(join(state, 'settings.json'), later, later)
    },
    doctor: [
      [
        'warn',
        'clock',
        /^The clock says \S+ \S+Z, but \S+settings\.json was changed later \(.+Z\)$/,
      ],
    ],
  },
  {
    name: 'the process may open few files',
    make: machine({ openFileLimit: () => 256 }),
    doctor: [['warn', 'open files', /^The process may open only 256 files/]],
  },
  {
    name: 'it runs as root',
    make: machine({ uid: 0, isContainer: () => false, ownerOf: () => 0 }),
    doctor: [['warn', 'user', /^runs as root/]],
  },
  { name: 'the locale is C', make: env({ LC_ALL: 'C', LANG: 'C' }) },
  {
    name: 'HOME is not set',
    make: ({ home, root }) => ({ env: { HOME: '', USERPROFILE: root, AGENT_HOME: home } }),
  },
  {
    name: 'the server was killed',
    make: stateFile('instance.json', '{"pid": 4194304, "address": "http://127.0.0.1:1"}'),
    doctor: [['warn', 'service', /^not running; process 4194304 of \S+ was killed or crashed$/]],
  },
  {
    name: 'the server hangs',
    make: stateFile('instance.json', `{"pid": ${process.ppid}, "address": "http://127.0.0.1:1"}`),
    doctor: [['fail', 'service', /does not respond, but its process \d+ runs$/]],
  },
]

export const SETUPS: readonly Setup[] = [...PROFILE, NAMESPACES, ...SERVER, ...ENVIRONMENT]
