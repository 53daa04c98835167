/** English text of the retry card; loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('transcript.retry', {
  'retry.label': 'Waiting to retry',
  'retry.rate_limit': 'Rate limit at {provider}',
  'retry.asked': '{provider} asks to wait {time}',
  'retry.overloaded': '{provider} is overloaded',
  'retry.server_error': '{provider} had an error',
  'retry.connection': 'The connection to {provider} broke off',
  'retry.unreachable': 'Couldn’t reach {provider}',
  'retry.loading': '{provider} is loading the model',
  'retry.empty': '{provider} returned an empty answer',
  'retry.cut': 'The answer was cut off',
  'retry.error': '{provider} reported an error',
  'retry.unnamed': 'the provider',
  'retry.subagent': '{what} (subagent)',
  'retry.others': { one: '{count} more step is waiting', other: '{count} more steps are waiting' },
  'retry.minutes': '{count} min',
  'retry.in': 'Retrying in {time}',
  'retry.now': 'Retrying now…',
  'retry.attempt': 'attempt {next} of {all}',
  'retry.button': 'Retry now',
  'retry.stop': 'Stop',
})
