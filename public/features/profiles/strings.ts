/** The English catalogue of the profiles' page; it comes with it. */
import { translator } from '../../strings/t.ts'

const enProfilesPage = {
  'profiles.title': 'Profiles',
  'profiles.lead':
    'Each profile is a separate agent with its own configuration, keys, skills, memory, and tasks. Conversations stay with the profile they were started in.',
  'profiles.new': 'New profile',
  'profiles.failed': 'Couldn’t load the profiles.',
  'profiles.list': 'All profiles',
  'profiles.default': 'Built-in',
  'profiles.active': 'Active',
  'profiles.model': 'Model',
  'profiles.model.none': 'Not chosen',
  'profiles.provider': 'Provider',
  'profiles.provider.none': 'Not chosen',
  'profiles.skills': 'Skills',
  'profiles.keys': 'Keys',
  'profiles.keys.yes': 'Own keys in .env',
  'profiles.keys.no': 'No keys of its own',
  'profiles.gateway': 'Gateway',
  'profiles.gateway.on': 'Running',
  'profiles.gateway.off': 'Not running',
  'profiles.path': 'Home',
  'profiles.enter': 'Switch',
  'profiles.enter.label': 'Switch to {name}',
  'profiles.clone': 'Clone',
  'profiles.clone.label': 'Clone {name}',
  'profiles.delete': 'Delete',
  'profiles.delete.label': 'Delete {name}',
  'profiles.delete.title': 'Delete profile {name}?',
  'profiles.delete.text':
    'Its configuration, keys, skills, memory, and tasks will be erased from the disk. Its conversations are kept, and you can continue them in another profile. This can’t be undone.',
  'profiles.delete.type': 'Type {name} to confirm',
  'profiles.delete.confirm': 'Delete profile',
  'profiles.form.clone': 'Clone {name}',
  'profiles.form.name': 'Name',
  'profiles.form.name.hint':
    'Lowercase letters, digits, - and _, beginning with a letter or digit.',
  'profiles.form.name.bad':
    'Use lowercase letters, digits, - and _ only, at most 64, beginning with a letter or digit.',
  'profiles.form.name.taken': 'A profile with this name already exists.',
  'profiles.form.source': 'Start with',
  'profiles.form.source.empty': 'An empty profile',
  'profiles.form.source.of': 'Configuration, keys and memory of {name}',
  'profiles.form.own': 'Use its own model',
  'profiles.form.model': 'Model',
  'profiles.form.model.hint': 'Leave blank to choose one later in the model menu.',
  'profiles.form.url': 'Address of the model server',
  'profiles.form.url.hint':
    'For a local or compatible server, for example http://127.0.0.1:11434/v1',
  'profiles.form.url.bad': 'The address must begin with http:// or https://',
  'profiles.form.key': 'Key for this address',
  'profiles.form.key.hint': 'Stored in the profile’s config.yaml; never shown again.',
  'profiles.form.create': 'Create profile',
  'profiles.created': 'Created profile {name}',
} as const

export const tf = translator(enProfilesPage)
