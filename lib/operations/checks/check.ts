/** What the checks of `doctor` and of a start find: what was looked at, what was found, and what to do when it is not right. */
import type { Guard } from '../../schema/guard.ts'
import type { AcceptedSettings } from '../../commands/guards/accepted-settings.ts'
import type { Config } from '../../config.ts'
import type { ModelServices } from '../../models/models.ts'
import type { Home } from '../../profiles/home.ts'
import type { Homes } from '../../profiles/homes.ts'
import type { UnreadableFile } from '../../schema/file-problem.ts'
import type { FileSources } from '../file-problems.ts'
import type { Machine } from './machine.ts'

export type Level = 'ok' | 'warn' | 'fail'

const CHANGE_DIRECTORY = 'Set AGENT_WEBUI_STATE_DIR to another directory.'
const GUIDE = 'docs/reverse-proxies.md has complete examples.'
const PROXY_OF_PAGE = `Compare the address with the configuration of the proxy. ${GUIDE}`
const CLOCK_ADVICE =
  'Set the clock. Certificates of providers, sign-ins, and one-time codes are refused until then.'

/**
 * What can be found, with what to do about it. Programs read the codes of `doctor --json`: sentences may change, codes do not.
 * Without an advice here, the check knows what to do in this case.
 */
const WARNINGS = {
  agent_fails: '',
  agent_missing: 'Install it, or fix acp_command in config.yaml.',
  agent_signed_out: '',
  backup_failed: 'See Settings → System.',
  backups_stopped: '',
  certificate_expired: 'Renew it.',
  certificate_expires: 'Renew it.',
  certificate_untrusted: 'Browsers warn of it or refuse it. Give the proxy another.',
  clock_behind: CLOCK_ADVICE,
  clock_differs: CLOCK_ADVICE,
  config_missing: 'Create it, or fix the variable.',
  disk_low: 'Free up space soon.',
  env_lines_ignored: 'Comments begin with #.',
  file_exposed: 'Whoever owns or manages it can change its mode.',
  file_replaced: '',
  guard_accepted: '',
  guard_without_effect: 'Change it, or dismiss it under Settings → Permissions.',
  home_foreign: '',
  home_missing: 'It is created when the server first starts.',
  home_not_writable: 'Make it writable for this user.',
  hook_missing: '',
  image_missing: '',
  init_file_fails: 'Source it in a new bash to see why.',
  init_file_missing: 'Fix terminal.shell_init_files.',
  key_unknown:
    'Correct their names, or leave them for the program that reads them. docs/configuration-keys.md has all that are read.',
  mcp_signed_out: 'Sign in under Settings → Tools.',
  mcp_unreachable: 'Start the server, or fix its url.',
  model_demo: 'Add an API key to .env, or choose a provider in the settings.',
  model_server_unreachable: 'Start it, or correct its address (base_url) in config.yaml.',
  notification_failed: '',
  open_files_low: 'Raise the limit: ulimit -n 65536, or LimitNOFILE of the unit.',
  page_address_missing: 'Enter it under Settings → Notifications → Address of this page.',
  password_missing:
    'Set one: agent-webui password. Until then the owner needs the setup token of the log.',
  profile_missing: 'Choose another profile on the page.',
  program_missing: '',
  proxies_untrusted: 'Name the addresses of the proxy only.',
  proxy_asks_sign_in: 'Run this where it does not, or check in a browser.',
  proxy_headers_missing:
    'Make it send X-Forwarded-For (nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;).',
  ripgrep_missing: 'Install ripgrep (rg). Without it, the agent finds files by name only.',
  runs_as_root: 'Run agent-webui as a user of its own.',
  sandbox_off: '',
  service_killed: 'Look at its log for the reason, and start it: agent-webui',
  service_stopped: 'Start it: agent-webui',
  session_damaged:
    'Their other lines are shown. If messages are missing, restore the files from a backup.',
  settings_unconfirmed: '',
  sign_in_expired: 'Sign in again with the command line (hermes model).',
  signing_key_foreign:
    'Run agent-webui password to set a new one, or restore .signing_key from a backup.',
  state_foreign: '',
  task_schedule_invalid: 'Give it another one in Tasks.',
  temporary_files_unusable: 'Create it, or fix TMPDIR.',
  time_zone_unknown: 'Set TZ to a name such as Europe/Berlin, or remove it.',
  too_many_checks: 'Run it again in ten seconds.',
  value_invalid: '',
  variable_ignored: 'Correct or remove the variable.',
  workspace_unusable: 'Create it, or choose another under Settings → General and look.',
}
const FAILURES = {
  accepted_settings_unreadable: 'Run agent-webui config, then accept them.',
  address_unreachable: 'Check the address, and whether the proxy runs.',
  address_unusable: '',
  base_path_taken: 'Choose another, such as /agent.',
  certificate_unusable: '',
  cluster_unusable: '',
  container_unusable: 'No command runs until this is solved.',
  database_unusable: '',
  disk_full: 'Free up space. Nothing can be saved.',
  environment_invalid: 'Fix the environment variable, then run doctor again.',
  file_unreadable: '',
  guard_unsupported: 'Change it, or accept it under Settings → Permissions.',
  home_not_directory: 'Repair it, or set AGENT_HOME to another directory.',
  key_invalid: 'Correct it.',
  key_placeholder: 'Enter the key again.',
  mcp_entry_invalid: 'Fix its entry in mcp_servers.',
  mcp_program_missing: 'Install it, or fix the command.',
  mcp_section_invalid: '',
  model_unusable: 'Choose another default model.',
  oidc_secret_unreadable: 'Put the secret into it, or fix the variable.',
  oidc_unreachable:
    'Check AGENT_WEBUI_OIDC_ISSUER: <issuer>/.well-known/openid-configuration must answer. The password keeps working.',
  page_redirected: '',
  page_unknown: PROXY_OF_PAGE,
  password_invalid: 'Change it.',
  path_wrong: '',
  program_not_unpacked: 'Then run doctor again. Until then nothing starts.',
  proxy_without_server:
    'Start agent-webui, and compare its address with the one in the configuration of the proxy.',
  restore_unfinished: '',
  sandbox_unusable: 'Until then commands are refused. docs/sandbox.md has more.',
  server_refuses: GUIDE,
  service_hangs: '',
  service_unhealthy: 'Check its log.',
  sessions_unreadable: '',
  signing_key_unreadable: 'The server does not start without it.',
  state_not_directory: '',
  state_not_file: 'Delete it and start again.',
  state_not_writable: CHANGE_DIRECTORY,
  stream_failed: GUIDE,
  stream_held_back: 'Turn buffering off for the path (nginx: proxy_buffering off;).',
  traces_invalid: 'Fix the variable, or remove it to send no traces.',
  upload_refused: 'Allow 25 MB (nginx: client_max_body_size 25m;).',
}

