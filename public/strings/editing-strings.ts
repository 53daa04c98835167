/** English text shared by the lazily loaded views that show and edit files of the profile. */
import { translator } from './t.ts'

export const enEditing = {
  'app.save': 'Save',
  'app.saving': 'Saving…',
  'app.cancel': 'Cancel',
  'app.edit': 'Edit',
  'app.delete': 'Delete',
  'app.limit': '{count} of {limit} characters',
  'conflict.title': 'File changed',
  'conflict.text': 'This file was modified after you opened it.',
  'conflict.theirs': 'Discard mine',
  'conflict.mine': 'Overwrite',
} as const

export const t = translator('editing', enEditing)
