/** English text of Settings → Access. */
import { translator } from '../../strings/t.ts'

export const t = translator('people', {
  'people.lead': 'Invite others to this server, and choose which profiles they can use.',
  'people.you': '{name} (you)',
  'people.role.owner': 'Owner',
  'people.role.member': 'Member',
  'people.role.viewer': 'Viewer',
  'people.role.hint.owner': 'Can do everything, in all profiles.',
  'people.role.hint.member': 'Chats and works in the profiles you choose.',
  'people.role.hint.viewer': 'Reads the profiles you choose.',
  'people.invited': 'Invited',
  'people.expired': 'Invitation expired',
  'people.none': 'No profiles',
  'people.invite': 'Invite',
  'people.edit': 'Edit {name}',
  'people.remove': 'Remove {name}',
  'people.remove.title': 'Remove {name}?',
  'people.remove.text': 'They’re signed out at once. Their chats stay.',
  'people.remove.yes': 'Remove',
  'people.removed': '{name} was removed',
  'people.name': 'Name',
  'people.role': 'Role',
  'people.profiles': 'Profiles',
  'people.sign_in_as': 'Signs in as',
  'people.sign_in_as.hint':
    'Their email address at the provider, or their name at the proxy, if you use single sign-on.',
  'people.save': 'Save',
  'people.link.new': 'New link',
  'people.link.title': 'Invite {name}',
  'people.link.text':
    'Send this link to {name}. It works once, for 24 hours, and isn’t shown again.',
  'people.link.qr': 'QR code with the invitation',
  'people.link.copy': 'Copy link',
  'people.link.done': 'Done',
})
