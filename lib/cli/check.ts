/** One result of `doctor`: what was checked, what was found, and what to do when it is not right. */
import type { Machine } from '../app/machine.ts'
import type { Config } from '../config.ts'
import type { ModelServices } from '../models/models.ts'
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'

export type Level = 'ok' | 'warn' | 'fail'

/** A repair that loses nothing and needs no decision. */
export type Fix = {
  /** What `apply` does, in the infinitive: "set the mode of … to 600". */
  does: string
  apply: () => void
}

/** What can be found, for programs that read `doctor --json`: sentences may change, codes do not. */
export const CHECK_CODES = [
  'accepted_settings_unreadable',
  'address_unreachable',
  'address_unusable',
  'agent_fails',
  'agent_missing',
  'agent_signed_out',
  'backup_failed',
  'backups_stopped',
  'base_path_taken',
  'certificate_expired',
  'certificate_expires',
  'certificate_untrusted',
  'certificate_unusable',
  'clock_behind',
  'clock_differs',
  'cluster_unusable',
  'cluster_without_key',
  'config_missing',
  'container_unusable',
  'database_unusable',
  'disk_full',
  'disk_low',
  'env_lines_ignored',
  'environment_invalid',
  'file_exposed',
  'file_replaced',
  'file_unreadable',
  'guard_accepted',
  'guard_unsupported',
  'guard_without_effect',
  'home_foreign',
  'home_missing',
  'home_not_directory',
  'home_not_writable',
  'hook_missing',
  'image_missing',
  'init_file_fails',
  'init_file_missing',
  'key_invalid',
  'key_placeholder',
  'key_unknown',
  'mcp_entry_invalid',
  'mcp_program_missing',
  'mcp_section_invalid',
  'mcp_signed_out',
  'mcp_unreachable',
  'model_demo',
  'model_server_unreachable',
  'model_unusable',
  'notification_failed',
  'oidc_secret_unreadable',
  'oidc_unreachable',
  'open_files_low',
  'page_address_missing',
  'page_redirected',
  'page_unknown',
  'password_invalid',
  'password_missing',
  'path_wrong',
  'profile_missing',
  'program_missing',
  'program_not_unpacked',
  'proxies_untrusted',
  'proxy_asks_sign_in',
  'proxy_headers_missing',
  'proxy_without_server',
  'restore_unfinished',
  'ripgrep_missing',
  'runs_as_root',
  'sandbox_off',
  'sandbox_unusable',
  'server_refuses',
  'service_hangs',
  'service_killed',
  'service_stopped',
  'service_unhealthy',
  'session_damaged',
  'sessions_unreadable',
  'settings_unconfirmed',
  'sign_in_expired',
  'signing_key_foreign',
  'signing_key_unreadable',
  'state_foreign',
  'state_not_directory',
  'state_not_file',
  'state_not_writable',
  'stream_failed',
  'stream_held_back',
  'task_schedule_invalid',
  'temporary_files_unusable',
  'time_zone_unknown',
  'too_many_checks',
  'traces_invalid',
  'upload_refused',
  'value_invalid',
  'variable_ignored',
  'workspace_unusable',
] as const
export type CheckCode = (typeof CHECK_CODES)[number]

export type Check = {
  about: string
  level: Level
  /** Present unless the level is ok. */
  code?: CheckCode
  said: string
  /** What to do. Present unless the level is ok. */
  advice?: string
  /** What `doctor --fix` does about it. */
  fix?: Fix
  /** It may be different at the next start, although nobody does anything. */
  mayPass?: true
}

export type CheckContext = {
  config: Config
  home: Home
  homes: Pick<Homes, 'list'>
  acceptedSettings: AcceptedSettings
  models: Pick<ModelServices, 'ready' | 'compatible' | 'endpoint'>
  addon: string | undefined
  machine: Machine
  /** First segments of the paths of the server. */
  ownNames: ReadonlySet<string>
}

export const ok = (about: string, said: string): Check => ({ about, level: 'ok', said })

const finding =
  (level: 'warn' | 'fail') =>
  (code: CheckCode, about: string, said: string, advice: string, fix?: Fix): Check => ({
    about,
    level,
    code,
    said,
    advice,
    ...(fix && { fix }),
  })
export const warn = finding('warn')
export const fail = finding('fail')
