/** English text of the bar about configuration problems; loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('shell.config-problem', {
  'problems.kept': 'Couldn’t read {file}: {reason}. The last readable version is still in use.',
  'problems.lost': 'Couldn’t read {file}: {reason}. Nothing runs until you fix it.',
  'problems.guards':
    'The agent is restricted because this server can’t apply these settings: {keys}.',
  'problems.notes': 'These settings may not work as expected: {keys}.',
  'problems.changed':
    'Something other than this page changed {keys} in config.yaml. The earlier values stay in force.',
  'problems.look': 'Review',
  'problems.profile': 'This chat’s profile, “{name}”, no longer exists.',
  'problems.adopt': 'Continue with {name}',
})
