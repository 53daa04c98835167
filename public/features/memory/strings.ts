/** English text of the memory view, loaded with it. */
import { enEditing } from '../../strings/editing-strings.ts'
import { translator } from '../../strings/t.ts'

const enMemory = {
  ...enEditing,
  'memory.title': 'Memory',
  'memory.lead':
    'What the agent remembers between chats. These notes are part of every prompt, so keep them short.',
  'memory.memory': 'Notes',
  'memory.memory.text': 'What the agent has learned about your work',
  'memory.user': 'About you',
  'memory.user.text': 'What the agent knows about you',
  'memory.soul': 'Identity',
  'memory.soul.text': 'The agent’s personality and tone (SOUL.md)',
  'memory.failed': 'Couldn’t load the memory.',
  'memory.empty': 'No notes yet',
  'memory.memory.example': 'For example: “The tests need Docker. Start it with make up.”',
  'memory.user.example': 'For example: “Prefers short answers and TypeScript.”',
  'memory.soul.example': 'For example: “Be direct. Say what you are not sure of.”',
  'memory.write': 'Write',
  'memory.edit': 'Edit {name}',
  'memory.separator': 'Separate entries with a line containing only §.',
  'memory.over': 'Over the limit. The agent can’t add notes.',
  'memory.saved': 'Saved {name}',
} as const

export const t = translator('memory', enMemory, 'editing')
