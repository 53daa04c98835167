/** Setups that are broken in one way each, by what doctor finds, and how a start ends there. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { type Machine, thisMachine } from '../../../lib/operations/checks/machine.ts'
import type { Desk } from './_run.ts'

/** The programs of a path are started once, not for each setup. */
const oncePerPath = <T>(look: (path: string) => Promise<T>) => {
  const known = new Map<string, Promise<T>>()
  return (path: string): Promise<T> => {
    const found = known.get(path) ?? look(path)
    known.set(path, found)
    return found
  }
}
const sandboxOf = oncePerPath(path => thisMachine.sandbox({ PATH: path }))

/** Independent of the user that runs the tests. */
export const MACHINE: Machine = {
  ...thisMachine,
  isContainer: () => true,
  sandbox: ({ PATH = '' }) => sandboxOf(PATH),
  ripgrep: oncePerPath(thisMachine.ripgrep),
}

type Made = { env?: Record<string, string>; machine?: Partial<Machine> } | undefined
type Make = (desk: Desk, state: string) => Made

const put = (path: string, text: string): undefined => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o600 })
}
const config =
  (text: string): Make =>
  desk =>
    void desk.config(text)
/** With a model, which is not what is wrong. */
const setting = (text: string): Make => config(`model: {provider: demo}\n${text}\n`)
const inHome =
  (name: string, text: string): Make =>
  ({ home }) =>
    put(join(home, name), text)
const inState =
  (name: string, text: string): Make =>
  (_, state) =>
    put(join(state, name), text)
const env =
  (given: Record<string, string>): Make =>
  () => ({ env: given })
const machine =
  (given: Partial<Machine>): Make =>
  () => ({ machine: given })
const directory =
  (name: string): Make =>
  (_, state) =>
    void mkdirSync(join(state, name))
const mode =
  (name: string, bits: number, text = '{}'): Make =>
  (_, state) => {
    put(join(state, name), text)
    chmodSync(join(state, name), bits)
    return undefined
  }
const link =
  (to: string, name: string): Make =>
  (_, state) =>
    void symlinkSync(to, join(state, name))
/** The state directory is at this place of a directory that the setup may change. */
const stateAt =
  (path: string, prepare: (root: string) => unknown): Make =>
  ({ root }) => {
    prepare(root)
    return { env: { AGENT_WEBUI_STATE_DIR: join(root, path) } }
  }
const homeAt =
  (prepare: (path: string) => unknown): Make =>
  ({ root }) => {
    prepare(join(root, 'new'))
    return { env: { AGENT_HOME: join(root, 'new'), AGENT_WEBUI_STATE_DIR: join(root, 'state') } }
  }
const job = (profile: string, schedule: string): Make =>
  inHome(
    join(profile, 'cron', 'jobs.json'),
    JSON.stringify({ jobs: [{ id: 'j1', prompt: 'x', schedule }] }),
  )

const systemError = (code: string) => Object.assign(new Error(`${code}: raw text`), { code })
/** Of paths that end with this name. */
const failsAt = (name: string, code: string) => (path: string) =>
  path.endsWith(name) ? systemError(code) : null
const other = 4_242

