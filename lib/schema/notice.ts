/** What notices of the server are about: the page has a text for each, in its language. */
import { z } from 'zod'
import type { Words } from '../base/sentences.ts'

export const NoticeCode = z.enum([
  'person_joined',
  'device_paired',
  'unnamed_device_paired',
  'passkey_added',
  'codes_on',
  'codes_off',
  'profile_deleted',
  'file_kept',
  'file_lost',
  'file_readable',
  'settings_changed',
  'settings_unconfirmed',
  'process_ended',
  'cell_full',
  'prompt_done',
  'prompt_unfinished',
])
export type NoticeCode = z.infer<typeof NoticeCode>

/** What the text names. */
export const NoticeValues = z.record(z.string(), z.union([z.string(), z.number()]))
export type NoticeValues = z.infer<typeof NoticeValues>

/** Shows a notice on open pages. `message` is for clients that do not know the code. */
export type Notify = (
  level: 'info' | 'error',
  message: string,
  about: { code: NoticeCode; values?: Readonly<Record<string, Words | number>> },
) => void