const ADVICE = { ...WARNINGS, ...FAILURES }
export type CheckCode = keyof typeof ADVICE
export const CHECK_CODES = Object.keys(ADVICE) as CheckCode[]

export type Check = {
  about: string
  level: Level
  /** Present unless the level is ok. */
  code?: CheckCode
  said: string
  /** What to do. Present unless the level is ok. */
  advice?: string
  /** What `doctor --fix` does about it: a repair that loses nothing and needs no decision. */
  fix?: {
    /** What `apply` does, in the infinitive: "set the mode of … to 600". */
    does: string
    apply: () => void
  }
  /** It may be different at the next start, although nobody does anything. */
  mayPass?: true
}

export const ok = (about: string, message: string): Check => ({ about, level: 'ok', said: message })

export const finding = (
  code: CheckCode,
  about: string,
  message: string,
  more: Partial<Pick<Check, 'advice' | 'fix' | 'level' | 'mayPass'>> = {},
): Check => {
  const level = code in FAILURES ? 'fail' : 'warn'
  return { about, level, code, said: message, advice: ADVICE[code], ...more }
}

export const hasFailed = (checks: readonly Check[]): boolean =>
  checks.some(({ level }) => level === 'fail')

/** What a start can know. */
export type StartContext = {
  config: Config
  machine: Machine
  /** First segments of the paths of the server. */
  ownNames: ReadonlySet<string>
}

/** A JSON file of the state directory. */
export type KnownFile = {
  name: string
  path: string
  /** What is the case until it can be read. */
  until: string
  /** The service replaces it with its next change: nothing for a person to repair. */
  isReplaced?: true | undefined
  problem: () => UnreadableFile | null
}

export type CheckContext = StartContext & {
  version: string
  addon: string | undefined
  home: Home
  homes: Homes
  acceptedSettings: AcceptedSettings
  models: ModelServices
  /** What folders above this one know. */
  above: {
    stateFiles: () => KnownFile[]
    jobsOf: FileSources['jobsOf']
    /** Ids of tasks of a home whose schedule cannot be read. */
    brokenTasks: (home: Home) => unknown[]
    guards: (home: Home) => Guard[]
    /** Null: the home asks for no container. */
    container: (
      home: Home,
    ) => Promise<{ image: string; engine: string; program: string; isDownloaded: boolean } | null>
    /** Resolves when the database of the cluster answers. */
    cluster: (settings: NonNullable<Config['cluster']>) => Promise<void>
  }
}

/** One question of `doctor`; a start asks some of them, too. */
export type Question<Context> = {
  name: string
  /** What a person would ask. */
  asks: string
  /** Not asked where the answer to that one says that it fails: it would only repeat that. */
  needs?: 'home' | 'state'
  answer: (context: Context) => Check[] | Promise<Check[]>
}
