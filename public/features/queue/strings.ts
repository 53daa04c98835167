/** The English catalogue of what stands beside a running turn: queue, side questions, subagents, budgets; it comes with them. */
import { translator } from '../../strings/t.ts'

const enSteering = {
  'queue.label': { one: '{count} queued message', other: '{count} queued messages' },
  'queue.edit': 'Edit queued message',
  'queue.remove': 'Remove queued message',
  'queue.send': 'Send now',
  'queue.up': 'Send earlier',
  'queue.steer': 'Send into the running turn',
  'queue.steering': 'At the next step: ',

  'aside.label': 'Side question',
  'aside.close': 'Close side question',
  'aside.waiting': 'Thinking…',
  'aside.note': 'Not part of the conversation.',
  'aside.stopped': 'Stopped before it answered.',

  'yolo.on': 'Commands run without asking in this conversation.',
  'yolo.off': 'Ask again',

  'usage.queue': 'Write what to send next: /queue <message>',
  'usage.steer': 'Write a message for the running turn: /steer <message>',
  'usage.interrupt': 'Write what to send instead: /interrupt <message>',
  'usage.btw': 'Write a question: /btw <question>',
  'usage.background': 'Write what to do: /background <prompt>',
  'said.idle': 'Nothing is running',
  'said.background': 'Running in the background',
  'said.open': 'Open',
  'said.yolo.on': 'Commands run without asking. Forbidden commands are still refused.',
  'said.yolo.off': 'The agent asks about dangerous commands again',

  'sub.calls': { one: '{count} step', other: '{count} steps' },
  'sub.running': 'Running',
  'sub.completed': 'Completed',
  'sub.failed': 'Failed',
  'sub.interrupted': 'Stopped',
  'step.running': 'Running',
  'step.ok': 'Done',
  'step.error': 'Failed',
  'step.unfinished': 'Stopped',
} as const

export const ts = translator(enSteering)
