/** English text of the error card; loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'limit.title': { one: 'Stopped after {count} step', other: 'Stopped after {count} steps' },
  'limit.text': 'The agent reached the limit for one message. It may not be done.',
  'limit.message': 'Continue.',
  'limit.continue': 'Continue',
  'limit.change': 'Change the limit',
  'error.quota_exhausted': 'Out of credits',
  'error.rate_limit': 'Rate limit reached',
  'error.auth_mismatch': 'API key rejected',
  'error.model_not_found': 'Model not found',
  'error.context_overflow': 'Context limit reached',
  'error.network': 'Can’t reach the provider',
  'error.no_response': 'The model returned an empty response',
  'error.interrupted': 'Interrupted',
  'error.budget_reached': 'Budget reached',
  'error.error': 'Something went wrong',
  'error.retry': 'Retry',
  'error.model': 'Switch model',
  'error.compact': 'Compact',
  'error.details': 'Details',
  'error.key': 'Add key',
})
