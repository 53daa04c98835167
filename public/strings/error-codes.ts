/** English text for the error codes of the server. Null: the server's sentence has details that the code lacks, so it is shown. */
import type { ErrorCode } from '../../lib/schema/error-code.ts'
import { asObject } from '../../lib/base/json.ts'
import type { ErrorDetail } from '../api.ts'
import { translator } from './t.ts'

const TEXTS: Readonly<Record<ErrorCode, string | null>> = {
  invalid_request: null,
  unauthorized: null,
  forbidden: null,
  not_found: null,
  method_not_allowed: null,
  conflict: null,
  range_not_satisfiable: null,
  too_many_requests: null,
  internal_error: 'Something went wrong on the server. Check its log.',
  unavailable: null,
  disk_full: 'The disk is full or read-only. Nothing was changed.',

  missing_fields: null,
  invalid_json: null,
  invalid_idempotency_key: null,
  idempotency_key_reused: null,
  request_interrupted: null,
  reply_not_kept: null,
  body_too_large: 'That’s too large. The limit is 20 MB.',
  cross_origin: null,
  host_not_allowed: null,
  own_program: null,
  sign_in_required: 'Sign in to continue.',
  other_account: 'Someone else is signed in now. Reload the page.',
  wrong_password: 'Incorrect password.',
  password_missing: 'Set a password first.',
  role_not_allowed: 'Your role doesn’t allow this. Ask an owner.',
  control_file: '“{path}” decides what the agent may do. Only an owner can change it.',
  no_profile: 'You don’t have a profile yet. Ask an owner.',
  identity_in_use: 'That account is linked to another person.',
  person_not_found: 'That person was removed.',
  people_exist: 'The password can’t be removed while other people can sign in. Remove them first.',
  invitation_expired: 'This invitation has expired or was already used. Ask for a new one.',
  name_taken: 'Someone already has this name.',
  first_owner: 'The first owner has the server’s password and always stays an owner.',
  too_many_people: 'The limit is {max} people. Remove someone first.',
  confirm_password: 'Enter your password to confirm.',
  pairing_expired:
    'This link has expired or was already used. Make a new one in Settings under Security.',
  code_required: 'Enter the code from your authenticator app.',
  wrong_code: 'Incorrect code.',
  too_many_codes: 'Too many wrong codes. Try again in 15 minutes.',
  passkey_rejected: 'This passkey wasn’t accepted.',
  passkey_no_host:
    'Passkeys need a host name. Open this page at localhost, or at a domain with HTTPS.',
  factors_unreadable:
    'The passkeys and codes of this server can’t be read, so sign-in is closed. Repair people.json, or run “agent-webui password --reset-factors” on the server.',
  too_many_sign_ins: 'Too many attempts. Try again in a minute.',
  invalid_password: 'A password can have at most {max} characters, and no line breaks.',
  password_from_environment:
    'AGENT_WEBUI_PASSWORD sets the password. Change it where the server is started.',
  password_required:
    'The password can’t be removed while the server can be reached from other machines.',
  password_unreadable:
    'The stored password can’t be read, so sign-in is closed. Run “agent-webui password” on the server.',
  shutting_down: 'The server is shutting down.',
  device_not_found: 'That device is already signed out.',
  passkey_not_found: 'That passkey no longer exists.',
  passkey_exists: 'This passkey is already registered.',
  too_many_passkeys: 'The limit is {max} passkeys. Delete one first.',
  codes_off: 'Two-step sign-in is off.',
  codes_on: 'Two-step sign-in is already on.',
  setup_expired: 'That took too long. Start again.',
  too_many_pairings: 'Too many pairing codes are open. Wait until one expires.',
  too_many_tokens: 'The limit is {max} tokens. Revoke one first.',
  file_damaged: '{path} is damaged. Repair or remove it, then restart the server.',
  too_many_identities: 'The limit is {max} linked accounts. Remove one first.',
  identity_not_found: 'That account is no longer linked.',
  sign_ins_busy: 'Too many sign-ins at once. Try again in a moment.',

  session_not_found: 'Chat not found.',
  session_busy: 'A response is in progress. Wait for it, or stop it first.',
  session_compacting: 'This chat is being compacted or imported. Wait for it to finish.',
  message_not_found: 'Message not found.',
  stream_not_found: null,
  no_running_turn: 'No response is in progress.',
  queue_full: 'At most {max} messages can be queued.',
  queued_message_not_found: 'That message is no longer in the queue.',
  queued_message_gone: 'That message was already sent or removed.',
  side_question_running: 'A side question is already being answered.',
  no_previous_summary: 'There’s no compaction to undo.',
  too_little_to_compact: 'There isn’t enough to compact yet.',
  external_session_in_use: 'Another chat already uses that session.',
  agent_running: 'A response is in progress. Wait for it, or stop it first.',
  chat_not_empty: 'Only an empty chat can continue an agent’s session. Start a new one.',
  agent_not_running: '{name} isn’t running for this chat. Open it first.',
  side_question_unavailable: 'External agents can’t answer side questions. Choose a model.',
  session_of_profile: 'This chat belongs to the profile “{profile}”.',
  session_changed: 'The chat changed in the meantime. Try again.',
  session_exists: 'A chat with this ID already exists.',
  compaction_canceled: 'Compaction canceled. Nothing has changed.',
  compaction_failed: 'Couldn’t compact this chat: {reason}',
  hook_blocked: 'A hook blocked this message: {reason}',
  search_unavailable: 'Message search isn’t available right now.',
  import_invalid: 'This file isn’t an exported chat.',

  model_missing: 'No model is selected. Choose one in the model menu.',
  provider_missing:
    'No provider is selected. Choose a model, or set model.provider in config.yaml.',
  key_missing: '{name} has no API key. Add one, or choose another model.',
  managed_home: 'API keys are managed by the system and can’t be changed here.',
  provider_misspelled: null,
  speech_unavailable: 'Speech-to-text isn’t available on this server.',
  invalid_key: 'That doesn’t look like an API key.',
  key_unsupported: 'No key can be stored for {name}.',
  sign_in_only: '{name} uses a sign-in instead of a key. Sign in from the command line.',
  model_list_missing: 'This provider has no model list. Enter the model to test.',
  model_list_failed: 'Couldn’t load models from {host}: {reason}',
  model_list_invalid: '{host} didn’t return a list of models.',
  invalid_address: 'Enter an address that starts with http:// or https://.',
  private_address:
    '{host} resolves to a private address, so it wasn’t contacted. Enter the IP address if that’s intended.',
  invalid_endpoint_name: 'Enter a name with 1 to 64 characters, without : / @',
  endpoint_name_taken: '{name} is the name of a provider. Choose another one.',
  invalid_model: 'That isn’t the name of a model.',
  provider_no_address:
    '{name} has no address. Set base_url for it in config.yaml, or choose another model.',
  provider_not_signed_in:
    '{name} isn’t signed in. Sign in from the command line, or choose another model.',
  provider_sign_in_expired:
    'The sign-in of {name} has expired. Sign in again from the command line, or choose another model.',
  agent_not_installed:
    'Couldn’t start {name}: {file} isn’t installed on the server. Install it, or choose another model.',
  speech_unreachable: 'Couldn’t reach the speech service.',
  speech_empty: 'The speech service returned nothing.',

  profile_not_found: 'There’s no profile “{name}”.',
  profile_exists: 'A profile with this name already exists.',
  profile_deleted:
    'This chat’s profile “{name}” no longer exists. Choose another profile to continue.',
  project_not_found: 'Project not found.',
  mcp_server_not_found: 'There’s no MCP server “{name}”.',
  mcp_server_exists: 'There’s already an MCP server “{name}”.',
  sign_in_expired:
    'This sign-in has expired, was already used, or began in another browser. Start it again.',
  toolset_disabled: '{name} is turned off by agent.disabled_toolsets in config.yaml.',
  guard_changed: 'This value has changed. Review it again.',
  job_not_found: 'Task not found.',
  too_many_jobs_running: 'Too many tasks are running. Wait for one to finish.',
  process_not_found: 'That process no longer exists.',
  invalid_profile_name:
    'Use only lowercase letters, digits, hyphens, and underscores for the name of a profile.',
  default_profile: 'The default profile can’t be deleted.',
  gateway_running: 'The gateway of “{name}” is running. Stop it first.',
  invalid_variable: '{name} isn’t a valid variable name.',
  variable_not_allowed: '{name} can’t be set in .env.',
  invalid_variable_value: 'The value of {name} has characters that can’t be saved.',
  name_too_long: 'A name can have at most {max} characters.',
  personality_not_found: 'The personality “{name}” isn’t in config.yaml.',
  interval_too_short: 'The interval must be at least one minute.',
  interval_too_long: 'The interval must be at most ten years.',
  invalid_schedule:
    '“{text}” isn’t a schedule. Try “every 2h”, “0 9 * * 1-5”, “2026-02-03T14:00”, or “weekdays at 9”.',
  schedule_too_long: 'This schedule is too long.',
  schedule_passed: 'That time has passed.',
  schedule_needs_day:
    'Add the day, for example “mondays at 9:00” or “the 1st of every month at 9:00”.',
  schedule_needs_time: 'Add a time, for example “weekdays at 9:00” or “tomorrow at 18:30”.',
  schedule_minutes: 'All times must have the same minute. Use one task for each of the others.',
  prompt_too_long: 'The prompt can have at most {max} characters.',
  prompt_hidden: 'The prompt contains invisible characters. Remove them and try again.',
  job_time_passed: 'The task’s time has passed. Change the schedule or run it now.',
  job_no_next_run: 'The task has no next run. Change the schedule.',
  invalid_time_zone: '“{zone}” isn’t a time zone. Enter one like Europe/Berlin.',
  mcp_invalid_name: 'A name can have at most 40 characters: letters, digits, - _ and .',
  mcp_needs_command: 'Enter a command or an address.',
  mcp_two_kinds: 'Enter either a command or an address, not both.',
  hidden_values: 'Enter the hidden values again. They aren’t kept for this change.',
  mcp_needs_tool: 'Leave at least one tool on, or turn off the server.',
  mcp_off: 'Turn on the server first.',
  mcp_no_sign_in: 'The server doesn’t say where to sign in.',
  mcp_no_registration:
    'The authorization server registers no clients. Create one there and set oauth.client_id of this server in config.yaml.',
  mcp_sign_in_failed: 'Couldn’t sign in: {reason}',
  rule_without_command: 'A rule can only be given for a command.',
  rule_exact_only: 'Only this exact command can be allowed. Leave it unchanged.',
  rule_form: 'A rule is the exact command, or its first words and “{mark}”.',
  rule_too_wide: 'This rule allows too much. The shortest one is “{rule}”.',
  rule_other_command: 'The rule doesn’t cover this command.',
  rule_not_found: 'That rule is no longer in the list.',
  receiver_not_found: 'That device or service no longer exists. Reload the page.',
  invalid_topic: 'A topic has letters, digits, - and _ only, and at most 64 characters.',
  gotify_token_missing: 'Enter the token of the Gotify application.',
  invalid_token: 'A token has no spaces or special characters.',
  too_many_devices: 'The limit is {max} devices. Remove one first.',
  too_many_services: 'The limit is {max} services. Remove one first.',
  shares_off: 'Share links are off. Turn them on in Settings under Security.',
  too_many_shares: 'The limit is {max} share links. Revoke one first.',
  script_place: 'The script must be a file in {folder}.',
  script_type: 'The script must be a .py, .sh, or .js file, or executable.',

  terminal_not_found: 'That terminal no longer exists.',
  terminal_ended: 'That terminal has ended.',
  terminal_unavailable: null,
  too_many_terminals: 'The limit is {max} open terminals. Close one first.',
  too_many_terminals_opened: 'Too many terminals were opened. Wait a minute, then try again.',
  terminal_not_reading: 'The program in the terminal isn’t reading its input.',

  git_diff_changed: 'The file changed in the meantime. Check the new diff, then try again.',
  git_failed: null,
  git_hooks: null,
  git_needs_terminal: null,
  git_unmerged: null,
  not_a_repository: 'This workspace isn’t a Git repository.',
  git_change_not_found: 'That change no longer exists.',
  stash_not_found: 'That stash no longer exists.',
  commit_not_found: 'That commit isn’t in this workspace.',
  worktree_not_found: 'That worktree no longer exists.',
  not_a_worktree: 'This workspace isn’t the worktree of a chat.',
  invalid_branch: '“{name}” can’t be the name of a branch.',
  commit_message_missing: 'Write a commit message.',
  git_nothing_in_progress: 'Nothing is in progress.',
  git_nothing_staged: 'Nothing is staged.',
  git_nothing_to_stash: 'There’s nothing to stash.',
  git_no_branch: 'You aren’t on a branch. Create one first.',
  git_no_upstream: 'The branch “{branch}” doesn’t follow a remote branch. Push it first.',
  git_remote_unclear: 'It isn’t clear which remote to push to. Push once in the terminal.',
  git_no_remote: 'This repository has no remote.',
  git_whole_only: 'This change can only be staged as a whole.',
  git_staged_already: 'This change is already staged.',
  git_nested: 'A repository inside this one can’t be staged here.',
  git_link: 'A changed link can only be discarded in the terminal.',
  git_only_unstaged: 'Only unstaged changes can be discarded.',
  git_last_line:
    'The file’s last line has no line break, so these lines can only be selected together with the last line.',
  git_missing: 'Git couldn’t be started on the server.',
  git_timeout: 'Git took too long and was stopped.',
  git_unreadable: 'Git can’t use this repository: {reason}',
  git_read_failed: 'Git couldn’t read this.',

  file_not_found: 'File not found.',
  file_exists: 'There’s already a file or folder with this name.',
  file_changed: 'This file was modified after you opened it.',
  file_in_use: 'The file is in use.',
  path_not_allowed: 'This location isn’t allowed.',
  permission_denied: 'Permission denied.',
  workspace_not_found: 'Workspace not found.',
  workspace_exists: 'This workspace is already in the list.',
  workspace_missing: 'This folder doesn’t exist.',
  trash_entry_gone: 'It’s no longer in the trash.',
  checkpoint_not_found: 'These changes are no longer recorded.',
  restore_conflict: null,
  note_changed: 'This note was modified after you opened it.',
  skill_not_found: 'Skill not found.',
  skill_exists: 'There’s already a skill “{name}”.',
  skill_changed: 'This file was modified after you opened it.',
  skill_deleted: 'This skill or file was deleted.',
  skill_read_only: '“{name}” is stored outside this profile and is read-only.',
  is_folder: 'That’s a folder.',
  not_a_folder: 'That isn’t a folder.',
  invalid_file_name: 'This file name isn’t allowed.',
  too_many_same_name: 'Too many files have this name.',
  path_outside: 'The folder is outside the workspace.',
  other_disk: 'The folder is on another disk.',
  git_folder: 'Files in a .git folder can’t be changed here. Use Git in a terminal.',
  not_text: 'This file isn’t all text. Saving it here would damage it.',
  character_unsupported:
    'The file is in Windows-1252, which has no “{char}”. Write it without, or convert the file first.',
  workspace_root: 'That’s the workspace itself.',
  own_files: 'The server keeps its own files there.',
  folder_into_itself: 'A folder can’t be moved into itself.',
  file_too_large: 'This file is too large to open. The limit is {max} kB.',
  folder_too_large:
    'This folder is too large to download. The limit is {files} files and {max} MB.',
  workspace_system: 'That’s a system folder. Choose another one.',
  workspace_outside: 'This folder is outside your home folder. Add it to the workspaces first.',
  workspace_of_profile: 'This folder belongs to another profile.',
  restore_taken: 'There’s a new “{name}” in its place.',
  folder_busy: 'A response is in progress in this folder. Wait for it, or stop it first.',
  restore_whole: '{path} can only be restored as a whole.',
  text_too_long: 'The limit is {max} characters.',
  invalid_skill_name:
    'A skill’s name has at most 64 lowercase letters, digits, dots, hyphens, and underscores.',
  invalid_category: 'This category name isn’t allowed.',
  skill_empty: 'A skill needs text after its front matter.',
  skill_needs_fields: 'The front matter needs a name and a description.',
  front_matter_invalid: 'Not saved. {problem}',
  skill_file_too_large: 'Skill files are limited to 1 MB.',
  skill_file_place: 'A skill’s files go into these folders: {folders}.',
  command_built_in: '/{name} is a built-in command. Choose another name.',
  file_linked: '{path} is a link to a file outside this profile. Edit it there.',
  invalid_command_name:
    'A command’s name has letters from a to z, digits, “.”, “-”, and “_”. “:” separates folders.',
  invalid_subagent_name:
    'A subagent’s name is one line of at most 64 characters and starts with a letter or digit.',
  instructions_missing: 'Write the instructions for the model.',
  special_file: 'It contains something that is neither a file nor a folder.',

  backup_path_relative: 'Enter the full path of a folder, such as /backups.',
  backup_inside:
    '{folder} is inside {place}, which is what gets saved. Choose a folder outside of it.',
  folder_not_created: 'Couldn’t create {folder}: {reason}',
  backup_running: 'A backup is already in progress.',
  backup_not_found: 'That backup no longer exists.',
  backup_keys_too_large:
    'The files with keys are too large: {file}. The limit is {max} MB in all. Nothing was saved.',
  update_address: 'AGENT_WEBUI_RELEASES must be an https address.',
  update_unreachable: 'Couldn’t reach the release server.',
  update_cut: 'The download ended early. Nothing was changed.',
  update_no_file: 'Version {version} isn’t available for this system.',
  update_checksum: 'The download doesn’t have the checksum of the release. Nothing was changed.',
  update_not_running: 'The new version doesn’t run here: {reason}. Nothing was changed.',
  update_backup_failed: 'The backup before the update failed, so nothing was changed: {reason}',
  update_no_space: 'There’s no space left in {folder} for the new version. Nothing was changed.',
  mcp_not_https: '{host} has no https address, so you can’t sign in there.',
  mcp_other_server: 'The answer was for another server, so it wasn’t used.',
  mcp_not_registered:
    'The authorization server didn’t register this client: {reason}. Set oauth.client_id of this server in config.yaml.',
}

