/** The English catalogue of the agent's toolsets; it comes with their view. */
import { translator } from '../../strings/t.ts'

export const enTools = {
  loading: 'Loading…',
  failed: 'Couldn’t load the tools.',
  retry: 'Try again',
  lead: 'Choose what the agent can use. The command line uses the same setting: platform_toolsets.cli in config.yaml.',
  profile: 'Profile “{name}”',
  session: 'This conversation',
  'session.own': 'Separate tool selection',
  'session.own.hint':
    'Only for “{title}”, starting with its next turn. Otherwise the profile’s selection applies.',
  forbidden: 'Turned off by agent.disabled_toolsets in config.yaml.',

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
