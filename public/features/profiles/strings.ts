/** English text of the profiles view, loaded with it. */
import { translator } from '../../strings/t.ts'

const enProfilesPage = {
  'profiles.title': 'Profiles',
  'profiles.lead':
    'Each profile is a separate agent with its own configuration, keys, skills, memory, and tasks. Chats stay with the profile they were started in.',
  'profiles.new': 'New profile',
  'profiles.failed': 'Couldn’t load profiles.',
  'profiles.list': 'All profiles',
  'profiles.default': 'Default',
  'profiles.active': 'Active',
  'profiles.model': 'Model',
  'profiles.model.none': 'Not set',
  'profiles.provider': 'Provider',
  'profiles.provider.none': 'Not set',
  'profiles.skills': 'Skills',
  'profiles.keys': 'Keys',
  'profiles.keys.yes': 'Has its own keys',
  'profiles.keys.no': 'No keys',
  'profiles.gateway': 'Gateway',
  'profiles.gateway.on': 'Running',
  'profiles.path': 'Location',
  'profiles.enter': 'Switch',
  'profiles.enter.label': 'Switch to {name}',
  'profiles.clone': 'Clone',
  'profiles.clone.label': 'Clone {name}',
  'profiles.delete.label': 'Delete {name}',
  'profiles.delete.title': 'Delete profile {name}?',
  'profiles.delete.text':
    'Its configuration, keys, skills, memory, and tasks will be permanently deleted. Its chats are kept and can be continued in another profile. This can’t be undone.',
  'profiles.delete.type': 'Type {name} to confirm',
  'profiles.delete.confirm': 'Delete profile',
  'profiles.form.clone': 'Clone {name}',
  'profiles.form.name': 'Name',
  'profiles.form.name.hint':
    'Lowercase letters, digits, hyphens, and underscores. Starts with a letter or digit.',
  'profiles.form.name.bad':
    'Use only lowercase letters, digits, hyphens, and underscores (at most 64). Start with a letter or digit.',
  'profiles.form.name.taken': 'A profile with this name already exists.',
  'profiles.form.source': 'Start with',
  'profiles.form.source.empty': 'An empty profile',
  'profiles.form.source.of': 'Configuration, keys, and memory of {name}',
  'profiles.form.own': 'Use a different model',
  'profiles.form.model': 'Model',
  'profiles.form.model.hint': 'Optional. You can choose one later.',
  'profiles.form.url': 'Base URL',
  'profiles.form.url.hint':
    'For a local or OpenAI-compatible server, such as http://127.0.0.1:11434/v1.',
  'profiles.form.url.bad': 'Must start with http:// or https://',
  'profiles.form.key': 'API key for this URL',
  'profiles.form.key.hint': 'Saved in the profile’s config.yaml. Never displayed again.',
  'profiles.form.create': 'Create profile',
  'profiles.created': 'Created profile {name}',
} as const

export const t = translator('profiles', enProfilesPage)
