/** English text for the error codes of the server. Null: the server's sentence has details that the code lacks, so it is shown. */
import type { ErrorCode } from '../../lib/schema/error-code.ts'
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
  disk_full: null,

  missing_fields: null,
  invalid_json: null,
  body_too_large: 'That’s too large. The limit is 20 MB.',
  cross_origin: null,
  host_not_allowed: null,
  own_program: null,
  sign_in_required: 'Sign in to continue.',
  wrong_password: 'Incorrect password.',
  password_missing: 'Set a password first.',
  confirm_password: 'Enter your password to confirm.',
  pairing_expired: null,
  code_required: 'Enter the code from your authenticator app.',
  wrong_code: 'Incorrect code.',
  too_many_codes: 'Too many wrong codes. Try again in 15 minutes.',
  passkey_rejected: 'This passkey wasn’t accepted.',
  passkey_no_host: null,
  factors_unreadable: null,
  too_many_sign_ins: 'Too many attempts. Try again in a minute.',
  invalid_password: null,
  password_from_environment: null,
  password_required:
    'The password can’t be removed while the server can be reached from other machines.',
  password_unreadable: null,
  shutting_down: 'The server is shutting down.',

  session_not_found: 'Chat not found.',
  session_busy: 'A response is in progress. Wait for it, or stop it first.',
  session_compacting: 'This chat is being compacted or imported. Wait for it to finish.',
  message_not_found: 'Message not found.',
  stream_not_found: null,
  no_running_turn: 'No response is in progress.',
  queue_full: null,
  queued_message_not_found: 'That message is no longer in the queue.',
  queued_message_gone: 'That message was already sent or removed.',
  side_question_running: 'A side question is already being answered.',
  no_previous_summary: 'There’s no compaction to undo.',
  too_little_to_compact: 'There isn’t enough to compact yet.',
  external_session_in_use: 'Another chat already uses that session.',
  agent_running: null,

  model_missing: 'No model is selected. Choose one in the model menu.',
  provider_missing: null,
  key_missing: null,
  managed_home: 'API keys are managed by the system and can’t be changed here.',
  provider_misspelled: null,
  speech_unavailable: 'Speech-to-text isn’t available on this server.',

  profile_not_found: null,
  profile_exists: 'A profile with this name already exists.',
  profile_deleted: null,
  project_not_found: 'Project not found.',
  mcp_server_not_found: null,
  mcp_server_exists: null,
  sign_in_expired: null,
  toolset_disabled: null,
  guard_changed: 'This value has changed. Review it again.',
  job_not_found: 'Task not found.',
  too_many_jobs_running: 'Too many tasks are running. Wait for one to finish.',
  process_not_found: 'That process no longer exists.',

  terminal_not_found: 'That terminal no longer exists.',
  terminal_ended: 'That terminal has ended.',
  terminal_unavailable: null,

  git_diff_changed: 'The file changed in the meantime. Check the new diff, then try again.',
  git_failed: null,
  git_hooks: null,
  git_needs_terminal: null,
  git_unmerged: null,

  file_not_found: null,
  file_exists: null,
  file_changed: 'This file was modified after you opened it.',
  file_in_use: 'The file is in use.',
  path_not_allowed: null,
  permission_denied: 'Permission denied.',
  workspace_not_found: 'Workspace not found.',
  workspace_exists: 'This workspace is already in the list.',
  workspace_missing: null,
  trash_entry_gone: 'It’s no longer in the trash.',
  checkpoint_not_found: 'These changes are no longer recorded.',
  restore_conflict: null,
  note_changed: 'This note was modified after you opened it.',
  skill_not_found: 'Skill not found.',
  skill_exists: null,
  skill_changed: 'This file was modified after you opened it.',
  skill_deleted: 'This skill or file was deleted.',
  skill_read_only: null,
}

const t = translator(
  Object.fromEntries(Object.entries(TEXTS).flatMap(([code, text]) => (text ? [[code, text]] : []))),
)

/** The page's text for a code; undefined when the server's sentence should be shown. */
export const errorText = (code: unknown): string | undefined =>
  typeof code === 'string' && Object.hasOwn(TEXTS, code) && TEXTS[code as ErrorCode] !== null
    ? t(code)
    : undefined
