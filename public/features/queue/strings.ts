/** English text of the message queue, side questions and auto-approve. */
import { translator } from '../../strings/t.ts'

export const t = translator('queue', {
  'queue.label': { one: '{count} queued message', other: '{count} queued messages' },
  'queue.edit': 'Edit queued message',
  'queue.remove': 'Remove queued message',
  'queue.send': 'Send now',
  'queue.up': 'Move up',
  'queue.steer': 'Send now as guidance',
  'queue.paused': 'These messages wait, because the answer didn’t finish.',
  'queue.resume': 'Resume',
  'queue.comments': { one: '{count} comment', other: '{count} comments' },
  'queue.steering': 'Sending at next step: ',

  'aside.label': 'Side question',
  'aside.close': 'Close side question',
  'aside.waiting': 'Thinking…',
  'aside.note': 'Not part of the chat.',
  'aside.stopped': 'Stopped',

  'yolo.on': 'Auto-approve is on for this chat.',
  'yolo.off': 'Turn off',

  'command.queue.usage': 'Usage: /queue <message>',
  'command.steer.usage': 'Usage: /steer <message>',
  'command.interrupt.usage': 'Usage: /interrupt <message>',
  'command.btw.usage': 'Usage: /btw <question>',
  'command.background': 'Running in the background',
  'command.background.usage': 'Usage: /background <prompt>',
  'command.background.open': 'Open',
  'command.yolo.on': 'Auto-approve on. Blocked commands stay blocked.',
  'command.yolo.off': 'Auto-approve off',
})