/** Programs of a directory that only the setup uses, before those of the system. */
const withProgram = ({ root }: Desk, name: string, script: string): Made => {
  const bin = join(root, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { env: { PATH: `${bin}:${process.env.PATH}` } }
}

const makeCertificate = (dir: string, days: number, ...more: string[]) => {
  mkdirSync(dir, { recursive: true })
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=localhost -days ${days}`
  const options = more.length > 0 ? more : ['-nodes']
  const all = [...words.split(' '), ...options, '-keyout', key, '-out', cert]
  execFileSync('openssl', all, { stdio: 'ignore' })
  return { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: key }
}
const certificate =
  (days: number, given: Partial<Machine> = {}, ...more: string[]): Make =>
  ({ root }) => ({ env: makeCertificate(root, days, ...more), machine: given })
const tls = (cert: string, key = cert): Make =>
  env({ AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: key })

/** Valid JSON that the service cannot use. */
export const OTHER_FORMS: Readonly<Record<string, string>> = {
  'settings.json': '[]',
  'people.json': '{"version": 1, "people": []}',
  '.password': '{"hash": 1}',
  'api-tokens.json': '{"version": 2}',
  'shares.json': '[]',
  'notifications.json': '{"version": 1, "devices": {}}',
  'vapid.json': '{"publicKey": ""}',
  'projects.json': '{}',
  'grants.json': '{"version": 1, "grants": "all"}',
  'accepted-guards.json': '[1]',
  'backups.json': '{"settings": 1}',
  'imports.json': '{"people": 1}',
}
const REPLACED = [
  'auth-sessions.json',
  'auth-throttle.json',
  'auth-code-throttle.json',
  'notifications-outbox.json',
]

const SESSION = join('sessions', 'abcdefabcdef.jsonl')
const CLUSTER = { AGENT_WEBUI_CLUSTER_URL: 'postgres://agent@127.0.0.1:9/agent' }
const OIDC = { AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9', AGENT_WEBUI_OIDC_CLIENT_ID: 'agent' }
const NTFY = { id: 's1', type: 'ntfy', url: 'https://ntfy.example', topic: 't', kinds: null }
const NO_TOOLS =
  'warn git program_missing + warn python3 program_missing + warn flock program_missing'
const NO_PASSWORD = 'warn password password_missing'

/**
 * By what doctor finds, as level, what it is about, and code; several are separated by a plus. A number before it is the exit code of
 * a start, which works without one: 78, where a new start would end the same way.
 */
const FINDINGS: Readonly<Record<string, Readonly<Record<string, Make>>>> = {
  '': {
    'nothing is set up': () => undefined,
    'a cache is no database: it is made again': inState('cache/catalog.db', 'no database at all'),
    'a session of a newer version, with a cut last line': inState(
      SESSION,
      '{"n":1,"t":"session","at":1,"v":99,"meta":{}}\n{"n":2,"t":"new"}\n{"n":3,"t',
    ),
    'settings have a key of a later version': inState('settings.json', '{"of_a_later": 1}'),
    'a task has a schedule': job('', 'every 2h'),
    '.env sets nothing': inHome('.env', '\n# nothing\n'),
    'config.yaml is empty': config(''),
    'a model without a provider': config('model: gpt-5\n'),
    'an MCP server that is off is not looked for': setting(
      'mcp_servers: {t: {command: nope, enabled: false}}',
    ),
    'instance.json is garbage': inState('instance.json', 'garbage'),
    'the locale is C': env({ LC_ALL: 'C', LANG: 'C' }),
    'HOME is not set': ({ home, root }) => ({
      env: { HOME: '', USERPROFILE: root, AGENT_HOME: home },
    }),
    'a proxy without a scheme is one over HTTP': env({
      HTTP_PROXY: '127.0.0.1:3128',
      no_proxy: '*',
    }),
    'TZ with the colon of POSIX': env({ TZ: ':Europe/Berlin' }),
    'the system chooses the port': env({ AGENT_WEBUI_PORT: '0' }),
    'other machines reach the service, which has a password': env({
      AGENT_WEBUI_HOST: '0.0.0.0',
      AGENT_WEBUI_PASSWORD: 'correct horse',
    }),
  },

  'fail config.yaml file_unreadable': {
    'config.yaml is not YAML': config('model:\n  default: x\n bad: y\n'),
    'config.yaml is a list': config('- a\n- b\n'),
    'config.yaml is a named pipe': ({ home }) => {
      rmSync(join(home, 'config.yaml'))
      execFileSync('mkfifo', [join(home, 'config.yaml')])
      return undefined
    },
  },
  'fail auth.json file_unreadable': {
    'auth.json is not JSON': inHome('auth.json', '{ x'),
    'auth.json is a list': inHome('auth.json', '[]'),
  },
  'fail .env file_unreadable': {
    '.env is a directory': ({ home }) => void mkdirSync(join(home, '.env')),
    '.env is a link to nothing': ({ home }) => void symlinkSync('/nope/env', join(home, '.env')),
  },
  'fail cron/jobs.json file_unreadable': {
    'the tasks file is cut off': inHome('cron/jobs.json', '{"jobs": ['),
  },
  'fail webui/workspaces.json file_unreadable': {
    'the list of workspaces is damaged': inState('workspaces.json', '[{"path": '),
  },
  'fail profiles/work/config.yaml file_unreadable + fail profiles/work/cron/jobs.json file_unreadable':
    {
      'files of another profile cannot be read': desk => {
        inHome('profiles/work/config.yaml', 'model: [')(desk, '')
        return inHome('profiles/work/cron/jobs.json', '{')(desk, '')
      },
    },
  ...Object.fromEntries(
    Object.entries(OTHER_FORMS).map(([name, text]) => [
      `fail ${name} file_unreadable`,
      {
        [`${name} has another form`]: inState(name, text),
        [`${name} is empty after a power failure`]: inState(name, ''),
      },
    ]),
  ),
  'fail people.json file_unreadable + ': {
    'people.json is missing, and sign-in needs its codes': inState('.second_factor', ''),
  },
  'fail settings.json file_unreadable + ': {
    'settings.json is cut off': inState('settings.json', '{"theme": "da'),
    'settings.json is a directory': directory('settings.json'),
  },
  ...Object.fromEntries(
    REPLACED.map(name => [
      `warn ${name} file_replaced`,
      { [`${name} is damaged, and the service replaces it`]: inState(name, '{') },
    ]),
  ),
  'fail confirmed settings accepted_settings_unreadable': {
    'the confirmed settings are damaged': inState('accepted-settings.json', '{'),
  },

  'warn agent.max_turns value_invalid': {
    'a value of config.yaml is invalid, which costs only itself': config(
      'agent: {max_turns: many}\n',
    ),
  },
  'warn approvals.mode value_invalid': {
    'approvals are to be answered by a model': setting('approvals: {mode: smart}'),
  },
  'warn timezone value_invalid': {
    'the time zone of config.yaml is none': setting('timezone: Mars/Phobos'),
  },
  'warn config.yaml config_missing': {
    'AGENT_CONFIG_PATH names no file': env({ AGENT_CONFIG_PATH: '/nope/config.yaml' }),
  },
  'warn config.yaml key_unknown + fail model model_unusable': {
    'a key of config.yaml is misspelled': config('modle: {default: x}\n'),
  },
  'fail model model_unusable': {
    'the provider has no key': config('model:\n  provider: openai\n  default: gpt-5\n'),
    'the provider is unknown': config('model:\n  provider: nosuch\n  default: x\n'),
    'a provider without a model': config(
      'model: {provider: custom, base_url: "http://127.0.0.1:9/v1"}\n',
    ),
    'the address of the model is none': config(
      'model: {provider: custom, default: x, base_url: "not an address"}\n',
    ),
  },
  'warn model server model_server_unreachable': {
    'the model server does not run': config(
      'model: {provider: custom, default: qwen, base_url: "http://127.0.0.1:9/v1"}\n',
    ),
  },
  'fail providers key_placeholder + fail model model_unusable': {
    'the key is what a restore without keys left': config(
      'model: {provider: openai, default: gpt-5, base_url: "http://127.0.0.1:9/v1", api_key: removed-from-backup}\n',
    ),
  },
  'fail providers key_invalid + fail model model_unusable': {
    'a key has characters that no key has': desk => {
      desk.config('model: {provider: openai, default: gpt-5}\n')
      return inHome('.env', 'OPENAI_API_KEY="two words"\n')(desk, '')
    },
  },
  'warn .env env_lines_ignored': {
    '.env has lines that set nothing': inHome(
      '.env',
      '# a comment\n\nOTHER=1\nexport MORE=2\nsk-secret\nSOME NAME=3\n',
    ),
  },
  'warn profile profile_missing': {
    'the active profile was deleted': inHome('active_profile', 'gone\n'),
  },
  'warn task j1 task_schedule_invalid': {
    'a task has a schedule that nobody can read': job('', '61 * * * *'),
  },
  'warn task j1 of profile work task_schedule_invalid': {
    'a task of another profile has a schedule that nobody can read': job(
      'profiles/work',
      'whenever',
    ),
  },
  'warn hook pre_tool_call hook_missing': {
    'the file of a hook does not exist': setting(
      'hooks: {pre_tool_call: [{command: /nope/check.sh}]}',
    ),
    'the file of a hook is not executable': (desk, state) => {
      const path = join(desk.home, 'check.sh')
      put(path, '#!/bin/sh\n')
      return setting(`hooks: {pre_tool_call: [{command: ${path}}]}`)(desk, state)
    },
  },
  'fail terminal.backend guard_unsupported': {
    'commands are to run on another machine': setting('terminal: {backend: ssh}'),
  },
  'fail permissions.deny guard_unsupported': {
    'a permission rule cannot be read': setting('permissions: {deny: ["bash(git push"]}'),
  },
  'warn agent.disabled_toolsets guard_without_effect': {
    'a toolset of another program is named': setting('agent: {disabled_toolsets: [nosuch]}'),
  },
  'warn shell init files init_file_missing': {
    'the init file of the shell does not exist': setting(
      'terminal: {shell_init_files: [/nope/rc]}',
    ),
  },
  'warn shell init files init_file_fails': {
    'the init file of the shell ends with an error': (desk, state) => {
      put(join(desk.home, 'rc'), 'exit 3\n')
      const path = join(desk.home, 'rc')
      return setting(`terminal: {shell_init_files: [${path}]}`)(desk, state)
    },
  },
  'fail container container_unusable': {
    'commands are to run in a container, and there is no docker': desk => {
      desk.config('model: {provider: demo}\nterminal: {backend: docker}\n')
      return withProgram(desk, 'docker', 'echo "Cannot connect" >&2; exit 1')
    },
  },
  [`${NO_TOOLS} + fail sandbox sandbox_unusable`]: {
    'the sandbox is on, and bubblewrap is missing': desk => {
      desk.config('model: {provider: demo}\nsandbox: {enabled: true}\n')
      return { env: { PATH: desk.workspace } }
    },
  },
  // Which of the causes, test/lib/commands/sandbox/availability.test.ts says: it depends on the machine.
  'fail sandbox sandbox_unusable': {
    'the sandbox is on, and user namespaces are off': desk => {
      desk.config('model: {provider: demo}\nsandbox: {enabled: true}\n')
      const said =
        'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.'
      return withProgram(desk, 'bwrap', `echo "${said}" >&2; exit 1`)
    },
  },
  'fail mcp_servers mcp_section_invalid': {
    'the MCP servers are a list': config('mcp_servers: [one]\n'),
  },
  'fail mcp a mcp_program_missing + fail mcp b mcp_entry_invalid + fail mcp c mcp_entry_invalid + warn mcp d mcp_unreachable':
    {
      'MCP servers without program, address, and answer': config(
        'mcp_servers:\n  a: {command: no-such-program}\n  b: {}\n  c: {url: "ftp://x"}\n  d: {url: "http://127.0.0.1:1/mcp"}\n',
      ),
    },
  'warn agent mine agent_missing': {
    'the external agent is not installed': config(
      'providers:\n  mine: {acp_command: no-such-agent}\n',
    ),
  },
  'warn agent mine agent_fails': {
    'the external agent crashes': config('providers:\n  mine: {acp_command: "/bin/false"}\n'),
  },
  'fail state.db database_unusable': {
    'the database of the command line is no database': inHome(
      'state.db',
      'no database at all, but long enough',
    ),
    'state.db has no tables of sessions': ({ home }) => {
      const db = new Database(join(home, 'state.db'))
      db.exec('create table other (a)')
      db.close()
      return undefined
    },
    'state.db is a directory': ({ home }) => void mkdirSync(join(home, 'state.db')),
  },
  'warn notifications page_address_missing + warn notifications to ntfy ntfy.example notification_failed':
    {
      'notifications have no address of the page, and the last one was refused': (desk, state) => {
        const none = { version: 1, settings: {}, profiles: {}, muted: [], devices: [] }
        const file = JSON.stringify({ ...none, services: [NTFY] })
        inState('notifications.json', file)(desk, state)
        const statuses = {
          s1: { last_sent_at: null, problem: 'It refused.', problem_code: 'rejected' },
        }
        const outbox = { version: 1, items: [], seen: [], tokens: [], statuses }
        return inState('notifications-outbox.json', JSON.stringify(outbox))(desk, state)
      },
    },

  'warn home home_missing': {
    'the home does not exist yet': ({ root }) => ({ env: { AGENT_HOME: join(root, 'new') } }),
  },
  'fail home home_not_directory': {
    'the home is a file': homeAt(path => writeFileSync(path, '')),
    'the home is a link to itself': homeAt(path => symlinkSync('new', path)),
    'the home is a link to nothing': homeAt(path => symlinkSync('/nope/home', path)),
  },
  'warn home home_not_writable': {
    'the home cannot be written': machine({ accessError: failsAt('.agent', 'EACCES') }),
  },
  'warn home home_foreign': {
    'the home belongs to another user': machine({
      ownerOf: path => (path.endsWith('webui') ? (MACHINE.uid ?? 0) : other),
    }),
  },
  'warn secrets file_exposed': {
    'tasks can be changed by everyone': ({ home }) => {
      chmodSync(home, 0o755)
      mkdirSync(join(home, 'cron'))
      return void chmodSync(join(home, 'cron'), 0o777)
    },
    '.env can be read by everyone': ({ home }) => {
      put(join(home, '.env'), 'OTHER=1\n')
      return void chmodSync(join(home, '.env'), 0o644)
    },
    'tokens are readable by others': mode(
      'api-tokens.json',
      0o644,
      '{"version":1,"enabled":false,"tokens":[]}',
    ),
    'the settings can be changed by others': mode('settings.json', 0o666),
    'config.yaml with a key is readable by others': ({ home }) =>
      void chmodSync(join(home, 'config.yaml'), 0o644),
    'the home can be changed by others': ({ home }) => void chmodSync(home, 0o777),
    'the state directory can be changed by others': (_, state) => void chmodSync(state, 0o777),
  },

  '78 fail restore restore_unfinished': {
    'a restore was killed between two of its renames': inState('restore.json', '{"home":"/x"}'),
  },
  'warn sessions session_damaged': {
    'a line of a session is damaged': inState(
      SESSION,
      '{"n":1,"t":"session","at":1,"v":1,"meta":{}}\nbroken\n',
    ),
    'a session file is empty after a power failure': inState(SESSION, ''),
  },
  'warn workspace workspace_unusable': {
    'the saved workspace is gone': inState(
      'settings.json',
      '{"default_workspace": "/nope/project"}',
    ),
  },
  'warn backup backups_stopped': {
    'an earlier version made backups on a schedule': inState(
      'backups.json',
      '{"settings": {"dir": "/backups", "enabled": true}}',
    ),
  },
  'warn backup backup_failed': {
    'the last backup failed': inState(
      'backups.json',
      '{"last": {"at": 1, "ok": false, "name": null, "error": "There is no space left.", "problems": 0}}',
    ),
  },
  '78 fail signing key signing_key_unreadable': {
    'the signing key is too short': inState('.signing_key', 'short'),
    'the signing key is a directory': directory('.signing_key'),
  },
  'warn signing key signing_key_foreign': {
    'the signing key was lost': inState(
      '.password',
      `{"version": 1, "hash": "${'0'.repeat(64)}", "seal": "${'0'.repeat(64)}"}`,
    ),
  },
  '78 fail state state_not_directory': {
    'the state directory is a file': stateAt('x', root => put(join(root, 'x'), '')),
    'the state directory is below a file': stateAt('x/webui', root => put(join(root, 'x'), '')),
    'a directory of the server is a file': inState('sessions', ''),
    'the state directory is below a device': env({ AGENT_WEBUI_STATE_DIR: '/dev/null/x' }),
  },
  '1 fail state state_not_directory': {
    'the state directory is a broken link': stateAt('x/webui', root =>
      symlinkSync('/nope/nowhere', join(root, 'x')),
    ),
    'the state directory is a link to itself': (_, state) => {
      rmSync(state, { recursive: true })
      return void symlinkSync('webui', state)
    },
    'the sessions are a link to no directory': link('/nope/sessions', 'sessions'),
  },
  '78 fail state state_not_file': {
    'the lock file is a directory': directory('instance.lock'),
    'a directory is in the place of a file that a start writes': directory('instance.json'),
    'the lock file is a link to itself': link('instance.lock', 'instance.lock'),
    'the lock file is a link to nothing': link('/nope/lock', 'instance.lock'),
  },
  '78 fail state state_not_writable': {
    'the lock file belongs to another user': (_, state) => {
      put(join(state, 'instance.lock'), '')
      return { machine: { fileError: failsAt('instance.lock', 'EACCES') } }
    },
    'a directory of the server belongs to another user': (_, state) => {
      mkdirSync(join(state, 'sessions'))
      return { machine: { accessError: failsAt('sessions', 'EACCES') } }
    },
    'the state directory belongs to another user, who lets nobody in': machine({
      accessError: failsAt('webui', 'EACCES'),
      ownerOf: () => MACHINE.uid ?? 0,
    }),
    'the state directory is on a read-only mount': machine({
      accessError: failsAt('webui', 'EROFS'),
    }),
    'the state directory is in /proc': env({ AGENT_WEBUI_STATE_DIR: '/proc/nope/x' }),
  },
  'warn owner state_foreign': {
    'the state directory belongs to another user and can be written': machine({
      ownerOf: path => (path.endsWith('webui') ? other : (MACHINE.uid ?? 0)),
    }),
  },
  '1 fail disk disk_full': { 'the disk is full': machine({ freeBytes: () => 4_096 }) },
  'warn disk disk_low': {
    'the disk is nearly full': machine({ freeBytes: () => 300 * 1024 * 1024 }),
  },
  'warn clock clock_behind': {
    'the clock is years behind': machine({
      clock: { now: () => Date.UTC(2001, 0, 2) },
      programAt: () => Date.UTC(2026, 10, 1),
    }),
    'the clock is behind what was written before': (_, state) => {
      put(join(state, 'settings.json'), '{}')
      const later = Date.now() / 1_000 + 3 * 86_400
      return void utimesSync(join(state, 'settings.json'), later, later)
    },
  },
  'warn time zone time_zone_unknown': {
    'TZ names no time zone': env({ TZ: 'Mars/Phobos' }),
    'TZ is the path of a file': env({ TZ: '/etc/localtime' }),
  },
  'warn open files open_files_low': {
    'the process may open few files': machine({ openFileLimit: () => 256 }),
  },
  'warn user runs_as_root': {
    'it runs as root': machine({ uid: 0, isContainer: () => false, ownerOf: () => 0 }),
  },
  'warn service service_killed': {
    'the server was killed': inState(
      'instance.json',
      '{"pid": 4194304, "address": "http://127.0.0.1:1"}',
    ),
  },
  'fail service service_hangs': {
    'the server hangs': inState(
      'instance.json',
      `{"pid": ${process.ppid}, "address": "http://127.0.0.1:1"}`,
    ),
  },

  [NO_TOOLS]: {
    'git, python3 and flock are missing': ({ workspace }) => ({ env: { PATH: workspace } }),
    'PATH is empty': env({ PATH: '' }),
  },
  'warn temporary files temporary_files_unusable': {
    'the directory of temporary files does not exist': env({ TMPDIR: '/nope' }),
  },
  'warn environment variable_ignored': {
    'an origin is no origin': env({ AGENT_WEBUI_ALLOWED_ORIGINS: 'banana' }),
    'a variable of an earlier version is set': env({
      AGENT_WEBUI_RELEASES: 'https://example.com/releases.json',
    }),
  },
  '78 fail environment environment_invalid': {
    'only one TLS file is set': env({ AGENT_WEBUI_TLS_CERT: '/nope/c.pem' }),
    'a variable is misspelled': env({ AGENT_WEBUI_PASWORD: 'x' }),
    'the proxy is no address, which may have a password': env({
      https_proxy: 'ftp://me:secret@proxy',
    }),
    'the port is no port': env({ AGENT_WEBUI_PORT: '99999' }),
    'the format of the log is unknown': env({ AGENT_WEBUI_LOG: 'xml' }),
    'the token of the metrics is short': env({ AGENT_WEBUI_METRICS_TOKEN: 'abc' }),
    'the base path is no path': env({ AGENT_WEBUI_BASE_PATH: 'https://example.com/agent' }),
    'the proxy list holds a word': env({ AGENT_WEBUI_TRUSTED_PROXIES: 'banana' }),
    'the user header has no trusted proxy': env({ AGENT_WEBUI_AUTH_HEADER: 'Remote-User' }),
    'the database of the cluster is none': env({
      AGENT_WEBUI_CLUSTER_URL: 'mysql://db.example/agent',
    }),
    'the issuer of sign-ins is reached without TLS': env({
      ...OIDC,
      AGENT_WEBUI_OIDC_ISSUER: 'http://login.example',
    }),
  },
  '78 fail traces traces_invalid': {
    'traces are to be sent with gRPC': env({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    }),
  },
  '78 fail password password_invalid': {
    'the password is too long': env({ AGENT_WEBUI_PASSWORD: 'x'.repeat(2_000) }),
  },
  '78 fail base path base_path_taken': {
    'the base path is one of the server’s own': env({ AGENT_WEBUI_BASE_PATH: '/api' }),
    'the base path begins like one of the server’s own': env({
      AGENT_WEBUI_BASE_PATH: '/session/x',
    }),
  },
  'fail workspace workspace_unusable': {
    'the default workspace does not exist': env({ AGENT_WEBUI_DEFAULT_WORKSPACE: '/nope/work' }),
    'the default workspace is the state directory': (_, state) => ({
      env: { AGENT_WEBUI_DEFAULT_WORKSPACE: state },
    }),
  },
  'fail cluster cluster_unusable': {
    'the file with the key of the cluster does not exist': env({
      ...CLUSTER,
      AGENT_WEBUI_CLUSTER_KEY_FILE: '/nope/key',
    }),
    'the database of the cluster does not answer': env(CLUSTER),
  },
  [NO_PASSWORD]: {
    'other machines reach the service, and there is no password': env({
      AGENT_WEBUI_HOST: '0.0.0.0',
    }),
  },
  [`1 fail address address_unusable + ${NO_PASSWORD}`]: {
    'the machine does not have the address': env({ AGENT_WEBUI_HOST: '203.0.113.9' }),
    'the name of the host is unknown': env({ AGENT_WEBUI_HOST: 'no-such-host.invalid' }),
  },
  [`warn proxy sign-in proxies_untrusted + ${NO_PASSWORD}`]: {
    'every address may name any user': env({
      AGENT_WEBUI_AUTH_HEADER: 'Remote-User',
      AGENT_WEBUI_TRUSTED_PROXIES: '::/0',
    }),
  },
  [`${NO_PASSWORD} + fail single sign-on oidc_unreachable`]: {
    'the provider of sign-ins does not answer': env(OIDC),
  },
  [`1 fail single sign-on oidc_secret_unreadable + ${NO_PASSWORD}`]: {
    'the file with the secret of the provider of sign-ins does not exist': env({
      ...OIDC,
      AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE: '/nope/secret',
    }),
  },
  '1 fail certificate certificate_unusable': {
    'the TLS files do not exist': tls('/nope/c.pem', '/nope/k.pem'),
    'the certificate is a directory': ({ root }) => tls(root)({} as Desk, ''),
    'the certificate is no certificate': ({ root }) => {
      put(join(root, 'bad.pem'), 'not a certificate')
      return tls(join(root, 'bad.pem'))({} as Desk, '')
    },
    'the TLS key is no key': ({ root }) =>
      tls(makeCertificate(root, 90).AGENT_WEBUI_TLS_CERT)({} as Desk, ''),
    'the TLS key has a passphrase': certificate(90, {}, '-passout', 'pass:abcd'),
    'certificate and key do not belong together': ({ root }) => {
      const { AGENT_WEBUI_TLS_KEY } = makeCertificate(join(root, 'other'), 30)
      return { env: { ...makeCertificate(root, 30), AGENT_WEBUI_TLS_KEY } }
    },
  },
  'warn certificate certificate_expires': { 'the certificate expires soon': certificate(3) },
  'warn certificate certificate_expired': {
    'the certificate has expired': certificate(3, {
      clock: { now: () => Date.now() + 9 * 86_400_000 },
    }),
  },
}

export const SETUPS = Object.entries(FINDINGS).flatMap(([found, setups]) => {
  const [, start, list = ''] = /^(?:(78|1) )?(.*)$/.exec(found) ?? []
  const doctor = list.split(' + ').filter(Boolean)
  return Object.entries(setups).map(([name, make]) => ({
    name,
    make,
    /** Exit code of the start; none: it starts. */
    start: start === undefined ? undefined : Number(start),
    /** Every finding that is not OK: level, what it is about, code. */
    doctor,
  }))
})
