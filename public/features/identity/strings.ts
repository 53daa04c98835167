/** English text of devices, pairing and the ways to sign in, loaded with Settings → Security. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'devices.title': 'Signed-in devices',
  'devices.this': '{name} (this device)',
  'devices.unknown': 'Unknown device',
  'devices.how.password': 'Signed in with the password',
  'devices.how.new-password': 'Signed in by setting the password',
  'devices.how.setup': 'Signed in with the setup token',
  'devices.how.pairing': 'Paired',
  'devices.how.passkey': 'Signed in with a passkey',
  'devices.now': 'Active now',
  'devices.seen': 'Last active {time}',
  'devices.since': 'Since {time}',
  'devices.rename': 'Rename {name}',
  'devices.name': 'Name',
  'devices.name.hint': 'Leave empty to show the browser’s name.',
  'devices.save': 'Save',
  'devices.cancel': 'Cancel',
  'devices.revoke': 'Sign out',
  'devices.revoke.what': 'Sign out {name}',
  'devices.revoked': 'Signed out',
  'devices.others': 'Sign out all other devices',
  'devices.others.hint': 'This device stays signed in.',
  'devices.others.title': 'Sign out all other devices?',
  'devices.others.text': 'They lose access at once and have to sign in again.',
  'devices.others.done': 'All other devices are signed out',
} as const)
