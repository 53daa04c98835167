/** Setups that are broken by one file: damaged, of another form, missing, or open to others. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { config, env, put, type Setup, stateFile, withProgram } from './_broken-setup.ts'
import type { Desk } from './_run.ts'

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

const jobs = (schedule: string) => (home: string) => {
  mkdirSync(join(home, 'cron'))
  put(
    join(home, 'cron', 'jobs.json'),
    JSON.stringify({ jobs: [{ id: 'j1', prompt: 'x', schedule }] }),
  )
}

const homeFile = (name: string, text: string) =>
  ({
    make: ({ home }) => put(join(home, name), text),
  }) satisfies Pick<Setup, 'make'>

const mode = (name: string, bits: number, text = '{}') =>
  ({
    make: (_, state) => {
      put(join(state, name), text)
      chmodSync(join(state, name), bits)
      return undefined
    },
  }) satisfies Pick<Setup, 'make'>

export const FILES: readonly Setup[] = [
  ...Object.entries(OTHER_FORMS).map(([name, text]) => ({
    name: `${name} has another form`,
    make: stateFile(name, text),
    doctor: [`fail ${name} file_unreadable`],
  })),
  ...Object.keys(OTHER_FORMS).map(name => ({
    name: `${name} is empty after a power failure`,
    make: stateFile(name, ''),
    doctor: [`fail ${name} file_unreadable`],
  })),
  ...REPLACED.map(name => ({
    name: `${name} is damaged, and the service replaces it`,
    make: stateFile(name, '{'),
    doctor: [`warn ${name} file_replaced`],
  })),
  {
    name: 'people.json is missing, and sign-in needs its codes',
    make: stateFile('.second_factor', ''),
    doctor: ['fail people.json file_unreadable'],
  },
  {
    name: 'the confirmed settings are damaged',
    make: stateFile('accepted-settings.json', '{'),
    doctor: ['fail confirmed settings accepted_settings_unreadable'],
  },
  {
    name: 'the list of workspaces is damaged',
    make: stateFile('workspaces.json', '[{"path": '),
    doctor: ['fail webui/workspaces.json file_unreadable'],
  },
  {
    name: 'the saved workspace is gone',
    make: stateFile('settings.json', '{"default_workspace": "/nope/project"}'),
    doctor: ['warn workspace workspace_unusable'],
  },
  {
    name: 'an earlier version made backups on a schedule',
    make: stateFile('backups.json', '{"settings": {"dir": "/backups", "enabled": true}}'),
    doctor: ['warn backup backups_stopped'],
  },
  {
    name: 'the last backup failed',
    make: stateFile(
      'backups.json',
      '{"last": {"at": 1, "ok": false, "name": null, "error": "There is no space left.", "problems": 0}}',
    ),
    doctor: ['warn backup backup_failed'],
  },
  {
    name: 'settings have a key of a later version',
    make: stateFile('settings.json', '{"of_a_later_version": 1}'),
  },
  {
    name: 'a task has a schedule that nobody can read',
    make: ({ home }) => void jobs('61 * * * *')(home),
    doctor: ['warn task j1 task_schedule_invalid'],
  },
  {
    name: 'a task of another profile has a schedule that nobody can read',
    make({ home }) {
      mkdirSync(join(home, 'profiles', 'work'), { recursive: true, mode: 0o700 })
      return void jobs('whenever')(join(home, 'profiles', 'work'))
    },
    doctor: ['warn task j1 of profile work task_schedule_invalid'],
  },
  ...['instance.lock', '/nope/lock'].map(to => ({
    name: `instance.lock is a link to ${to}`,
    make: (_: Desk, state: string) => void symlinkSync(to, join(state, 'instance.lock')),
    start: 78 as const,
    doctor: ['fail state state_not_file'],
  })),
  ...['file-trash', 'incoming'].map(name => ({
    name: `${name} of the state directory is a file`,
    make: stateFile(name, ''),
    start: 78 as const,
    doctor: ['fail state state_not_directory'],
  })),
  {
    name: 'a file is where earlier versions kept updates',
    make: stateFile('updates', ''),
  },
  ...['linked', '/nope/home'].map(to => ({
    name: `the home is a link to ${to}`,
    make({ root }: Desk) {
      const home = join(root, 'linked')
      symlinkSync(to, home)
      return { env: { AGENT_HOME: home, AGENT_WEBUI_STATE_DIR: join(root, 'state') } }
    },
    doctor: ['fail home home_not_directory'],
  })),
  {
    name: 'the file with the key of the cluster does not exist',
    make: env({
      AGENT_WEBUI_CLUSTER_URL: 'postgres://agent@127.0.0.1:9/agent',
      AGENT_WEBUI_CLUSTER_KEY_FILE: '/nope/key',
    }),
    doctor: ['fail cluster cluster_unusable'],
  },
  { name: 'a task has a schedule', make: ({ home }) => void jobs('every 2h')(home) },
  {
    name: 'the signing key was lost',
    make: stateFile(
      '.password',
      `{"version": 1, "hash": "${'0'.repeat(64)}", "seal": "${'0'.repeat(64)}"}`,
    ),
    doctor: ['warn signing key signing_key_foreign'],
  },
  {
    name: 'a session file is empty after a power failure',
    make(_, state) {
      mkdirSync(join(state, 'sessions'))
      return put(join(state, 'sessions', 'abcdefabcdef.jsonl'), '')
    },
    doctor: ['warn sessions session_damaged'],
  },
  {
    name: 'the sessions are a link to no directory',
    make: (_, state) => void symlinkSync('/nope/sessions', join(state, 'sessions')),
    start: 1,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'tokens are readable by others',
    ...mode('api-tokens.json', 0o644, '{"version":1,"enabled":false,"tokens":[]}'),
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: 'the settings can be changed by others',
    ...mode('settings.json', 0o666),
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: 'config.yaml with a key is readable by others',
    make: ({ home }) => void chmodSync(join(home, 'config.yaml'), 0o644),
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: 'the home can be changed by others',
    make: ({ home }) => void chmodSync(home, 0o777),
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: 'the state directory can be changed by others',
    make: (_, state) => void chmodSync(state, 0o777),
    doctor: ['warn secrets file_exposed'],
  },
  {
    name: '.env is a link to nothing',
    make: ({ home }) => void symlinkSync('/nope/env', join(home, '.env')),
    doctor: ['fail .env file_unreadable'],
  },
  { name: '.env sets nothing', ...homeFile('.env', '\n# nothing\n') },
  {
    name: 'auth.json is a list',
    ...homeFile('auth.json', '[]'),
    doctor: ['fail auth.json file_unreadable'],
  },
  {
    name: 'files of another profile cannot be read',
    make({ home }) {
      mkdirSync(join(home, 'profiles', 'work', 'cron'), { recursive: true, mode: 0o700 })
      put(join(home, 'profiles', 'work', 'config.yaml'), 'model: [')
      return put(join(home, 'profiles', 'work', 'cron', 'jobs.json'), '{')
    },
    doctor: [
      'fail profiles/work/config.yaml file_unreadable',
      'fail profiles/work/cron/jobs.json file_unreadable',
    ],
  },
  {
    name: 'AGENT_CONFIG_PATH names no file',
    make: env({ AGENT_CONFIG_PATH: '/nope/config.yaml' }),
    doctor: ['warn config.yaml config_missing'],
  },
  {
    name: 'config.yaml is empty',
    make: config(''),
  },
  {
    name: 'the key is what a restore without keys left',
    make: config(
      'model: {provider: openai, default: gpt-5, base_url: "http://127.0.0.1:9/v1", api_key: removed-from-backup}\n',
    ),
    doctor: ['fail providers key_placeholder', 'fail model model_unusable'],
  },
  {
    name: 'a key has characters that no key has',
    make(desk) {
      desk.config('model: {provider: openai, default: gpt-5}\n')
      return put(join(desk.home, '.env'), 'OPENAI_API_KEY="two words"\n')
    },
    doctor: ['fail providers key_invalid', 'fail model model_unusable'],
  },
  {
    name: 'a model without a provider',
    make: config('model: gpt-5\n'),
  },
  {
    name: 'a provider without a model',
    make: config('model: {provider: custom, base_url: "http://127.0.0.1:9/v1"}\n'),
    doctor: ['fail model model_unusable'],
  },
  {
    name: 'the address of the model is none',
    make: config('model: {provider: custom, default: x, base_url: "not an address"}\n'),
    doctor: ['fail model model_unusable'],
  },
  {
    name: 'the file of a hook does not exist',
    make: config('model: {provider: demo}\nhooks: {pre_tool_call: [{command: /nope/check.sh}]}\n'),
    doctor: ['warn hook pre_tool_call hook_missing'],
  },
  {
    name: 'the file of a hook is not executable',
    make(desk) {
      put(join(desk.home, 'check.sh'), '#!/bin/sh\n')
      return void desk.config(
        `model: {provider: demo}\nhooks: {pre_tool_call: [{command: ${join(desk.home, 'check.sh')}}]}\n`,
      )
    },
    doctor: ['warn hook pre_tool_call hook_missing'],
  },
  {
    name: 'an MCP server needs a sign-in',
    make: config(
      'model: {provider: demo}\nmcp_servers: {t: {url: "http://127.0.0.1:9/mcp", auth: oauth}}\n',
    ),
    doctor: ['warn mcp t mcp_unreachable'],
  },
  {
    name: 'an MCP server that is off is not looked for',
    make: config('model: {provider: demo}\nmcp_servers: {t: {command: nope, enabled: false}}\n'),
  },
  {
    name: 'commands are to run on another machine',
    make: config('model: {provider: demo}\nterminal: {backend: ssh}\n'),
    doctor: ['fail terminal.backend guard_unsupported'],
  },
  {
    name: 'a toolset of another program is named',
    make: config('model: {provider: demo}\nagent: {disabled_toolsets: [nosuch]}\n'),
    doctor: ['warn agent.disabled_toolsets guard_without_effect'],
  },
  {
    name: 'a permission rule cannot be read',
    make: config('model: {provider: demo}\npermissions: {deny: ["bash(git push"]}\n'),
    doctor: ['fail permissions.deny guard_unsupported'],
  },
  {
    name: 'approvals are to be answered by a model',
    make: config('model: {provider: demo}\napprovals: {mode: smart}\n'),
    doctor: ['warn approvals.mode value_invalid'],
  },
  {
    name: 'the time zone of config.yaml is none',
    make: config('model: {provider: demo}\ntimezone: Mars/Phobos\n'),
    doctor: ['warn timezone value_invalid'],
  },
  {
    name: 'a number of config.yaml is out of range',
    make: config('model: {provider: demo}\ncheckpoints: {max_snapshots: -1}\n'),
    doctor: ['warn checkpoints.max_snapshots value_invalid'],
  },
  {
    name: 'the init file of the shell does not exist',
    make: config('model: {provider: demo}\nterminal: {shell_init_files: [/nope/rc]}\n'),
    doctor: ['warn shell init files init_file_missing'],
  },
  {
    name: 'the init file of the shell ends with an error',
    make(desk) {
      put(join(desk.home, 'rc'), 'exit 3\n')
      return void desk.config(
        `model: {provider: demo}\nterminal: {shell_init_files: [${join(desk.home, 'rc')}]}\n`,
      )
    },
    doctor: ['warn shell init files init_file_fails'],
  },
  {
    name: 'commands are to run in a container, and there is no docker',
    make(desk) {
      desk.config('model: {provider: demo}\nterminal: {backend: docker}\n')
      return { env: withProgram(desk.root, 'docker', 'echo "Cannot connect" >&2; exit 1') }
    },
    doctor: ['fail container container_unusable'],
  },
  {
    name: 'state.db has no tables of sessions',
    make({ home }) {
      const db = new Database(join(home, 'state.db'))
      db.exec('create table other (a)')
      db.close()
      return undefined
    },
    doctor: ['fail state.db database_unusable'],
  },
  {
    name: 'state.db is a directory',
    make: ({ home }) => void mkdirSync(join(home, 'state.db')),
    doctor: ['fail state.db database_unusable'],
  },
  {
    name: 'notifications have no address of the page, and the last one was refused',
    make(_, state) {
      const service = {
        id: 's1',
        type: 'ntfy',
        url: 'https://ntfy.example',
        topic: 't',
        kinds: null,
      }
      const none = { version: 1, settings: {}, profiles: {}, muted: [], devices: [] }
      put(join(state, 'notifications.json'), JSON.stringify({ ...none, services: [service] }))
      const statuses = {
        s1: { last_sent_at: null, problem: 'It refused.', problem_code: 'rejected' },
      }
      const outbox = { version: 1, items: [], seen: [], tokens: [], statuses }
      return put(join(state, 'notifications-outbox.json'), JSON.stringify(outbox))
    },
    doctor: [
      'warn notifications page_address_missing',
      'warn notifications to ntfy ntfy.example notification_failed',
    ],
  },
  {
    name: 'instance.json is garbage',
    make: stateFile('instance.json', 'garbage'),
  },
  {
    name: 'the home is a file',
    make({ root }) {
      writeFileSync(join(root, 'home'), '')
      return { env: { AGENT_HOME: join(root, 'home'), AGENT_WEBUI_STATE_DIR: join(root, 'state') } }
    },
    doctor: ['fail home home_not_directory'],
  },
  {
    name: 'the home does not exist yet',
    make: ({ root }) => ({ env: { AGENT_HOME: join(root, 'new') } }),
    doctor: ['warn home home_missing'],
  },
]
