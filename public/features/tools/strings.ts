/** English text of Settings → Tools, loaded with it. */
import { translator } from '../../strings/t.ts'

export const enTools = {
  failed: 'Couldn’t load tools.',
  lead: 'Tools the agent can use. Shared with the CLI (platform_toolsets.cli in config.yaml).',
  profile: 'Profile “{name}”',
  session: 'This chat',
  'session.own': 'Customize for this chat',
  'session.own.hint':
    'Applies to “{title}” from its next message. Otherwise the profile’s tools are used.',
  instructions: 'Instruction files',
  'instructions.none': 'No instruction files yet',
  'instructions.none.text': 'AGENTS.md and CLAUDE.md are read when the chat starts.',
  forbidden: 'Disabled by agent.disabled_toolsets in config.yaml.',

  terminal: 'Terminal',
  file: 'Files',
  code_execution: 'Code execution',
  web: 'Web',
  vision: 'Images',
  skills: 'Skills',
  memory: 'Memory',
  session_search: 'Past chats',
  todo: 'To-do list',
  clarify: 'Ask questions',
  delegation: 'Subagents',
  cronjob: 'Scheduled tasks',

  'terminal.does': 'Run commands',
  'file.does': 'Read, search, and change files',
  'code_execution.does': 'Run programs that use tools',
  'web.does': 'Search the web and read pages',
  'vision.does': 'Analyze images',
  'skills.does': 'Use and write skills',
  'memory.does': 'Keep notes between chats',
  'session_search.does': 'Search earlier chats',
  'todo.does': 'Keep a list of steps',
  'clarify.does': 'Ask you questions',
  'delegation.does': 'Give work to subagents',
  'cronjob.does': 'Schedule tasks',

  'reason.web_search': 'Search needs one of these in the profile’s .env: {names}.',
  'reason.vision_analyze': 'Needs a model that accepts images.',
  'reason.memory': 'Both notes are turned off in config.yaml.',
} as const

export const t = translator('tools', enTools)
