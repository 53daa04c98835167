/** English text of the command palette, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'palette.placeholder': 'Search chats, files, settings, actions…',
  'palette.beside.new': 'New chat beside this one',
  'palette.recent': 'Recent',
  'palette.actions': 'Actions',
  'palette.sessions': 'Chats',
  'palette.found': 'Chats found by their text',
  'palette.files': 'Files',
  'palette.settings': 'Settings',
  'palette.models': 'Models',
  'palette.themes': 'Themes',
  'palette.tasks': 'Tasks',
  'palette.skills': 'Skills',
  'palette.memory': 'Memory',
  'palette.profiles': 'Profiles',
  'palette.commands': 'Commands',
  'palette.theme': 'Theme: {name}',
  'palette.searching': 'Searching…',
  'palette.none': 'No results for “{query}”',
  'palette.failed': 'Couldn’t search the server. These results are from this page only.',
  'palette.memory.memory': 'What the agent remembers',
  'palette.memory.user': 'What the agent knows about you',
  'palette.memory.soul': 'Personality',
  'palette.task': 'Scheduled task',
  'palette.profile': 'Switch profile',
} as const)
