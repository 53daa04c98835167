/** The English catalogue of the agent's toolsets; it comes with their view. */
import { translator } from './t.ts'

export const enTools = {
  loading: 'Loading…',
  failed: 'The tools could not be loaded.',
  retry: 'Try again',
  lead: 'What the agent may use. The command line reads the same choice: platform_toolsets.cli in config.yaml.',
  profile: 'Profile “{name}”',
  session: 'This conversation',
  'session.own': 'Its own choice of tools',
  'session.own.hint': 'For “{title}” only, from its next turn on. Otherwise the profile decides.',
  forbidden: 'agent.disabled_toolsets in config.yaml keeps it off.',

  terminal: 'Terminal',
  file: 'Files',
  code_execution: 'Programs',
  web: 'Web',
  vision: 'Pictures',
  skills: 'Skills',
  memory: 'Memory',
  session_search: 'Earlier conversations',
  todo: 'Steps',
  clarify: 'Questions',
  delegation: 'Subagents',
  cronjob: 'Scheduled tasks',
} as const

export const tt = translator(enTools)
