/** Headings of the commands after a slash. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.completion', {
  'group.chat': 'This chat',
  'group.own': 'Your commands',
  'group.agent': 'Of the agent',
  'group.options': 'Options',
  'group.go': 'Go to',
  'group.skills': 'Skills',
})
