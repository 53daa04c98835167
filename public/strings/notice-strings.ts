/** English text for notices of the server, loaded with the first one. */
import type { Coded } from '../../lib/base/sentences.ts'
import type { NoticeCode, NoticeValues } from '../../lib/schema/notice.ts'
import { shownValues } from './server-text.ts'
import { translator } from './t.ts'

const t = translator('notice', {
  person_joined: '{name} has joined.',
  device_paired: '“{name}” was paired.',
  unnamed_device_paired: 'The device is paired.',
  passkey_added: 'Passkey added',
  codes_on: 'Two-step sign-in turned on',
  codes_off: 'Two-step sign-in turned off',
  profile_deleted: 'Profile “{name}” was deleted.',
  file_kept: 'Couldn’t read {file}: {reason}. The last readable version is still in use.',
  file_lost: 'Couldn’t read {file}: {reason}. What depends on it doesn’t work until you fix it.',
  file_readable: '{file} can be read again.',
  settings_changed:
    '{file} was changed: {keys}. The earlier values stay in force until you accept the change under Settings → Permissions.',
  settings_unconfirmed:
    '{file} can’t be used: {reason}. Settings that loosen what the agent may do stay off until you accept them under Settings → Permissions.',
  process_ended: 'Exited with code {code}: {command}',
  cell_full:
    'Your files use {used}, and the limit is {limit}. Delete what isn’t needed: until then, only commands can add files.',
  prompt_done: '“{title}” is done.',
  prompt_unfinished: '“{title}” didn’t finish.',
} as const satisfies Readonly<Record<NoticeCode, string>>)

/** `sentences`: the values that have a code. */
export const noticeText = (
  code: NoticeCode,
  values: NoticeValues = {},
  sentences?: Readonly<Record<string, Coded>>,
): string =>
  (t as (key: NoticeCode, values: object) => string)(code, shownValues(values, sentences))
