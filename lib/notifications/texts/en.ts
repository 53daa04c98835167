/** English texts of notifications, and the keys of every language. */

/** One text for each plural category of the language; `{count}` is the number. */
export type Plural = Partial<Readonly<Record<Intl.LDMLPluralRule, string>>> & {
  readonly other: string
}

export const en = {
  'title.needs': 'Agent needs you',
  'title.finished': 'Agent is done',
  'title.failed': 'An answer failed',
  'title.task_failed': 'A task failed',
  'title.task_done': 'A task is done',
  'title.test': 'Test notification',
  'body.test': 'Notifications from your agent arrive here.',
  approval: 'Needs approval: {text}',
  question: 'Asks: {text}',
  plan: 'Has a plan for you to review.',
  failed: 'Failed: {text}',
  task_failed: 'Task failed: {text}',
  task_done: 'Task done: {text}',
  missed: {
    one: 'The server wasn’t running when it was due.',
    other: 'The server wasn’t running the {count} times it was due.',
  },
  interrupted: 'The server stopped while the agent was working.',
  reason: '{reason}: {text}',
  'reason.quota_exhausted': 'Out of credits',
  'reason.rate_limit': 'Rate limit reached',
  'reason.auth_mismatch': 'API key rejected',
  'reason.model_not_found': 'Model not found',
  'reason.context_overflow': 'Context limit reached',
  'reason.network': 'Can’t reach the provider',
  'reason.no_response': 'The model returned an empty answer',
  'reason.content_refused': 'Refused by the provider',
  'reason.wrong_address': 'No model API at this address',
  'reason.blocked': 'The provider can’t be used from here',
  'reason.not_ready': 'The model isn’t loaded',
  'reason.model_memory': 'Not enough memory for the model',
  'budget.turn': 'The budget for this message is used up: {used} of {limit}.',
  'budget.session': 'The budget for this chat is used up: {used} of {limit}.',
  'budget.day': 'The budget for today is used up: {used} of {limit}.',
  tokens: { one: '{count} token', other: '{count} tokens' },
  'action.allow': 'Allow once',
  'action.deny': 'Deny',
  'action.reply': 'Reply',
  'settled.allowed': 'Allowed',
  'settled.denied': 'Denied',
  'settled.answered': 'Answered',
  'settled.ended': 'No longer waiting for an answer',
  'late.allowed.page': 'Already allowed on the page ({where}).',
  'late.denied.page': 'Already denied on the page ({where}).',
  'late.answered.page': 'Already answered on the page ({where}).',
  'late.allowed.device': 'Already allowed in a notification ({where}).',
  'late.denied.device': 'Already denied in a notification ({where}).',
  'late.answered.device': 'Already answered in a notification ({where}).',
  'late.timeout': 'This was not answered in time.',
  'late.ended': 'This no longer waits for an answer.',
  'answer.invalid': 'This notification is no longer valid. Open the chat to answer there.',
  'answer.empty': 'Write an answer.',
  'answer.not_sent': 'Couldn’t send your answer. Open the chat to answer there.',
} as const satisfies Readonly<Record<string, string | Plural>>

export type TextKey = keyof typeof en
export type Texts = {
  readonly [K in TextKey]: (typeof en)[K] extends string ? string : Plural
}
