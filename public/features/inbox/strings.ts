/** English text of the inbox: what waits, what runs, and what ended in trouble. */
import { translator } from '../../strings/t.ts'

export const t = translator('inbox', {
  'inbox.title': 'Inbox',
  'inbox.lead': 'What needs you, and what is running, in all chats and profiles.',
  /** One of several that a forwarder lists. */
  'inbox.cells': 'What waits in all of your agents',
  'inbox.failed': 'Couldn’t load the inbox.',
  'inbox.empty': 'Nothing needs you',
  'inbox.empty.text': 'Questions of the agent, running chats, and chats that failed appear here.',
  'inbox.press': 'Press {key} again: {action}',

  'waiting.head': 'Needs your input',
  'waiting.in': 'In {title}',
  'waiting.profile': '{title} · {profile}',
  /** The folder of a command. */
  'waiting.where': 'in {cwd}',
  'waiting.review': 'Review',
  'waiting.answer': 'Answer',
  'waiting.once': 'Allow once',
  'waiting.deny': 'Deny',
  'waiting.reply': 'Your answer',
  'waiting.send': 'Send',

  'running.head': 'Running',
  'running.waiting': 'Waiting for you',
  'running.retrying': 'Waiting to retry the model',
  'running.answering': 'Writing the answer',
  'running.thinking': 'Thinking',
  'running.more': { one: '{count} more step', other: '{count} more steps' },
  'running.subagents': { one: '{count} subagent', other: '{count} subagents' },
  'running.tokens': '{tokens} tokens',
  'running.stop': 'Stop',
  'running.steer': 'Send guidance',
  'running.guidance': 'Guidance for the running answer',
  'running.steered': 'Sent. The agent reads it before its next step.',

  'trouble.head': 'Didn’t finish',
  'trouble.failed': 'Failed',
  'trouble.interrupted': 'Interrupted',
  'trouble.steps': 'Step limit reached',
  'trouble.budget': 'Budget reached',
  'trouble.continue': 'Continue',
  /** Sent to the agent. */
  'trouble.continue.message': 'Continue.',
  'trouble.task': 'Scheduled task',
  'trouble.open': 'Open',
  'trouble.dismiss': 'Dismiss',

  'unsent.head': 'Not sent',
  'unsent.reason': 'Not sent: {reason}',
  'unsent.copy': 'Copy',
  'unsent.remove': 'Remove message',
})