const own = translator({ 'error.copy': 'Copy details' })

/** What finds a failed request in the server's log. In English, as the log. Null unless the server has named the request. */
export const errorDetail = (
  status: number,
  { error, request_id: id }: Record<string, unknown>,
  route: string,
): ErrorDetail | null => {
  if (status < 500 || typeof id !== 'string') return null
  const text = `${route}: ${status} ${error}\nrequest_id: ${id}\n${new Date().toISOString()}`
  return { label: own('error.copy'), text }
}

/** What a sentence can name. */
const isValue = (value: unknown): boolean =>
  ['string', 'number'].includes(typeof value) ||
  (Array.isArray(value) && value.every(each => typeof each === 'string'))

const t = translator(
  Object.fromEntries(Object.entries(TEXTS).flatMap(([code, text]) => (text ? [[code, text]] : []))),
)

/** The page's text for a code; undefined when the server's sentence should be shown, for example because it lacks a value. */
export const errorText = (code: unknown, values: unknown): string | undefined => {
  const text =
    typeof code === 'string' && Object.hasOwn(TEXTS, code) ? TEXTS[code as ErrorCode] : null
  if (!text) return undefined
  const given = asObject(values)
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  if (names.some(name => !isValue(given[name]))) return undefined
  return (t as (key: string, values: object) => string)(code as string, given)
}
